#!/bin/bash
# pi tool --jsonl
. "$(dirname "$0")/lib.sh"

# call ID TOOL ARGS [MORE]: one line of input.
call() {
    printf '{"id":"%s","tool":"%s","cwd":"%s","args":%s%s}\n' "$1" "$2" "$PWD" "$3" "${4:-}"
}
# lines: runs the program on stdin.
lines() { "$pi" tool --jsonl "$@"; }
# answer ID: its line.
answer() { grep -F "{\"id\":\"$1\"," out; }
# answered ID TEXT: the answer holds TEXT (as JSON).
answered() {
    answer "$1" | grep -qF -e "$2" || fail "$name: answer $1 lacks $2: $(answer "$1" | head -c 400)"
}

printf 'one\n' >a.txt
run basics lines < <(
    call s none '{}'
    call 1 read '{"path":"a.txt"}'
    echo
    printf '{"id":7,"tool":"read","args":{"path":"%s/a.txt"}}\r\n' "$PWD"
    printf '{"id":true,"tool":"bash","cwd":"%s","args":{"command":"ls"}}' "$PWD"
)
code_is 0
[ "$(wc -l <out)" -eq 4 ] || fail "basics: $(wc -l <out) answers"
answered s '"isError":true'
answered 1 '"text":"one'
answered 1 '"isError":false'
answered 1 '"content":[{"type":"text"'
answered 7 '"text":"one'
answered true a.txt

run 'bad lines' lines <<'EOF'
nonsense
{"id":"1"}
{"tool":"read","args":{}}
[1,2]
{"id":"2","tool":"read","cwd":"relative","args":{}}
{"id":"3","tool":"read","args":"text"}
{"id":"4","tool":"write","args":{"path":"x","content":"a\u0000b"}}
{"id":{"a":1},"tool":"read","args":{}}
{"id":"6","tool":"bash","args":{"command":"echo no"},"abortAfterMs":"soon"}
{"id":"7","tool":"bash","args":{"command":"echo no"},"abortAfterMs":-1}
{"id":"5","tool":"read","args":{"path":
EOF
code_is 0
[ "$(wc -l <out)" -eq 11 ] || fail "bad lines: $(wc -l <out) answers"
[ "$(grep -c '"isError":true' out)" -eq 11 ] || fail 'bad lines: not all are errors'
[ "$(grep -c '^{"id":null,' out)" -eq 5 ] || fail 'bad lines: ids'

run 'side by side' lines < <(
    call slow bash '{"command":"sleep 0.7; echo slow"}'
    call fast bash '{"command":"echo fast"}'
)
code_is 0
head -1 out | grep -q fast || fail 'the fast call waited for the slow one'

run 'one file, in order' lines < <(
    for i in $(seq 20); do call "$i" write "{\"path\":\"order\",\"content\":\"$i\"}"; done
)
is order 20

run abort lines < <(
    call 1 bash '{"command":"sleep 300"}' ',"abortAfterMs":100'
    call 2 bash '{"command":"echo ran >ran; sleep 300"}' ',"abortAfterMs":0'
    call 3 bash '{"command":"sleep 0.3; echo fine"}'
)
code_is 0
answered 1 'Command aborted'
answered 2 '"isError":true'
answered 3 fine
[ ! -e ran ] || fail 'a call that was aborted before its start ran'

run 'many calls' lines < <(for i in $(seq 500); do call "$i" read '{"path":"a.txt"}'; done)
code_is 0
[ "$(grep -c '"isError":false' out)" -eq 500 ] || fail "many calls: $(wc -l <out) answers"

run 'a long line' lines < <(
    printf '{"id":"1","tool":"write","cwd":"%s","args":{"path":"big","content":"' "$PWD"
    head -c 10000000 /dev/zero | tr '\0' x
    printf '"}}\n'
)
code_is 0
answered 1 '"isError":false'
[ "$(stat -c %s big)" -eq 10000000 ] || fail 'the long line was not written whole'

# What a command left in the background ends with the program, which does not wait for it.
start=$(date +%s)
run 'background job' lines < <(call 1 bash '{"command":"sleep 300 & echo $! >job"}')
code_is 0
[ $(($(date +%s) - start)) -lt 10 ] || fail 'the program waited for a background job'
soon gone "$(cat job)" || fail 'the background job lives on'

mkdir inside
run restrict lines --restrict inside < <(
    call 1 write '{"path":"inside/f","content":"x"}'
    call 2 write '{"path":"f","content":"x"}'
)
answered 1 '"isError":false'
answered 2 '"isError":true'

# SIGTERM while a call runs.
mkfifo in
"$pi" tool --jsonl <in >out 2>err &
program=$!
exec 9>in
call 1 bash '{"command":"echo $$ >pid; sleep 300"}' >&9
soon test -s pid || fail 'the command did not start'
kill -TERM $program
wait $program
code=$?
name=SIGTERM
code_is 143
exec 9>&-
soon gone "$(cat pid)" || fail 'the command lives on'

# The reader goes away.
run 'closed pipe' bash -c 'cat "$2" | "$1" tool --jsonl | head -c 1 >/dev/null
    exit ${PIPESTATUS[1]}' - "$pi" <(for i in $(seq 300); do call "$i" read '{"path":"a.txt"}'; done)
case $code in 0 | 141) ;; *) fail "closed pipe: exit code $code" ;; esac
done_testing
