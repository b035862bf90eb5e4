#!/bin/bash
# An installed prefix works by itself, also after it was moved: pi finds its own helper
# beside it, and a program builds against the library through pkg-config.
set -euo pipefail

fail() {
    echo "$1" >&2
    exit 1
}
cd "$TMPDIR"
cmake --install "$PI_BUILD_DIR" --prefix "$TMPDIR/first" >install.log
mv first prefix
prefix=$TMPDIR/prefix

for file in bin/pi libexec/pi/pi-guard include/pi.h include/pi_tools.h lib/libpi-agent.a \
    lib/pkgconfig/pi-agent.pc share/doc/pi/LICENSE share/doc/pi/architecture.md \
    share/man/man1/pi.1; do
    [ -f "prefix/$file" ] || fail "$file was not installed"
done
version=$(sed -n 's/^#define PI_VERSION "\(.*\)"$/\1/p' prefix/include/pi.h)

# The parent of the shell is the guard; nothing of the build tree may take part.
found=$(env -i PATH="$PATH" HOME="$HOME" TMPDIR="$TMPDIR" \
    prefix/bin/pi tool bash '{"command":"readlink /proc/$PPID/exe"}')
[[ $found == *"$prefix/libexec/pi/pi-guard"* ]] || fail "the guard is not the installed one: $found"

# Without its guard bash refuses and names the file.
mv prefix/libexec/pi/pi-guard kept
if found=$(prefix/bin/pi tool bash '{"command":"echo ran"}' 2>&1); then
    fail "bash ran without pi-guard: $found"
fi
[[ $found == *pi-guard* && $found != *$'\n'ran* ]] || fail "the missing guard is not named: $found"
mv kept prefix/libexec/pi/pi-guard

# The grammars, where they were built, are found below the prefix.
if [ -f prefix/lib/pi/grammars/libtree-sitter-go.so ]; then
    found=$(env -i PATH="$PATH" HOME="$HOME" TMPDIR="$TMPDIR" \
        prefix/bin/pi tool write '{"path":"a.go","content":"package a\nfunc f() {\n"}')
    [[ $found == *"line 2, column 10: \"{\" is not closed"* ]] || fail "no grammar: $found"
    [ -s prefix/share/doc/pi/licences/go ] || fail "no licence of a grammar"
fi

# The editors find their halves below the prefix, and these start. A program without a
# sanitizer cannot load a module with one.
sanitizers=$(sed -n 's/^CMAKE_C_FLAGS:STRING=//p' "$PI_BUILD_DIR/CMakeCache.txt")
if [ -d prefix/share/emacs ] && [ -z "$sanitizers" ] && command -v emacs >/dev/null; then
    found=$(emacs -Q --batch -L prefix/share/emacs/site-lisp/pi -l pi-autoloads \
        --eval '(progn (require (quote pi)) (pi-module-load)
                       (princ (pi-module--version)))')
    [ "$found" = "$version" ] || fail "Emacs loads the module of version '$found'"
    [ -f prefix/share/emacs/site-lisp/pi/pi.elc ] || fail "the Lisp is not compiled"
    ! command -v makeinfo >/dev/null || [ -f prefix/share/info/pi.info ] || fail "no manual"
fi
if [ -d prefix/share/nvim ] && command -v nvim >/dev/null; then
    found=$(XDG_DATA_DIRS=$prefix/share nvim --headless -u NORC -i NONE -n \
        -c "lua io.write(require('pi.binary').find(), ' ', vim.fn.exists(':Pi'))" \
        -c 'help :Pi' -c "lua io.write(' ', vim.fn.expand('%:t'))" -c qa! 2>&1)
    [ "$found" = "$prefix/bin/pi-nvim 2 pi.txt" ] || fail "Neovim finds '$found'"
fi

cat >consumer.c <<'END'
#include <pi.h>
#include <pi_tools.h>
#include <stdio.h>

// Names of its own that the library uses inside, too.
int buf_append(void);
int buf_append(void) { return 0; }

int main(void)
{
    struct pi_agent_options options = PI_AGENT_OPTIONS_INIT;
    pi_agent *agent = NULL;
    struct pi_error error = {0};
    options.cwd = "/";
    options.guard_path = GUARD;
    options.definitions = pi_tools_builtin(&options.definitions_len);
    if (pi_agent_create(&agent, &options, &error) != PI_OK) {
        fprintf(stderr, "%s\n", error.message);
        return 1;
    }
    pi_agent_destroy(agent);
    puts(pi_version());
    return options.definitions_len == 0;
}
END
export PKG_CONFIG_PATH=$prefix/lib/pkgconfig
# Sanitizers of the build have to be in the program, too.
compiler=$(sed -n 's/^CMAKE_C_COMPILER:[A-Z]*=//p' "$PI_BUILD_DIR/CMakeCache.txt")
# shellcheck disable=SC2046,SC2086
"$compiler" -std=c17 -Wall -Wextra -Werror -Wno-missing-prototypes $sanitizers \
    "-DGUARD=\"$prefix/libexec/pi/pi-guard\"" \
    -o consumer consumer.c $(pkg-config --cflags --libs pi-agent)
[ "$(./consumer)" = "$version" ] || fail "the consumer does not print $version"
[ "$(pkg-config --modversion pi-agent)" = "$version" ] || fail "pi-agent.pc has another version"
[ "$(prefix/bin/pi --version)" = "pi $version" ] || fail "pi --version: $(prefix/bin/pi --version)"

# DESTDIR goes before the prefix.
DESTDIR=$TMPDIR/stage cmake --install "$PI_BUILD_DIR" --prefix /usr >install.log
[ -x stage/usr/bin/pi ] || fail "DESTDIR was not honoured"
