#!/bin/bash
# Whatever the agent is doing, when its Neovim is killed or quits, nothing that was started
# is left running, and the conversation so far is in its file.
set -u
here=$(cd "$(dirname "$0")" && pwd)
failed=0
cd "$TMPDIR"
[ -x "$PI_TEST_NVIM" ] || exec "$here/with-plugin" # says that it is skipped

stubborn="trap '' TERM; (trap '' TERM; setsid sleep 600 &); setsid sleep 601 & echo started; sleep 602; sleep 603"
answer() { # STATE: the turn of the model
    case $1 in
    idle) echo '{"text": "done"}' ;;
    streaming) echo '{"repeatText": {"s": "word ", "n": 100000}}' ;;
    *) printf '{"text": "I look."}, {"call": {"name": "bash", "arguments": {"command": "%s"}}}' "$stubborn" ;;
    esac
}

# Everything that this case started has its mark in the environment.
marked() { # MARK: process ids
    grep -lsz "^PI_KILL_TEST=$1\$" /proc/[0-9]*/environ | sed 's|/proc/||; s|/environ||'
}
# within SECONDS CONDITION...
within() {
    local tries=$(($1 * 20))
    shift
    while ! "$@"; do
        ((tries-- > 0)) || return 1
        sleep 0.05
    done
}
is_gone() { [ -z "$(marked "$1")" ]; }
has_ended() { ! kill -0 "$1" 2>/dev/null; }

check() { # STATE WAY
    local case=$1-$2 nvim file
    export REACHED=$PWD/$case.reached TURNS=$PWD/$1.json STATE=$1 WAY=$2
    PI_KILL_TEST=$$-$case "$here/with-plugin" --headless -c "luafile $here/kill.lua" \
        >"$case.log" 2>&1 </dev/null &
    nvim=$!
    if ! within 20 test -s "$REACHED"; then
        echo "$case: the state was not reached: $(cat "$case.log")"
        kill -KILL $nvim
        return 1
    fi
    if [ "$1-$2" = bash-KILL ] && [ "$(marked "$$-$case" | wc -l)" -lt 6 ]; then
        echo "$case: the test does not see what was started"
        return 1
    fi
    [ "$2" = quit ] || kill -"$2" $nvim
    if ! within 10 has_ended $nvim; then
        echo "$case: Neovim did not end"
        kill -KILL $nvim
        return 1
    fi
    if ! within 10 is_gone "$$-$case"; then
        echo "$case: these are left:"
        for pid in $(marked "$$-$case"); do
            echo "  $pid $(tr '\0' ' ' <"/proc/$pid/cmdline")"
            kill -KILL "$pid"
        done
        return 1
    fi
    file=$(cat "$REACHED")
    grep -q "the prompt of $1" "$file" || { echo "$case: no prompt in $file" && return 1; }
    [ "$1" = streaming ] || grep -q '"role":"assistant"' "$file" || {
        echo "$case: no answer in $file"
        return 1
    }
    [ -z "$(tail -c 1 "$file")" ] || { echo "$case: $file does not end with a line" && return 1; }
}

for state in idle streaming bash question; do
    printf '{"turns":[{"chunkDelayMs":5,"blocks":[%s]},{"blocks":[{"text":"end"}]}]}' \
        "$(answer $state)" >$state.json
    jobs=()
    for way in KILL TERM quit; do
        check $state $way &
        jobs+=($!)
    done
    for job in "${jobs[@]}"; do
        wait "$job" || failed=1
    done
done
exit $failed
