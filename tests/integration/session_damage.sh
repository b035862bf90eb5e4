#!/bin/bash
# Sessions that are damaged, in use, not ours, or on a full disk.
. "$(dirname "$0")/lib.sh"

turns "$(text one)" "$(text two)" "$(text three)" "$(text four)" "$(text five)" "$(text six)" \
    "$(text seven)" "$(text eight)" "$(text nine)"
answer() { "$pi" -p --permissions yolo --model replay:turns.json "$@" </dev/null; }
go_on() { answer --session ./s.jsonl "$@"; }
asked() { grep -c '"role":"user"' s.jsonl; }
three_turns() {
    rm -f s.jsonl
    for prompt in first second third; do
        go_on $prompt >out
    done
}
# Every line is an object but those given by number.
whole_lines_but() {
    awk -v bad=" $* " 'index(bad, " " NR " ") == 0 && !/^{"type":.*}$/ { exit 1 }' s.jsonl ||
        fail "$name: a bad line besides: $*"
    ! grep -q '}{"type"' s.jsonl || fail "$name: two objects on a line"
}

# -- torn and overwritten --

three_turns
truncate -s -20 s.jsonl
lines=$(($(wc -l <s.jsonl) + 1))
run 'torn end' go_on again
code_is 0
is out three
holds err "line $lines was cut off"
[ "$(wc -l <err)" -eq 1 ] || fail "notices: $(cat err)"
whole_lines_but $lines
run 'after a torn end' go_on again
is out four
holds err "line $lines is damaged"

for _ in 1 2 3; do go_on more >out 2>err; done
head -c 400 /dev/zero >nul
echo >>nul
sed -i -e '6r nul' -e 6d s.jsonl
run 'NUL bytes' go_on again
code_is 0
holds err 'line 6 is damaged'
[ "$(asked)" -ge 6 ] || fail 'prompts were lost'

# -- what is no session --

printf 'Dear diary\n' >diary.txt
cp diary.txt copy
run 'no session' answer --session ./diary.txt x
code_is 2
holds err 'diary.txt is not a session'
cmp -s diary.txt copy || fail 'the diary was changed'
mkfifo pipe
run 'a FIFO' timeout 10 "$pi" -p --model replay:turns.json --session ./pipe x
holds err 'FIFO'
mkdir folder
run 'a folder' answer --session ./folder x
holds err 'directory'

# -- in use --

three_turns
printf '{"turns":[{"blocks":[{"text":"one"}]},{"blocks":[{"text":"two"}]},{"blocks":[{"text":"three"}]},{"blocks":[{"text":"long answer that takes its time"}],"chunk":1,"chunkDelayMs":200}]}' >slow.json
start "$pi" -p --permissions yolo --model replay:slow.json --session ./s.jsonl wait </dev/null
soon grep -q '"text":"wait"' s.jsonl || fail 'the prompt is not in the session before its answer'
cp s.jsonl before
"$pi" -p --permissions yolo --model replay:turns.json --session ./s.jsonl x </dev/null >out2 2>err2
[ "$(cat out2)" = four ] || fail "second opener: $(cat out2 err2)"
grep -q "another process writes to it (process $program)" err2 || fail "second opener: $(cat err2)"
cmp -s s.jsonl before || fail 'the second opener wrote'
kill -9 $program
{ wait $program; } 2>wait.err
run 'after the kill' go_on x
code_is 0
lacks err 'process'

# -- not ours --

# As somebody who may not do everything.
someone() { "$@"; }
here=$PWD
if [ "$(id -u)" -eq 0 ]; then
    someone() { setpriv --reuid 65534 --regid 65534 --clear-groups "$@"; }
    there=$(mktemp -d /tmp/pi-someone.XXXXXX)
    trap 'rm -rf "$there"' EXIT
    chmod 755 "$there"
    cp s.jsonl turns.json "$there"
    cd "$there" || exit 1
    chmod 644 s.jsonl turns.json
    sed -i "s|\"cwd\":\"$here\"|\"cwd\":\"$there\"|" s.jsonl
else
    chmod 400 s.jsonl
fi
others() { HOME=$PWD someone "$pi" -p --permissions yolo --model replay:turns.json "$@" </dev/null; }
cp s.jsonl "$here/before"
run 'read-only file' others --session ./s.jsonl x
code_is 0
holds err 'no permission to write'
holds err 'not saved'
cmp -s s.jsonl "$here/before" || fail 'a file of somebody else was changed'
chmod 000 s.jsonl
run 'unreadable' others --session ./s.jsonl x
code_is 1
holds err 'Permission denied'
mkdir locked
chmod 500 locked
run 'folder that cannot be written' others --session-dir locked/x x
code_is 0
is out one
holds err 'The session is not saved'
chmod 700 locked
cd "$here" || exit 1

# -- a full disk --

mkdir small
if [ "$(id -u)" -eq 0 ] && mount -t tmpfs -o size=64k none small 2>mount.err; then
    printf '{"turns":[{"blocks":[{"text":"one"}]},{"blocks":[{"repeatText":{"s":"0123456789","n":9000}}]},{"blocks":[{"call":{"name":"bash","arguments":{"command":"rm -f small/filler"}}}]},{"blocks":[{"text":"done"}]}]}' >big.json
    model="--model replay:$PWD/big.json"
    # shellcheck disable=SC2086
    small() { "$pi" -p --permissions yolo $model --session small/s.jsonl "$@" </dev/null; }
    run 'room' small first
    code_is 0
    cp small/s.jsonl before
    head -c 40000 /dev/zero >small/filler
    run 'full disk' small second
    code_is 0
    holds err 'The session is not saved'
    [ "$(grep -c 'not saved' err)" -eq 1 ] || fail 'told more than once'
    grep -q '"text":"second"' small/s.jsonl || fail 'what had room is not there'
    [ "$(tail -c 1 small/s.jsonl | od -An -c | tr -d ' ')" = '\n' ] || fail 'a part of a record is left'
    # The model asks for room, and all is written.
    cp before small/s.jsonl
    head -c 40000 /dev/zero >small/filler
    printf '{"turns":[{"blocks":[{"text":"one"}]},{"blocks":[{"call":{"name":"bash","arguments":{"command":"head -c 20000 /dev/zero >> small/filler; printf %%020000d 7"}}}]},{"blocks":[{"call":{"name":"bash","arguments":{"command":"rm -f small/filler"}}}]},{"blocks":[{"text":"done"}]}]}' >big.json
    run 'room again' small second
    code_is 0
    holds err 'The session is not saved'
    holds err 'saved again'
    [ "$(grep -c '"role":"toolResult"' small/s.jsonl)" -eq 2 ] || fail 'a result is missing'
    [ "$(grep -c '"role":"assistant"' small/s.jsonl)" -eq 4 ] || fail 'an answer is missing'
    umount small
fi
done_testing
