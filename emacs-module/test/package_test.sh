#!/bin/sh
# usage: package_test.sh EMACS
# Makes the package, installs it as a user does, and sends a prompt with it. The module is
# $PI_EMACS_MODULE; without that it is built by the package from its own sources.
set -eu
emacs=$1
here=$PI_SOURCE_DIR/emacs-module
if ! command -v "$emacs" >/dev/null; then
    echo "skipped: there is no $emacs"
    exit 77
fi
cd "$TMPDIR"
"$here/package" "$emacs" made >package.log 2>&1 || { cat package.log; exit 1; }

# The lines that README.md and the manual give for the folder.
found=$("$emacs" -Q --batch --eval "(progn
    (add-to-list 'load-path \"$(echo "$PWD"/made/pi-*[0-9])\")
    (require 'pi-autoloads)
    (global-set-key (kbd \"C-c a\") 'pi-command-map)
    (pi-define-tool a-tool () \"A tool.\" \"It ran.\")
    (princ (list (seq-every-p #'commandp '(pi-compose pi-module-build pi-report))
                 (featurep 'pi)
                 (key-binding (kbd \"C-c a p\"))
                 (commandp 'pi-abort))))" 2>&1) || true
[ "$found" = "(t nil pi-prompt t)" ] || { echo "the lines for the init file: $found"; exit 1; }

# A home with an init file and nothing else.
mkdir -p "$HOME/.emacs.d" project
echo "(require 'package) (package-initialize)" >"$HOME/.emacs.d/init.el"
cat >project/turns.json <<'END'
{"turns": [
    {"expect": "a first prompt",
     "blocks": [{"call": {"name": "bash", "arguments": {"command": "echo by hand >made"}}}]},
    {"blocks": [{"text": "That was the first one."}]}
]}
END
"$emacs" -Q --batch -l "$HOME/.emacs.d/init.el" \
    --eval "(package-install-file \"$(echo "$PWD"/made/pi-*.tar)\")" >install.log 2>&1 ||
    { cat install.log; exit 1; }
if grep -i 'warning\|error' install.log; then
    echo "There was something to complain about while installing."
    exit 1
fi
rm -rf made

"$emacs" -Q --batch -l "$HOME/.emacs.d/init.el" -l "$here/test/package_test.el"
[ "$(cat project/made)" = "by hand" ] || { echo "the command did not run"; exit 1; }
