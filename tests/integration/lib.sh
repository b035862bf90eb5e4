# Shared by the scripts of this folder: source it first. Each check prints one line when it
# fails; the script ends with `done_testing`.
: "${PI:?}" "${PI_SOURCE_DIR:?}"
pi=$PI
failures=0
cd "$(mktemp -d "$TMPDIR/work.XXXXXX")" || exit 1

fail() {
    failures=$((failures + 1))
    printf 'FAIL %s\n' "$*"
}

# run NAME COMMAND...: keeps stdout, stderr and the exit code for the checks below it.
run() {
    name=$1
    shift
    "$@" >out 2>err
    code=$?
}

code_is() {
    [ "$code" -eq "$1" ] || fail "$name: exit code $code, not $1; stderr: $(head -c 400 err)"
}

# holds FILE TEXT, lacks FILE TEXT: TEXT is literal and stands on one line.
holds() {
    grep -qF -e "$2" "$1" || fail "$name: $1 lacks '$2': $(head -c 600 "$1")"
}

lacks() {
    ! grep -qF -e "$2" "$1" || fail "$name: $1 holds '$2': $(head -c 600 "$1")"
}

# is FILE TEXT: the whole content, but for final line breaks.
is() {
    [ "$(cat "$1")" = "$2" ] || fail "$name: $1 is '$(head -c 600 "$1")', not '$2'"
}

# soon COMMAND...: becomes true within 10 s.
soon() {
    for _ in $(seq 200); do
        "$@" && return 0
        sleep 0.05
    done
    return 1
}

# Starts a command in the background as a terminal would: Ctrl-C is not ignored.
start() {
    env --default-signal=INT "$@" >out 2>err &
    program=$!
}

# ends NAME: waits for what `start` started.
ends() {
    name=$1
    wait "$program"
    code=$?
}

gone() { ! kill -0 "$1" 2>/dev/null; }

# alone COMMAND...: without a terminal, as from cron.
alone() { setsid -w "$@"; }

# turns TURN...: writes turns.json, a conversation for --model replay:turns.json. A turn is
# made of blocks with commas between them, or is one failure.
turns() {
    local turn first=1
    {
        printf '{"turns":['
        for turn; do
            [ "$first" ] || printf ',\n'
            first=
            case $turn in
                error*) printf '{%s}' "\"error\"${turn#error}" ;;
                *) printf '{"blocks":[%s]}' "$turn" ;;
            esac
        done
        printf ']}\n'
    } >turns.json
}
json_string() { printf '%s\n' "$1" | sed -e 's/[\\"]/\\&/g' -e 's/\x1b/\\u001b/g' -e '1s/^/"/' -e '$s/$/"/'; }
text() { printf '{"text":%s}' "$(json_string "$1")"; }
tool() { printf '{"call":{"name":"%s","arguments":%s}}' "$1" "$2"; }
failure() { printf 'error:%s' "$(json_string "$1")"; }

done_testing() {
    [ "$failures" -eq 0 ] || exit 1
}
