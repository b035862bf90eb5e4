#!/bin/sh
# usage: lint_test.sh EMACS DIRECTORY
# Plants a violation for each check of Lisp, which must find it.
emacs=$1
here=$2
lisp=$TMPDIR/lisp
status=0

# plant CHECK LINE...: LINEs between the head and the foot of a file without fault.
plant() {
    check=$1
    shift
    mkdir -p "$lisp"
    {
        cat <<'END'
;;; pi.el --- A file without fault  -*- lexical-binding: t; -*-

;; Author: Nobody
;; URL: https://pi.invalid/
;; Version: 1
;; Package-Requires: ((emacs "27.1"))

;;; Commentary:

;; Nothing.

;;; Code:

END
        printf '%s\n' "$@" "(provide 'pi)" ";;; pi.el ends here"
    } >"$lisp/pi.el"
    "$emacs" -Q --batch -L "$lisp" -l "$here/lint.el" -f "lint-$check" "$lisp" \
        >"$TMPDIR/output" 2>&1
}

expect() {
    want=$1
    shift
    plant "$@"
    found=$?
    [ $found -eq 77 ] && return
    if [ "$want" = good ] && [ $found -ne 0 ]; then
        echo "$1 complains of a file without fault:"
        cat "$TMPDIR/output"
        status=1
    elif [ "$want" = bad ] && [ $found -eq 0 ]; then
        echo "$1 does not see: $2"
        status=1
    fi
}

mkdir "$TMPDIR/doc"
: >"$TMPDIR/doc/pi.texi"
for check in compile checkdoc declare indentation autoloads manual package; do
    expect good $check '(defun pi-one (text)' '  "Show TEXT."' '  (message text))' ''
done
expect bad compile '(defun pi-one () (undefined-thing))'
expect bad checkdoc '(defun pi-one () (message "one"))'
expect bad checkdoc '(defun pi-one (text)' '  "Show something."' '  (message text))'
expect bad declare '(declare-function package-install "package" (nothing))'
expect bad indentation '(defun pi-one ()' '    "One."' '  (message "one"))'
expect bad indentation '(defun pi-one ()' '  "One."  ' '  (message "one"))'
expect bad autoloads ';;;###autoload' '(defun pi-other () "Other.")'
expect bad manual '(defun pi-other () "Other." (interactive))'
expect bad package '(defun other () "Other.")'
exit $status
