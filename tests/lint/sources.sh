# Sourced by the lint scripts: goes to the root of the tree to look at ($1, else the tree
# that the script stands in) and lists files there.
root=${1:-$(dirname "$0")/../..}
cd "$root" || exit 1

# list_files FOLDER... -- EXTENSION...: the files that exist, one a line.
list_files() {
    folders=
    while [ $# -gt 0 ] && [ "$1" != -- ]; do
        [ -e "$1" ] && folders="$folders $1"
        shift
    done
    shift
    names=
    for extension in "$@"; do
        names="$names${names:+ -o} -name *.$extension"
    done
    [ -n "$folders" ] || return 0
    set -f # the patterns are for find
    # shellcheck disable=SC2086
    find $folders -type f \( $names \) ! -path '*/node_modules/*' | LC_ALL=C sort
    set +f
}

# strip_c FILE...: the code of C files without comments and without the insides of string
# and character literals, as FILE:LINE:CODE.
strip_c() {
    awk '
    FNR == 1 { comment = 0 }
    {
        line = $0; code = ""
        while (line != "") {
            if (comment) {
                end = index(line, "*/")
                if (end == 0) { line = ""; break }
                line = substr(line, end + 2); comment = 0
            } else if (substr(line, 1, 2) == "/*") {
                comment = 1; line = substr(line, 3)
            } else if (substr(line, 1, 2) == "//") {
                line = ""
            } else if (match(line, /^"([^"\\]|\\.)*"/)) {
                code = code "\"\""; line = substr(line, RLENGTH + 1)
            } else if (match(line, /^\047([^\047\\]|\\.)*\047/)) {
                code = code "0"; line = substr(line, RLENGTH + 1)
            } else {
                code = code substr(line, 1, 1); line = substr(line, 2)
            }
        }
        if (code != "") print FILENAME ":" FNR ":" code
    }' "$@"
}
