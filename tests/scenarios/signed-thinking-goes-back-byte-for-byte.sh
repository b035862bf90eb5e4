#!/bin/bash
# Thinking with its signature, and hidden thinking, come back unchanged within a turn and
# after a crash: not trimmed, joined, moved or encoded another way.
. "$(dirname "$0")/lib.sh"
thought='"/messages/1/content/0":{"type":"thinking","thinking":"step\u2028one  ","signature":"SIG+/="},
    "/messages/1/content/1":{"type":"redacted_thinking","data":"RD=="},
    "/messages/1/content/2/type":"tool_use"'
mock model <<END
{"turns":[
    {"blocks":[{"thinking":"step\u2028one  ","signature":"SIG+/="},{"redacted":"RD=="},
               {"call":{"name":"bash","arguments":{"command":"echo 1"}}}]},
    {"check":{$thought,"/thinking/type":"enabled"},"delayMs":60000},
    {"check":{$thought},"expect":"go on","blocks":[{"text":"ok"}]}
]}
END
use anthropic-messages '' '"reasoning":true'
start "$pi" -p --permissions yolo --model "$model" --session ./s.jsonl x </dev/null
second() { [ "$(requests model)" -eq 2 ]; }
soon second || fail 'there is no second request'
kill -9 $program
ends killed 2>killed
run resumed ask --session ./s.jsonl 'go on'
code_is 0
is out ok
good model 3
done_testing
