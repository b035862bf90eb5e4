#!/bin/sh
# usage: lua_check.sh [ROOT]
# Luacheck finds nothing in the Lua files: unknown globals, what is not used, long lines.
. "$(dirname "$0")/sources.sh"

command -v luacheck >/dev/null || {
    echo "luacheck is not installed (Debian: lua-check)"
    exit 77
}
list_files nvim-rpc tests -- lua |
    xargs -r luacheck --quiet --no-color --config nvim-rpc/.luacheckrc || exit 1
