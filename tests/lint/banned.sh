#!/bin/sh
# usage: banned.sh [ROOT]
# Calls that are not safe, and calls that a library inside somebody's editor must not make.
. "$(dirname "$0")/sources.sh"

files=$(list_files core tools cli emacs-module nvim-rpc tests -- c h)
# shellcheck disable=SC2086
strip_c $files /dev/null | awk '
BEGIN {
    # Nowhere.
    add(everywhere, "strcpy stpcpy strcat strncat sprintf vsprintf strtok atoi atol atoll " \
        "gets alloca strdupa tmpnam mktemp cJSON_GetArrayItem readdir_r")
    # Not thread-safe: only where they are wrapped.
    add(wrapped, "strerror strsignal localtime gmtime ctime asctime getenv rand srand " \
        "getpwnam getpwuid getgrnam getgrgid ttyname localeconv")
    # The libraries never end, print or change the process.
    add(library, "exit _exit _Exit quick_exit abort assert printf vprintf puts putchar perror " \
        "chdir fchdir setenv putenv unsetenv clearenv setlocale umask signal sigaction " \
        "fork vfork system popen wait dlclose atexit stdout stderr stdin cJSON_InitHooks")
}
function add(set, list,    n, i, names) {
    n = split(list, names, " ")
    for (i = 1; i <= n; i++) set[names[i]] = 1
}
function report(text) { print file ":" number ": " text; bad = 1 }
{
    file = $0; sub(/:.*/, "", file)
    code = substr($0, length(file) + 2)
    number = code; sub(/:.*/, "", number)
    code = substr(code, length(number) + 2)
    test = file ~ /^tests\//
    wrapper = file ~ /^core\/(sys\/(env|clock)|base\/error)\.c$/
    program = file ~ /^tools\/(guard|sandbox_exec)\.c$/
    in_library = file ~ /^(core|tools)\// && !program
    previous = ""
    while (match(code, /[A-Za-z_][A-Za-z_0-9]*/)) {
        before = substr(code, 1, RSTART - 1)
        name = substr(code, RSTART, RLENGTH)
        code = substr(code, RSTART + RLENGTH)
        call = code ~ /^[ \t]*\(/
        member = before ~ /(\.|->)[ \t]*$/
        if (member) continue
        stream = name == "stdout" || name == "stderr" || name == "stdin"
        if (!call && !stream) continue
        if (name in everywhere) report(name " is banned")
        if ((name in wrapped) && !wrapper && !test && !program) report(name " only in sys/env.c, sys/clock.c and base/error.c")
        if ((name in library) && in_library) report("a library must not use " name)
    }
}
END { exit bad }'
