#!/bin/sh
# usage: fuzz_replay_test.sh DRIVER
# The replay driver must fail without a corpus and run every file of one.
driver=$1
fail() {
    echo "$1" >&2
    exit 1
}
cd "$TMPDIR" || exit 1
mkdir empty full full/below
printf abc >full/three
: >full/below/nothing

"$driver" 2>/dev/null && fail "accepted no directory"
"$driver" missing 2>/dev/null && fail "accepted a missing corpus"
"$driver" empty 2>/dev/null && fail "accepted an empty corpus"
"$driver" full empty 2>/dev/null && fail "accepted an empty corpus after a full one"
"$driver" full >out 2>/dev/null || fail "failed on a good corpus"
grep -q '^input of 3 bytes$' out || fail "did not replay full/three"
grep -q '^input of 0 bytes$' out || fail "did not replay full/below/nothing"
grep -q '^2 inputs$' out || fail "did not count its inputs"
