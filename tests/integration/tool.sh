#!/bin/bash
# pi tool NAME JSON
. "$(dirname "$0")/lib.sh"

printf 'one\ntwo\n' >a.txt
run read "$pi" tool read '{"path":"a.txt"}'
code_is 0
holds out one
holds out two
run 'arguments from stdin' "$pi" tool read - <<<'{"path":"a.txt","limit":1}'
code_is 0
holds out one
lacks out two
run 'no arguments' "$pi" tool read
code_is 1
holds out path
run json "$pi" tool read '{"path":"a.txt"}' --json
code_is 0
holds out '"isError": false'
holds out '"content"'

run 'failing call' "$pi" tool read '{"path":"missing"}'
code_is 1
holds out missing
run 'unknown tool' "$pi" tool nosuch '{}'
code_is 1
holds out nosuch
run 'not JSON' "$pi" tool read '{"path":'
code_is 1
run 'empty path of arguments' "$pi" tool read ''
code_is 1

run bash "$pi" tool bash '{"command":"echo out; echo err >&2; exit 3"}'
code_is 1
holds out out
holds out err
holds out 'Command exited with code 3'

mkdir inside
run 'restrict allows' "$pi" tool write '{"path":"inside/f","content":"x"}' --restrict inside
code_is 0
is inside/f x
run 'restrict refuses' "$pi" tool write '{"path":"f","content":"x"}' --restrict inside
code_is 1
[ ! -e f ] || fail 'written outside'
run 'restrict to what is not there' "$pi" tool read '{"path":"a.txt"}' --restrict nowhere
[ "$code" -ne 0 ] || fail 'restrict to nowhere is fine'
holds err nowhere

# Ctrl-C aborts the call and no process stays.
start "$pi" tool bash '{"command":"echo $$ >pid; sleep 300"}'
soon test -s pid || fail 'the command did not start'
kill -INT $program
ends interrupt
code_is 130
holds out 'Command aborted'
soon gone "$(cat pid)" || fail 'the command lives on'

# SIGTERM and SIGHUP leave at once.
for pair in TERM:143 HUP:129; do
    rm -f pid
    start "$pi" tool bash '{"command":"echo $$ >pid; trap \"\" TERM; sleep 300"}'
    soon test -s pid || fail 'the command did not start'
    kill -"${pair%:*}" $program
    ends "SIG${pair%:*}"
    code_is "${pair#*:}"
    soon gone "$(cat pid)" || fail "$name: the command lives on"
done

# Signals that were ignored at the start, as by nohup, stay ignored.
rm -f pid
start env --ignore-signal=HUP,INT "$pi" tool bash '{"command":"echo $$ >pid; sleep 0.5; echo fine"}'
soon test -s pid || fail 'the command did not start'
kill -HUP $program
kill -INT $program
ends nohup
code_is 0
holds out fine

run 'closed pipe' bash -c '"$1" tool read "{\"path\":\"a.txt\"}" | true; exit ${PIPESTATUS[0]}' - "$pi"
case $code in 0 | 141) ;; *) fail "closed pipe: exit code $code" ;; esac
run 'full disk' sh -c '"$1" tool read "{\"path\":\"a.txt\"}" >/dev/full' - "$pi"
code_is 1
holds err 'cannot write to stdout'
# The files of a prompt are none of a single call's business.
mkdir AGENTS.md
run 'an unusable context file' "$pi" tool bash '{"command":"echo fine"}'
code_is 0
is out fine
is err ''
rmdir AGENTS.md

done_testing
