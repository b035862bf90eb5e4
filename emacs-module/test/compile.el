;;; compile.el --- Compile all Lisp without a warning  -*- lexical-binding: t; -*-

;; SPDX-License-Identifier: MIT

;;; Commentary:

;; usage: emacs -Q --batch -L DIRECTORY -l compile.el DIRECTORY
;; The results go to a temporary directory.

;;; Code:

(require 'bytecomp)

(let* ((directory (pop command-line-args-left))
       (files (directory-files directory t "\\.el\\'"))
       (target (make-temp-file "pi-elc" t))
       (byte-compile-error-on-warn t)
       (byte-compile-dest-file-function
        (lambda (file)
          (expand-file-name (concat (file-name-nondirectory file) "c") target)))
       (good (and files (seq-every-p #'byte-compile-file files))))
  (delete-directory target t)
  (kill-emacs (if good 0 1)))

;;; compile.el ends here
