#!/bin/bash
# Each entry of a session goes out whole, with its line end, in one system call.
. "$(dirname "$0")/lib.sh"
strace -o probe true 2>/dev/null || {
    echo 'strace does not work here'
    exit 77
}
head -c 2000000 /dev/zero | tr '\0' x >big
printf '{"turns":[{"blocks":[{"call":{"name":"write","arguments":{"path":"new.txt","content":"%s"}}}],"chunk":0},{"blocks":[{"text":"ok"}]}]}' \
    "$(cat big)" >model.json
serve model --script model.json
use anthropic-messages '' '"contextWindow":10000000'
# The leak check cannot work in a traced program.
export ASAN_OPTIONS="${ASAN_OPTIONS:+$ASAN_OPTIONS:}detect_leaks=0"
# The thread that leaves last is not always the one that strace waits for.
run traced timeout 60 strace -f -y -s 1 -o trace -e trace=write,pwrite64,writev,pwritev,pwritev2 \
    "$pi" -p --permissions yolo --model "$model" --session ./s.jsonl x
code_is 0
is out ok
good model 2
whole_lines s.jsonl
sed -n 's/^.*<[^>]*s\.jsonl>.* = \([0-9]*\)$/\1/p' trace >written
awk '{ print length($0) + 1 }' s.jsonl >lengths
cmp written lengths || fail "$name: wrote $(tr '\n' ' ' <written), lines $(tr '\n' ' ' <lengths)"
[ "$(sort -n lengths | tail -n 1)" -gt 2000000 ] || fail "$name: there is no large record"
done_testing
