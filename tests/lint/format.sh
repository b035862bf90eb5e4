#!/bin/sh
# usage: format.sh [ROOT]
# The C files are as clang-format 14 would write them; other versions differ in details.
. "$(dirname "$0")/sources.sh"

for program in clang-format-14 clang-format; do
    if command -v $program >/dev/null && $program --version | grep -q 'version 14\.'; then
        list_files core tools cli emacs-module nvim-rpc tests -- c h |
            xargs -r $program --dry-run -Werror || exit 1
        exit 0
    fi
done
echo "clang-format 14 is not installed"
exit 77
