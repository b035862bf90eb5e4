#!/bin/sh
# Plants violations in a small tree and expects each lint script to find them, so that no
# script passes because it looks at nothing.
lint=$(cd "$(dirname "$0")" && pwd)
tree=$(mktemp -d) || exit 1
trap 'rm -rf "$tree"' EXIT
failed=0

# A tree that all scripts accept.
plant() {
    rm -rf "$tree/pi"
    mkdir -p "$tree/pi/core/base" "$tree/pi/core/text" "$tree/pi/core/net" \
        "$tree/pi/core/include" "$tree/pi/tools/include" "$tree/pi/cli" "$tree/pi/tests"
    cp "$lint/../../.clang-format" "$tree/pi/"
    mkdir -p "$tree/pi/nvim-rpc"
    cp "$lint/../../nvim-rpc/.luacheckrc" "$lint/../../nvim-rpc/stylua.toml" "$tree/pi/nvim-rpc/"
    cd "$tree/pi" || exit 1
    echo "print('good')" >nvim-rpc/good.lua
    printf '#pragma once\n\nint pi_good(void);\n' | tee core/include/pi.h >tools/include/pi_tools.h
    printf '#pragma once\n\nint good(void);\n' >core/base/good.h
    cat >core/base/good.c <<'END'
#include "base/good.h"

// printf( in a comment and in a string is no call
int good(void)
{
    return (int)sizeof("sprintf(");
}
END
}
# expect STATUS SCRIPT WHAT
expect() {
    sh "$lint/$2" "$tree/pi" >"$tree/out" 2>&1
    status=$?
    if [ $status -eq 77 ]; then
        echo "skipped: $2: $(cat "$tree/out")"
    elif [ $status -ne "$1" ]; then
        echo "$2 gave $status instead of $1: $3"
        cat "$tree/out"
        failed=1
    fi
}
# finds SCRIPT WHAT FILE: appends the standard input to FILE of a good tree.
finds() {
    plant
    cat >>"$3"
    expect 1 "$1" "$2"
}

plant
for script in layers banned headers lengths format traces lua_check lua_format; do
    expect 0 $script.sh "a good tree"
done

finds lua_check.sh "unknown global" nvim-rpc/bad.lua <<'LUA'
prinnt('x')
LUA
finds lua_check.sh "unused variable" nvim-rpc/bad.lua <<'LUA'
local x = 1
LUA
finds lua_format.sh "indentation" nvim-rpc/bad.lua <<'LUA'
if true then
      print("x")
end
LUA
finds layers.sh "include upwards" core/text/up.c <<'END'
#include "net/http.h"
END
finds layers.sh "llm without llm.h only" tools/up.c <<'END'
#include "llm/provider.h"
END
finds layers.sh "face into the core" cli/up.c <<'END'
#include "agent/loop.h"
END
finds layers.sh "library in the wrong place" core/text/curl.c <<'END'
#include <curl/curl.h>
END
finds layers.sh "include without folder" core/base/flat.c <<'END'
#include "good.h"
END
finds layers.sh "include out of the layer" cli/out.c <<'END'
#include "../core/base/good.h"
END
finds layers.sh "unknown folder" core/other.c <<'END'
int x;
END
plant
printf '#include <stdio.h>\n%s\n' "$(cat core/base/good.c)" >core/base/new.c
mv core/base/new.c core/base/good.c
expect 1 layers.sh "own header not first"

for call in strcpy strcat sprintf vsprintf strtok atoi gets alloca cJSON_GetArrayItem \
    strerror localtime getenv exit abort printf chdir setenv setlocale umask sigaction; do
    finds banned.sh "$call" core/text/call.c <<END
int f(void) { /* comment */ return $call ("a", 1); }
END
done
finds banned.sh "stderr in a library" core/text/call.c <<'END'
int f(void) { return fputs("x", stderr); }
END

finds headers.sh "header that needs another" core/base/needs.h <<'END'
size_t size(void);
END
finds headers.sh "public header that is not C++" core/include/pi.h <<'END'
int f(int class);
END

{
    printf 'int f(void)\n{\n'
    awk 'BEGIN { for (i = 0; i < 61; i++) print "    g();" }'
    printf '}\n'
} | finds lengths.sh "function of 61 lines" core/base/long.c
awk 'BEGIN { for (i = 0; i < 1001; i++) print "int x;" }' |
    finds lengths.sh "file of 1001 lines" core/base/long.c

finds format.sh "wrong indentation" core/base/good.c <<'END'
int  f(void) { return 0; }
END

for mark in TODO FIXME XXX; do
    finds traces.sh "$mark" core/base/good.c <<END
// $mark: later
END
done
finds traces.sh "path of the checkout" core/base/good.c <<END
// see $tree/pi/core
END
finds traces.sh "path out of the tree" core/base/good.c <<'END'
// see ../shared/x
END
finds traces.sh "private address" core/base/good.c <<'END'
// https://packages.corp.lan/simple
END
finds traces.sh "package source" core/base/good.c <<'END'
// https://registry.example.org/x
END

exit $failed
