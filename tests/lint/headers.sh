#!/bin/sh
# usage: headers.sh [ROOT]
# Every header compiles alone, and the public ones as C++, too.
. "$(dirname "$0")/sources.sh"

bad=0
# compile LANGUAGE STANDARD COMPILER HEADER
compile() {
    printf '#include "%s"\nstruct not_empty;\n' "$PWD/$4" |
        $3 -x "$1" -std="$2" -D_GNU_SOURCE -Wall -Wextra -Wpedantic -Werror -fsyntax-only \
            -Icore -Icore/include -Itools/include -Itools - || {
        echo "$4: does not compile alone as $2"
        bad=1
    }
}

for header in $(list_files core tools -- h); do
    compile c c17 "${CC:-cc}" "$header"
done

cxx=${CXX:-}
for candidate in c++ g++ clang++ clang++-14; do
    [ -n "$cxx" ] || ! command -v $candidate >/dev/null || cxx=$candidate
done
if [ -z "$cxx" ]; then
    echo "no C++ compiler: pi.h and pi_tools.h were not tried as C++"
    [ $bad -ne 0 ] || exit 77
fi
for header in core/include/pi.h tools/include/pi_tools.h; do
    [ -n "$cxx" ] && [ -e $header ] && compile c++ c++17 "$cxx" $header
done
exit $bad
