#!/bin/bash
# pi -p: the answer on stdout, a line a tool call on stderr, exit codes.
. "$(dirname "$0")/lib.sh"

answer() { "$pi" -p --permissions yolo --model replay:turns.json "$@" </dev/null; }

printf 'one\ntwo\nthree\n' >a.txt
turns "$(text 'Let me look.'),$(tool read '{"path":"a.txt"}')" "$(text 'Three lines.')"
run answer answer 'how many lines?'
code_is 0
is out 'Three lines.'
holds err 'read a.txt'
holds err '3 lines'
holds err ' ms'
lacks err $'\033'
[ "$(wc -l <err)" -eq 1 ] || fail 'more than one line for one call'

turns "$(tool bash '{"command":"echo no; exit 4"}')" "$(tool nosuch '{}')" "$(text done)"
run 'failed calls' answer x
code_is 0
is out done
holds err 'failed: Command exited with code 4'
holds err 'nosuch'

turns "$(tool read '{}')" "$(text done)"
run 'a call without its arguments' answer x
holds err '● read  failed'

printf '\xEF\xBB\xBFone\n' >bom.txt
turns "$(tool write '{"path":"bom.txt","content":"two\n"}')" "$(text done)"
run 'a note on a call that went well' answer x
holds err '[The byte order mark at the start'

turns "$(failure 'the model is on fire')"
run 'model error' answer x
code_is 1
is out ''
holds err 'the model is on fire'

turns
run 'no more turns' answer x
code_is 1
[ -s err ] || fail 'no message'
run 'no such file' "$pi" -p --model replay:missing.jsonl x </dev/null
code_is 1
holds err missing.jsonl

turns "$(text '')"
run 'empty answer' answer x
code_is 0
holds err 'empty answer'

# A run that is stopped has given no answer.
printf '{"turns":[{"repeat":9,"blocks":[%s]}]}' "$(tool read '{"path":"a.txt"}')" >turns.json
run 'the same call again and again' answer x
code_is 1
is out ''
holds err 'six times in a row'
lacks err 'empty answer'

turns "$(text "$(printf 'esc \033[31m end')"),$(tool bash '{"command":"echo \u001b]0;x\u0007"}')" "$(text "$(printf 'raw \033[1m')")"
run 'escapes' answer x
code_is 0
is out "$(printf 'raw \033[1m')"
lacks err $'\033'

turns "$(text hi)"
run 'full disk' sh -c '"$1" -p --model replay:turns.json x </dev/null >/dev/full' - "$pi"
code_is 1
holds err 'cannot write to stdout'

# The reader goes away while a command runs: nothing is left.
turns "$(tool bash '{"command":"echo $$ >pid; sleep 300"}')" "$(text never)"
run 'closed pipe' bash -c '"$1" -p --permissions yolo --model replay:turns.json x </dev/null | true
    exit ${PIPESTATUS[0]}' - "$pi"
code_is 141
is err ''
[ ! -s pid ] || soon gone "$(cat pid)" || fail 'the command lives on'

# Signals while a command runs.
for pair in INT:130 TERM:143 HUP:129; do
    rm -f pid
    start "$pi" -p --permissions yolo --model replay:turns.json x </dev/null
    soon test -s pid || fail 'the command did not start'
    kill -"${pair%:*}" $program
    ends "SIG${pair%:*}"
    code_is "${pair#*:}"
    is out ''
    soon gone "$(cat pid)" || fail "$name: the command lives on"
done

# A second Ctrl-C leaves although the command ignores the first.
turns "$(tool bash '{"command":"trap \"\" TERM; echo $$ >pid; sleep 300 & wait; sleep 300"}')" "$(text never)"
rm -f pid
start "$pi" -p --permissions yolo --model replay:turns.json x </dev/null
soon test -s pid || fail 'the command did not start'
kill -INT $program
sleep 0.2
start=$(date +%s%N)
kill -INT $program
ends 'second Ctrl-C'
code_is 130
[ $((($(date +%s%N) - start) / 1000000)) -lt 1500 ] || fail "$name took too long"
soon gone "$(cat pid)" || fail "$name: the command lives on"

# The log of states.
turns "$(text hi)"
run log env PI_LOG="$PWD/log" ANTHROPIC_API_KEY=sk-secret-0123456789 \
    "$pi" -p --model replay:turns.json x </dev/null
code_is 0
[ -s log ] || fail 'there is no log'
lacks log sk-secret
done_testing
