#!/bin/bash
# grep and find on large and odd trees, and beside ripgrep and fd: the same rows.
. "$(dirname "$0")/lib.sh"
export LC_ALL=C

# pi_grep PATTERN DIR [MORE], pi_find PATTERN DIR [MORE]: MORE are members of the arguments.
pi_tool() {
    "$pi" tool "$1" "{\"pattern\":$(json_string "$2"),\"path\":$(json_string "$3"),\"limit\":1000000${4:+,$4}}" \
        2>&1 </dev/null
}
pi_grep() { pi_tool grep "$@"; }
pi_find() { pi_tool find "$@"; }

# -- odd trees --
mkdir odd && cd odd || exit 1
printf 'needle\n' >"$(printf 'line\nbreak')"
printf 'needle\n' >"it's"
printf 'needle\n' >"$(printf 'bad\377byte')"
printf 'needle\n' >-v
printf 'needle\n' >'a"b'
ln -s . loop
ln -s .. up
ln -s nowhere broken
{
    head -c 1000000 /dev/zero | tr '\0' x
    printf needle
    head -c 1000000 /dev/zero | tr '\0' y
    printf '\nshort needle\n'
} >long
cd ..
name='odd names'
pi_grep needle odd >out
# shellcheck disable=SC2016
holds out '-v:1: needle'
holds out 'a"b:1: needle'
holds out "\$'bad\\xffbyte':1: needle"
holds out "it's:1: needle"
holds out "\$'line\\nbreak':1: needle"
holds out 'long:2: short needle'
[ "$(grep -c needle out)" -eq 7 ] || fail "$name: $(cat out)"
[ "$(wc -c <out)" -lt 2000 ] || fail "$name: a long line is shown whole"
name='links are not followed'
pi_find '**' odd >out
[ "$(grep -c loop out)" -eq 1 ] || fail "$name: $(cat out)"
holds out broken
holds out up

name='200 levels'
deep=deep$(printf '/d%.0s' $(seq 200))
mkdir -p "$deep"
printf 'needle\n' >"$deep/f"
pi_grep needle deep >out
holds out '/d/f:1: needle'
pi_find f deep >out
holds out '/d/f'

if [ "$(id -u)" -ne 0 ]; then
    name='unreadable'
    mkdir -p shut/in shut/open
    printf 'needle\n' >shut/open/f
    printf 'needle\n' >shut/open/g
    chmod 000 shut/in shut/open/g
    pi_grep needle shut >out
    holds out 'open/f:1: needle'
    holds out 'Not searched: 1 folder that could not be read, 1 file that could not be read'
    chmod 700 shut/in shut/open/g
fi

# -- 100 000 files, of which some vanish and come meanwhile --
# In memory where that can be: on a disk making them takes much longer than the rest.
large=$(mktemp -d /dev/shm/pi-search.XXXXXX 2>/dev/null) || large=$(mktemp -d)
trap 'rm -rf "$large"' EXIT
(cd "$large" && for d in $(seq 100); do
    mkdir "d$d" && (cd "d$d" && seq -f f%g 1000 | xargs touch)
done)
printf 'needle\n' >"$large/d77/f1000"
name='100 000 files'
pi_grep needle "$large" >out
is out 'd77/f1000:1: needle'
pi_find f1000 "$large" >out
[ "$(wc -l <out)" -eq 100 ] || fail "$name: $(head -c 300 out)"
name='files that vanish'
(cd "$large" && rm -rf d1? d2? d3?) &
vanishing=$!
pi_grep needle "$large" >out
is out 'd77/f1000:1: needle'
wait "$vanishing"
rm -rf "$large"

# -- beside ripgrep and fd --
rg=$(command -v rg)
fd=$(command -v fdfind || command -v fd)
if [ -z "$rg" ] || [ -z "$fd" ]; then
    [ "$failures" -eq 0 ] || exit 1
    echo 'ripgrep or fd is not installed: results were not compared'
    exit 77
fi

same() { # what is compared lies in wanted and got
    sort -o wanted wanted
    sort -o got got
    cmp -s wanted got || fail "$name: $(diff wanted got | head -n 5)"
    total=$((total + $(wc -l <wanted)))
}
total=0
# grep_both PATTERN DIR [rg OPTION...]: path and number of each line that matches.
grep_both() {
    name="grep $1 in $2"
    (cd "$2" && "$rg" --no-config --hidden --no-require-git --glob '!.git' --no-messages -n \
        --no-heading --color never "${@:3}" -e "$1" . </dev/null) |
        sed -nE 's|^\./([^:]*:[0-9]+):.*|\1|p' >wanted
    pi_grep "$1" "$2" >rows
    ! grep -q 'There are more than the' rows || fail "$name: too many rows to compare"
    sed -nE 's/^([^:]*:[0-9]+): .*/\1/p' rows >got
    same
}
# find_both GLOB DIR
find_both() {
    name="find $1 in $2"
    (cd "$2" && "$fd" --hidden --exclude .git --color never --glob "$1" . </dev/null) | sed 's|^\./||' >wanted
    pi_find "$1" "$2" | sed '/^$/,$d; /^Nothing found/,$d' >got
    ! grep -q '^\.git$' got || sed -i '/^\.git$/d' got # a file in a further working tree
    same
}

mkdir gen && (cd gen && git init -q . && awk 'BEGIN {
    srand(11)
    split("log c h md o tmp txt", ext, " ")
    split("alpha beta gamma needle delta Epsilon zeta eta_theta x(1) a.b", word, " ")
    for (i = 0; i < 3000; i++) {
        dir = "."
        for (k = int(rand() * 5); k > 0; k--) dir = dir "/d" int(rand() * 4)
        if (!(dir in seen)) {
            seen[dir] = 1
            system("mkdir -p " dir)
            if (rand() < 0.2) {
                rules = dir "/.gitignore"
                if (rand() < 0.3) rules = dir "/.ignore"
                n = 1 + int(rand() * 3)
                for (k = 0; k < n; k++) print rule() > rules
                close(rules)
            }
        }
        file = dir "/f" int(rand() * 1000) "." ext[1 + int(rand() * 7)]
        n = int(rand() * 30)
        for (k = 0; k < n; k++)
            printf "%s %d %s%s", word[1 + int(rand() * 10)], int(rand() * 400), word[1 + int(rand() * 10)], \
                rand() < 0.05 ? "\r\n" : "\n" > file
        close(file)
    }
}
function rule(    kind) {
    kind = int(rand() * 8)
    if (kind == 0) return "*." ext[1 + int(rand() * 7)]
    if (kind == 1) return "!*." ext[1 + int(rand() * 7)]
    if (kind == 2) return "/d" int(rand() * 4) "/"
    if (kind == 3) return "f" int(rand() * 10) "*"
    if (kind == 4) return "**/d" int(rand() * 4) "/f1*"
    if (kind == 5) return "d" int(rand() * 4) "/**/*.o"
    if (kind == 6) return "!/f2*"
    return "f[0-4]?.txt"
}')
for pattern in 'needle 17\b' '^zeta \d3\d' 'x\(1\) 399' '[αa]lpha 2.. gamma$' 'Epsilon\s+77' 'nowhere' '(beta|eta_theta) 5 ' '^$'; do
    grep_both "$pattern" gen --crlf
done
for glob in '*.md' 'f1?.txt' 'F12*' 'f[1-3]0.{c,h}' 'd3' '*' '.gitignore'; do
    find_both "$glob" gen
done
for pattern in 'grep_both' 'buf_add[sc]\(&\w+, .x' 'needle_[0-9]+' 'static (void|bool) test_[a-f]'; do
    grep_both "$pattern" "$PI_SOURCE_DIR"
done
for glob in '*.sh' 'test_*.{c,h}' '*.JSON' 'walk.?'; do
    find_both "$glob" "$PI_SOURCE_DIR"
done
for pattern in 'define _GNU_[A-Z]+' 'pthread_mutex_t\s+\w+;' 'zzz.*qqq'; do
    grep_both "$pattern" /usr/include
done
for glob in 'std*.h' '[p-r]*x.h' 'sys'; do
    find_both "$glob" /usr/include
done
[ "$total" -gt 2000 ] || fail "only $total rows were compared"
echo "$total rows are the same"
done_testing
