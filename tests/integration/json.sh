#!/bin/bash
# pi --mode json: a header, then the events, one JSON object a line.
. "$(dirname "$0")/lib.sh"

events() { "$pi" -p --mode json --permissions yolo --model replay:turns.json "$@" </dev/null; }

printf 'one\n' >a.txt
turns "$(text 'Let me look.'),$(tool read '{"path":"a.txt"}')" "$(text 'One line.')"
run events events 'how many lines?'
code_is 0
is err ''
head -1 out | grep -qE '^\{"type":"session","version":3,"id":"[0-9a-f-]{36}","timestamp":"[^"]+Z","cwd":"/' ||
    fail "header: $(head -1 out)"
holds out "\"cwd\":\"$PWD\""
for type in agent_start turn_start message_start message_update message_end \
    tool_execution_start tool_execution_end turn_end agent_end; do
    grep -q "^{\"type\":\"$type\"" out || fail "there is no $type"
done
tail -1 out | grep -q '^{"type":"agent_end"' || fail 'agent_end is not the last line'
if grep -v '^{.*}$' out >bad; then fail "not an object: $(head -c 200 bad)"; fi

turns "$(failure 'the model is on fire')"
run 'model error' events x
code_is 1
holds out 'the model is on fire'
holds err 'the model is on fire'

# A reader that stops reading does not make Ctrl-C useless.
head -c 400000 /dev/zero | tr '\0' x >big.txt
turns "$(text "$(cat big.txt)")"
mkfifo pipe
sleep 300 <pipe &
reader=$!
env --default-signal=INT "$pi" -p --mode json --permissions yolo --model replay:turns.json x \
    </dev/null >pipe 2>err &
program=$!
sleep 1
kill -INT $program
sleep 0.3
kill -INT $program
ends 'blocked reader'
code_is 130
kill $reader
done_testing
