#!/bin/bash
# A change is killed before every one of its system calls. Afterwards the file holds the
# old content or the new one; or, where it was written in place, the next change is refused
# and names a copy that holds the old content.
set -u

command -v strace >/dev/null || exit 77
strace -o /dev/null true 2>/dev/null || exit 77
# The leak sanitizer cannot run under strace.
export ASAN_OPTIONS="${ASAN_OPTIONS:-}:detect_leaks=0"

# In memory where possible: hundreds of runs, each with its fsyncs.
work=$(mktemp -d -p /dev/shm 2>/dev/null || mktemp -d) || exit 99
trap 'rm -rf "$work"' EXIT
log=$work/log
runs=0 kills=0 recovered=0 failed=0

fail() {
    echo "$name, killed before $call number $n: $*" >&2
    ls -lA "$work/dir" >&2
    failed=1
}

# prepare: a fresh folder with the file, and its second name when it is to be written in place
prepare() {
    rm -rf "$work/dir"
    mkdir "$work/dir"
    [ -z "$old" ] || printf %s "$old" >"$work/dir/f"
    [ -z "$linked" ] || ln "$work/dir/f" "$work/dir/twin"
}

same() { # FILE TEXT
    printf %s "$2" | cmp -s - "$1"
}

# The change: done 0, refused because of a copy 2, else 1; its words in $work/words.
change() {
    "${program[@]}" <"$work/request" >"$work/words" 2>&1
    status=$?
    if [ "${program[0]}" != "$APPLY_ONCE" ]; then
        grep -q '"isError":false' "$work/words"
        status=$?
        [ "$status" = 0 ] || ! grep -q 'pi-restore' "$work/words" || status=2
    fi
    return "$status"
}

# Nothing but our own names may lie about.
check_names() {
    for path in "$work/dir"/* "$work/dir"/.[!.]*; do
        case ${path##*/} in
        f | twin | sub | '*' | '.[!.]*' | .f.pi-restore | .f.pi-??????) ;;
        *) fail "unknown file $path" ;;
        esac
    done
}

check_after_kill() {
    check_names
    if [ -z "$old" ]; then
        [ ! -e "$file" ] || same "$file" "$new" || fail "a part of the new file"
        return
    fi
    same "$file" "$new" && return
    change
    case $? in
    0)
        same "$file" "$new" || fail "the next change did not see the old content"
        ;;
    2)
        recovered=$((recovered + 1))
        copy=$work/dir/.f.pi-restore
        same "$copy" "$old" || fail "the copy does not hold the old content"
        grep -qF "$copy" "$work/words" || fail "the copy is not named: $(cat "$work/words")"
        cp -- "$copy" "$file" && rm -- "$copy"
        change || fail "no change after the copy was restored"
        same "$file" "$new" || fail "the change after that is not right"
        ;;
    *)
        fail "the next change failed: $(cat "$work/words")"
        ;;
    esac
    [ -z "$linked" ] || same "$work/dir/twin" "$new" || fail "the links came apart"
}

# The system calls of one whole run: name and number within its thread, from the first one
# that concerns the folder on; before that the program is being loaded.
calls() {
    prepare
    strace -f -o "$log" "${program[@]}" <"$work/request" >/dev/null || exit 1
    same "$file" "$new" || exit 1
    awk -v dir="$work/dir/" '
        { call = $2; sub(/\(.*/, "", call) }
        index($0, "execve(") || call !~ /^[a-z][a-z0-9_]*$/ { next }
        { count[$1, call]++ }
        index($0, dir) { started[$1] = 1 }
        started[$1] && call !~ /^(brk|m.*map|mprotect|futex|rt_sig.*)$/ {
            print call, count[$1, call]
        }' "$log" | sort -u
}

scenario() { # NAME LINKED FILE OLD NEW: of $program
    name=$1 linked=$2 file=$work/dir/$3 old=$4 new=$5
    counted=$(calls) || {
        echo "$name: the change fails when nobody kills it" >&2
        exit 1
    }
    while read -r call n; do
        prepare
        runs=$((runs + 1))
        # In a shell of its own, which keeps quiet about the death.
        (
            strace -f -o /dev/null -e "trace=$call" \
                -e "inject=$call:signal=KILL:when=$n" "${program[@]}" <"$work/request"
            exit $?
        ) >/dev/null 2>&1
        [ $? -ne 137 ] || kills=$((kills + 1))
        check_after_kill
    done <<<"$counted"
}

apply_once() { # NAME LINKED FILE OLD NEW [FROM] TO
    program=("$APPLY_ONCE" "$work/dir/$3" "${@:6}")
    : >"$work/request"
    scenario "${@:1:5}"
}

pi_tool() { # NAME LINKED FILE OLD NEW TOOL ARGUMENTS
    program=("$PI" tool --jsonl)
    printf '{"id":"0","tool":"%s","cwd":"/","args":{"path":"%s",%s}}\n' \
        "$6" "$work/dir/$3" "$7" >"$work/request"
    scenario "${@:1:5}"
}

long=$(printf 'line %d of a longer text\n' {1..400})
longer=$(printf 'line %d of a text that takes several writes\n' {1..12000})
apply_once replace "" f "one two three" "one 2 three" two 2
apply_once grow linked f "one $longer" "1 and more $longer" one "1 and more"
apply_once shrink linked f "one $long two three" "one 2 three" "$long two" 2
apply_once create "" sub/new "" "text" "text"
if [ -n "${PI:-}" ]; then
    edits='"edits":[{"oldText":"two","newText":"2"}]'
    pi_tool "edit" "" f "one two three" "one 2 three" edit "$edits"
    pi_tool "edit in place" linked f "one two $long" "one 2 $long" edit "$edits"
    pi_tool "write" "" f "one two" "new text" write '"content":"new text"'
    pi_tool "write a new file" "" sub/new "" "text" write '"content":"text"'
fi

echo "$runs runs, $kills killed, $recovered recovered from the copy"
# Killing must have worked, also in the middle of writing in place.
[ "$kills" -gt $((runs / 2)) ] && [ "$recovered" -gt 0 ] && [ "$failed" = 0 ]
