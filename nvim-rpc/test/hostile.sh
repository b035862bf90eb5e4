#!/bin/bash
# pi-nvim ends with an error, and soon, when it is fed bytes that make no sense. The input
# stays open, so that it is the bytes that end it.
set -u
nvim=${PI_NVIM:?}
failed=0

# ends_badly NAME: the standard input is fed to pi-nvim.
ends_badly() {
    cat >"$TMPDIR/bytes"
    (
        cat "$TMPDIR/bytes"
        exec sleep 20 </dev/null >/dev/null
    ) > >(timeout 10 "$nvim" >"$TMPDIR/out" 2>"$TMPDIR/err"; echo $? >"$TMPDIR/status") &
    feeder=$!
    for ((i = 0; i < 100; i++)); do
        [ -s "$TMPDIR/status" ] && break
        sleep 0.05
    done
    kill $feeder 2>/dev/null
    wait $feeder 2>/dev/null
    status=$(cat "$TMPDIR/status" 2>/dev/null || echo none)
    rm -f "$TMPDIR/status"
    if [ "$status" != 1 ] || ! grep -q '^pi-nvim: ' "$TMPDIR/err"; then
        echo "$1: status $status, expected 1 and a message; it said:"
        cat "$TMPDIR/err"
        failed=1
    fi
}

printf '\xc1' | ends_badly "a byte that is not msgpack"
printf '\xdd\x0f\xff\xff\xff' | ends_badly "a large array in five bytes"
printf '\xdb\xff\xff\xff\xff' | ends_badly "a text of four gigabytes"
head -c 40 /dev/zero | tr '\0' '\221' | ends_badly "forty levels"
printf '\x05' | ends_badly "a number instead of a message"
printf '\x90' | ends_badly "an empty message"
printf '\x93\x09\xa1x\x90' | ends_badly "a message of an unknown type"
# Noise may be the start of something long, so here the input ends.
for round in 1 2 3 4 5 6 7 8; do
    head -c 4000 /dev/urandom >"$TMPDIR/bytes"
    timeout 10 "$nvim" <"$TMPDIR/bytes" >/dev/null 2>&1
    status=$?
    if [ $status -gt 1 ]; then
        echo "noise $round: status $status; the bytes:"
        od -An -tx1 -v "$TMPDIR/bytes" | head -20
        failed=1
    fi
done

# The end of the input is a good end.
: | timeout 10 "$nvim" >/dev/null || { echo "end of input: status $?"; failed=1; }
exit $failed
