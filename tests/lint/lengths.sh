#!/bin/sh
# usage: lengths.sh [ROOT]
# Functions up to 60 lines (tests excepted), files up to 600 (a warning) and 1000 lines.
. "$(dirname "$0")/sources.sh"

files=$(list_files core tools cli emacs-module nvim-rpc tests -- c h el lua)
# shellcheck disable=SC2086
awk '
function close_file() {
    if (lines > 1000) { print name ": " lines " lines, more than 1000"; bad = 1 }
    else if (lines > 600) print name ": warning: " lines " lines, more than 600"
}
FNR == 1 { close_file(); name = FILENAME; start = 0 }
{ lines = FNR }
FILENAME ~ /\.[ch]$/ && /^\{[ \t]*$/ { start = FNR }
FILENAME ~ /\.[ch]$/ && /^\}[ \t]*$/ && start {
    n = FNR - start - 1
    start = 0
    if (n > 60 && FILENAME !~ /^tests\//) {
        print FILENAME ":" FNR - n - 1 ": function of " n " lines, more than 60"
        bad = 1
    }
}
END { close_file(); exit bad }
' $files /dev/null
