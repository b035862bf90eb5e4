#!/bin/bash
# The demonstration in Neovim works, and leaves nothing behind.
set -u
out=$TMPDIR/out
NVIM_PROGRAM=$PI_TEST_NVIM "$PI_PTY" wait 'Done. ]c' send ':qa!\n' -- \
    "$PI_SOURCE_DIR/nvim-rpc/demo/run" "$PI_NVIM" >"$out"
status=$?
if [ $status -ne 0 ] || ! grep -q '^+4 IV' "$out" || ls -d "$TMPDIR"/pi-demo.* 2>/dev/null; then
    echo "exit code $status; what it showed at the end:"
    tail -n 20 "$out"
    exit 1
fi
