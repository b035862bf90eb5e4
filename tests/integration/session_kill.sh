#!/bin/bash
# A run of five turns is killed before each record of its session is written. Everything
# written before is there, the session goes on, and the model is asked for the turn that
# was lost.
. "$(dirname "$0")/lib.sh"

command -v strace >/dev/null || exit 77
strace -o /dev/null true 2>/dev/null || exit 77

printf 'one\n' >a.txt
turns "$(text 'turn 1'),$(tool read '{"path":"a.txt"}')" \
    "$(text 'turn 2'),$(tool bash '{"command":"echo two"}')" \
    "$(tool edit '{"path":"a.txt","edits":[{"oldText":"one","newText":"1"}]}'),$(tool write '{"path":"b.txt","content":"x"}')" \
    "$(tool bash '{"command":"cat a.txt"}')" "$(text 'turn 5')" "$(text 'turn 6')"

session() { "$pi" -p --session ./s.jsonl --permissions yolo --model replay:turns.json "$@" </dev/null; }
assistants() { grep -c '"message":{"role":"assistant"' "$1"; }

# Each line is an object, each entry the child of the one before.
check_chain() {
    sed -n '2,$ s/^{"type":"[a-z_]*","id":"\([0-9a-f]*\)","parentId":\(null\|"\([0-9a-f]*\)"\),"timestamp":"[^"]*",.*}$/\1 \3/p' \
        s.jsonl >chain
    [ "$(wc -l <chain)" -eq $(($(wc -l <s.jsonl) - 1)) ] || fail "$name: a line is no entry"
    awk '$2 != last { exit 1 } { last = $1 }' chain || fail "$name: the chain is broken: $(cat chain)"
}

run 'the whole run' session hello
code_is 0
is out 'turn 5'
check_chain
records=$(wc -l <s.jsonl)
[ "$records" -eq 14 ] || fail "the run has $records records, not 14"
[ "$(sed -n 4p s.jsonl | grep -c '"role":"user"')" -eq 1 ] || fail 'record 4 is not the prompt'

for n in $(seq "$records"); do
    rm -f s.jsonl b.txt
    printf 'one\n' >a.txt
    # In a shell of its own, which keeps quiet about the death.
    (
        strace -f -o log -P "$PWD/s.jsonl" -e trace=write \
            -e "inject=write:signal=KILL:when=$n" \
            "$pi" -p --session ./s.jsonl --permissions yolo --model replay:turns.json hello </dev/null
        exit $?
    ) >out 2>err
    code=$?
    name="killed before record $n"
    code_is 137
    [ "$(wc -l <s.jsonl)" -eq $((n - 1)) ] || fail "$name: $(wc -l <s.jsonl) records are there"
    [ "$n" -eq 1 ] || check_chain
    cp s.jsonl before
    turn=$(($(assistants before) + 1))
    run "$name, resumed" session 'go on'
    # Calls that run a second time may find their work done.
    code_is 0
    is err "$(grep -v '^pi:' err)"
    grep -q "call_${turn}_\|turn $turn" s.jsonl || fail "$name: turn $turn was not asked for"
    cmp -s -n "$(stat -c %s before)" before s.jsonl || fail "$name: the records before were changed"
    check_chain
    tail -1 s.jsonl | grep -qF "turn " || fail "$name: the session does not end with an answer"
    grep -qF '"text":"go on"' s.jsonl || fail "$name: the new prompt is not there"
done
done_testing
