#!/bin/sh
# usage: demo_test.sh EMACS
# The demo, as a newcomer sees it: RET, and the change is in the buffer.
set -eu
command -v tmux >/dev/null || { echo "skipped: there is no tmux"; exit 77; }
command -v "$1" >/dev/null || { echo "skipped: there is no $1"; exit 77; }
socket=$TMPDIR/tmux
screen() { tmux -S "$socket" capture-pane -p 2>/dev/null || echo gone; }
trap 'tmux -S "$socket" kill-server 2>/dev/null || true' EXIT

see() {
    for _ in $(seq 300); do
        ! screen | grep -qF "$1" || return 0
        sleep 0.1
    done
    echo "There is no '$1':"
    screen
    exit 1
}

tmux -S "$socket" -f /dev/null new-session -d -x 80 -y 24 \
    "'$PI_SOURCE_DIR/emacs-module/demo/run' '$PI_BUILD_DIR' '$1' 2>&1; sleep 100"
see "Prompt: ./check fails. Find out why and mend it."
# A key that comes while Emacs asks its terminal something may be lost.
for _ in $(seq 20); do
    tmux -S "$socket" send-keys Enter
    sleep 0.5
    screen | grep -qF 'Prompt: ./check' || break
done
see "+4 IV"
see "C-/  undoes the change of the agent"
tmux -S "$socket" send-keys C-x C-c
for _ in $(seq 100); do
    ls "$TMPDIR"/pi-demo.* >/dev/null 2>&1 || exit 0
    sleep 0.1
done
echo "The demo leaves its folder behind:"
screen
exit 1
