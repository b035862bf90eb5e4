#!/bin/sh
# usage: lua_format.sh [ROOT]
# The Lua files are as stylua would write them, in the version that .ci/stylua fetches.
stylua=$(cd "$(dirname "$0")/../.." && pwd)/build/stylua/node_modules/.bin/stylua
. "$(dirname "$0")/sources.sh"

[ -x "$stylua" ] || {
    echo "stylua is not there; .ci/stylua fetches it"
    exit 77
}
list_files nvim-rpc tests -- lua |
    xargs -r "$stylua" --config-path nvim-rpc/stylua.toml --check || exit 1
