#!/bin/bash
# A session of a user as it looks, on a real terminal (tmux): typing that is not saved, a
# prompt, an edit of the agent in the same buffer, undo of just that, review hunk by hunk, and
# the list of edits. Each screen is compared with tests/data/nvim/NAME.txt.
# PI_UPDATE_SCREENS=1 writes these files anew; read the difference before you commit it.
set -u
here=$(cd "$(dirname "$0")" && pwd)
screens=$PI_TEST_DATA/nvim
failed=0
[ -x "$PI_TEST_NVIM" ] || exec "$here/with-plugin" # says that it is skipped
command -v tmux >/dev/null || { echo "SKIPPED: there is no tmux" && exit 77; }
cd "$TMPDIR"

tm() { tmux -L "pi-test-$$" -f /dev/null "$@"; }
trap 'tm kill-server 2>/dev/null' EXIT
shown() { tm capture-pane -p -t pi; }

# What differs from run to run: folders, times, ids.
normal() {
    sed -E -e "s|$TMPDIR|DIR|g" -e 's/, [0-9]+ s\b//g' -e 's/[0-9]+ seconds? ago/TIME/' \
        -e 's|pi://[^ []+|pi://SESSION|g' -e 's/ +$//'
}
# see TEXT [NOT]: waits until it is on the screen, NOT is not, and the screen is at rest.
see() {
    local last= now tries=400
    while ((tries-- > 0)); do
        now=$(shown)
        [[ $now == *"$1"* && $now == "$last" && ($# -eq 1 || $now != *"$2"*) ]] && return
        last=$now
        sleep 0.05
    done
    echo "\"$1\" did not come; the screen:"
    shown
    exit 1
}
keys() { tm send-keys -t pi "$@"; }
# is NAME: the screen is, or becomes in a while, the one of that name.
is() {
    local tries=200
    if [ -n "${PI_UPDATE_SCREENS:-}" ]; then
        sleep 1
        mkdir -p "$screens"
        shown | normal >"$screens/$1.txt"
        return
    fi
    while shown | normal >"$1.txt" && ! cmp -s "$screens/$1.txt" "$1.txt"; do
        if ((tries-- == 0)); then
            diff -u "$screens/$1.txt" "$1.txt"
            failed=1
            return
        fi
        sleep 0.05
    done
}

mkdir project
cat >project/greet.py <<'PY'
import sys


def greet(name):
    print("Hello " + name)


def part(name):
    print("Bye " + name)


greet(sys.argv[1])
part(sys.argv[1])
PY
cat >turns.json <<'JSON'
{"turns": [
    {"blocks": [
        {"text": "I give both functions an f-string."},
        {"call": {"name": "edit", "arguments": {"path": "greet.py", "edits": [
            {"oldText": "print(\"Hello \" + name)", "newText": "print(f\"Hello {name}\")"},
            {"oldText": "print(\"Bye \" + name)", "newText": "print(f\"Bye {name}\")"}]}}}]},
    {"blocks": [{"text": "Both use f-strings now; I left the rest alone."}]}
]}
JSON
export TURNS=$TMPDIR/turns.json
cd project
editor=(-u NONE -i NONE -n --cmd "set rtp^=${here%/*}" -c "luafile $here/screen.init.lua" greet.py)
if "$PI_TEST_NVIM" --version | grep -q '^NVIM v0\.7'; then
    tm new-session -d -s pi -x 100 -y 30 "$PI_TEST_NVIM" "${editor[@]}"
else
    # The newer one cannot be a terminal program by itself (see .ci/newer-neovim), but its
    # terminal can show another one.
    "$PI_TEST_NVIM" --headless --listen "$TMPDIR/socket" "${editor[@]}" </dev/null >"$TMPDIR/server.log" 2>&1 &
    server=$!
    trap 'tm kill-server 2>/dev/null; kill $server 2>/dev/null' EXIT
    until [ -S "$TMPDIR/socket" ]; do
        kill -0 $server || exit 1
        sleep 0.05
    done
    tm new-session -d -s pi -x 100 -y 30 "$PI_TEST_NVIM" --server "$TMPDIR/socket" --remote-ui
fi
cd ..

see 'import sys'
keys ggO '# typed and not saved' Escape
see '# typed and not saved' '-- INSERT --'
is typed

keys ':Pi use f-strings' Enter
see '· done'
is edited

keys u
see 'before #2'
is undone
grep -q typed project/greet.py && { echo "the buffer was saved" && failed=1; }

# The change again, and a look at each half of it.
keys C-r
see 'after #2'
keys gg ']c'
see 'change 1 of 2'
is first-hunk
keys ']c'
see 'change 2 of 2'
keys ':Pi reject part() is not used' Enter
see 'took back 1 change'
is rejected
keys ':Pi edits' Enter
see ':copen'
keys ':copen' Enter
see '[Quickfix List]'
is quickfix
exit $failed
