#!/bin/sh
# usage: layers.sh [ROOT]
# Includes go down the layers of doc/architecture.md, never up or sideways.
. "$(dirname "$0")/sources.sh"

files=$(list_files core tools cli emacs-module nvim-rpc -- c h)
# shellcheck disable=SC2086
awk '
BEGIN {
    # What a folder may include besides itself: folders, or single headers.
    allow("base", "pi.h")
    allow("text", "base")
    allow("sys", "base text")
    allow("net", "base text sys")
    allow("syntax", "base text sys")
    allow("host", "pi.h base text sys")
    allow("llm", "base text sys net")
    allow("tool", "base text sys host llm/llm.h")
    allow("session", "base text sys llm/llm.h")
    allow("agent", "pi.h base text sys net syntax host llm tool session")
    allow("include", "")
    allow("tools", "pi.h pi_tools.h base text sys host syntax tool llm/llm.h")
    allow("cli", "pi.h pi_tools.h base text sys")
    allow("emacs-module", "pi.h pi_tools.h base text")
    allow("nvim-rpc", "pi.h pi_tools.h base text")

    # Libraries and the only places that may see them.
    only("<curl/", "^core/net/http\\.c$")
    only("<cjson/", "^core/base/json\\.c$")
    only("<tree_sitter/", "^core/syntax/")
    only("<pcre2", "^core/text/regex\\.c$")
    only("<utf8proc", "^core/(text|sys)/")
    only("<msgpack", "^nvim-rpc/")
    only("<emacs-module", "^emacs-module/")
    only("<stb/", "^tools/(picture|stb)\\.c$")
    only("<readline/", "^cli/")
    only("<md4c", "^cli/")
}
function allow(folder, list,    n, i, names) {
    known[folder] = 1
    n = split(list, names, " ")
    for (i = 1; i <= n; i++) allowed[folder, names[i]] = 1
}
function only(prefix, where) { library[prefix] = where }
function report(text) { print FILENAME ":" FNR ": " text; bad = 1 }
function folder_of(path,    parts) {
    split(path, parts, "/")
    return parts[1] == "core" ? parts[2] : parts[1]
}
function exists(path,    line, found) {
    found = (getline line < path) >= 0
    close(path)
    return found
}
FNR == 1 {
    me = folder_of(FILENAME)
    first = 1
    own = FILENAME
    has_own = sub(/\.c$/, ".h", own) && exists(own)
    sub(/^core\//, "", own)
    sub(/^(tools|cli|emacs-module|nvim-rpc)\//, "", own)
    if (!(me in known)) report("folder " me " has no row in the table of layers")
}
/^[ \t]*#[ \t]*include[ \t]*</ {
    name = $0
    sub(/^[^<]*/, "", name)
    for (prefix in library)
        if (index(name, prefix) == 1 && FILENAME !~ library[prefix])
            report("only " library[prefix] " may include " name)
}
/^[ \t]*#[ \t]*include[ \t]*["<]/ && first {
    first = 0
    if (has_own && index($0, "\"" own "\"") == 0)
        report("the first include must be its own header, \"" own "\"")
}
/^[ \t]*#[ \t]*include[ \t]*"/ {
    split($0, quoted, "\"")
    name = quoted[2]
    if (name == "pi.h" || name == "pi_tools.h") {
        if (!((me, name) in allowed) && me != "include")
            report(me "/ may not include " name)
        next
    }
    if (index(name, "..") > 0) { report("include from the root of the layer: " name); next }
    slash = index(name, "/")
    if (slash == 0) {
        if (FILENAME ~ /^core\//) report("include as \"folder/file.h\": " name)
        next # a header beside the file
    }
    target = substr(name, 1, slash - 1)
    if (target == me || (me, target) in allowed || (me, name) in allowed) next
    report(me "/ may not include " name)
}
END { exit bad }
' $files /dev/null
