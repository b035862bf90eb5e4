#!/bin/bash
# The last line of a session was torn by a crash: the complete ones count, what is added
# begins on a new line, and the user is told once.
. "$(dirname "$0")/lib.sh"
mock model <<'END'
{"turns":[
    {"blocks":[{"text":"answer one"}]},
    {"blocks":[{"text":"answer two"}]},
    {"blocks":[{"text":"answer three"}]},
    {"expect":"fourth","holds":["first","answer one","second","answer two","third"],"absent":"answer three","blocks":[{"text":"answer four"}]},
    {"expect":"fifth","holds":["first","answer one","second","answer two","fourth","answer four"],"blocks":[{"text":"answer five"}]}
]}
END
use anthropic-messages
for prompt in first second third; do
    run $prompt ask --session ./s.jsonl $prompt
    code_is 0
done
truncate -s -20 s.jsonl
torn=$(($(wc -l <s.jsonl) + 1))
run resumed ask --session ./s.jsonl fourth
code_is 0
is out 'answer four'
holds err "line $torn was cut off"
[ "$(wc -l <err)" -eq 1 ] || fail "notices: $(cat err)"
run 'resumed again' ask --session ./s.jsonl fifth
code_is 0
is out 'answer five'
whole_lines s.jsonl $torn
good model 5
done_testing
