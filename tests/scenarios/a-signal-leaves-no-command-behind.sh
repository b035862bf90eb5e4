#!/bin/bash
# SIGHUP or SIGTERM to the program alone while a command runs: the program ends soon, the
# command and its child too, and the session holds the prompt. After SIGKILL nothing is left
# either.
. "$(dirname "$0")/lib.sh"
for signal in HUP:129 TERM:143 KILL:137; do
    mock model <<'END'
{"turns":[{"blocks":[{"call":{"name":"bash","arguments":{"command":"echo $$ >sh.pid; sleep 300 & echo $! >sleep.pid; wait"}}}]}]}
END
    use anthropic-messages
    rm -f sh.pid sleep.pid s.jsonl
    start "$pi" -p --permissions yolo --model "$model" --session ./s.jsonl 'do it' </dev/null
    soon test -s sleep.pid || fail 'the command did not start'
    begin=$(date +%s%N)
    kill -"${signal%:*}" $program
    { ends "SIG${signal%:*}"; } 2>killed
    code_is "${signal#*:}"
    [ $((($(date +%s%N) - begin) / 1000000)) -lt 2000 ] || fail "$name: ended too late"
    soon gone "$(cat sh.pid)" || fail "$name: the command lives on"
    soon gone "$(cat sleep.pid)" || fail "$name: the child of the command lives on"
    [ $((($(date +%s%N) - begin) / 1000000)) -lt 3000 ] || fail "$name: gone too late"
    whole_lines s.jsonl
    holds s.jsonl 'do it'
done
done_testing
