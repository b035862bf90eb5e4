#!/bin/sh
# usage: tidy.sh BUILD_DIRECTORY [FILE...]
# clang-tidy over the sources that the build directory compiles, the tests excepted; with
# FILEs over these only. Slow: part of `make lint`, not of the test suite.
build=${1:?usage: tidy.sh BUILD_DIRECTORY}
shift
cd "$(dirname "$0")/../.." || exit 1
tidy=$(command -v clang-tidy-14 || command -v clang-tidy) || {
    echo "clang-tidy is not installed"
    exit 77
}
if [ $# -eq 0 ]; then
    here=$(pwd -P)
    # shellcheck disable=SC2046
    set -- $(sed -n 's|^ *"file": "'"$here"'/\(.*\)",*$|\1|p' "$build/compile_commands.json" |
        grep -E '^(core|tools|cli|emacs-module|nvim-rpc)/' | sort -u)
fi
[ $# -gt 0 ] || {
    echo "$build/compile_commands.json names no source"
    exit 1
}
echo "clang-tidy: $# files"
log=$(mktemp) || exit 1
trap 'rm -f "$log"' EXIT
# The compiler may be gcc: clang does not know all of its warnings.
printf '%s\n' "$@" | xargs -P "$(nproc)" -n 1 "$tidy" -p "$build" --quiet \
    --extra-arg=-Wno-unknown-warning-option 2>"$log" || {
    grep -vE '^[0-9]+ warnings? ' "$log"
    exit 1
}
