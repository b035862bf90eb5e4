;;; lint.el --- What is asked of Lisp besides that it works  -*- lexical-binding: t; -*-

;; SPDX-License-Identifier: MIT

;;; Commentary:

;; usage: emacs -Q --batch -L DIRECTORY -l lint.el -f lint-CHECK DIRECTORY
;; Each check prints what it finds as FILE:LINE: TEXT and then ends Emacs with 1.

;;; Code:

(require 'seq)
(require 'subr-x)

(defconst lint-autoloads
  '(pi pi-prompt pi-prompt-region pi-compose pi-resume pi-list-sessions pi-menu
    ;; What one needs before anything works, and what init files have.
    pi-module-build pi-report pi-define-tool
    ;; What bookmark files and key bindings of users name.
    pi-transcript-bookmark-jump pi-command-map)
  "All that may be autoloaded.")

(defun lint--say (position format &rest arguments)
  "Print FORMAT with ARGUMENTS for POSITION in the current buffer."
  (message "%s:%d: %s" (file-name-nondirectory (or buffer-file-name (buffer-name)))
           (line-number-at-pos position t) (apply #'format format arguments))
  1)

(defun lint--each (check)
  "Call CHECK in a buffer for each file; it returns how much it found.
Then end Emacs."
  (let* ((directory (pop command-line-args-left))
         (files (directory-files directory t "\\`pi.*\\.el\\'"))
         (found 0))
    (unless files
      (error "No Lisp in %s" directory))
    ;; How macros are indented stands in their definitions.
    (dolist (file files)
      (load file nil t))
    (dolist (file files)
      (with-current-buffer (find-file-noselect file)
        (setq found (+ found (funcall check)))))
    (kill-emacs (if (= found 0) 0 1))))

(defun lint-compile ()
  "Check that all compiles without a warning."
  (require 'bytecomp)
  (let* ((target (make-temp-file "pi-elc" t))
         (byte-compile-error-on-warn t)
         (byte-compile-dest-file-function
          (lambda (file)
            (expand-file-name (concat (file-name-nondirectory file) "c") target))))
    (add-hook 'kill-emacs-hook (lambda () (delete-directory target t)))
    (lint--each (lambda () (if (byte-compile-file buffer-file-name) 0 1)))))

(defun lint-checkdoc ()
  "Check the documentation."
  (require 'checkdoc)
  (defvar checkdoc-create-error-function)
  (defvar checkdoc-force-docstrings-flag)
  (defvar checkdoc-verb-check-experimental-flag)
  (declare-function checkdoc-current-buffer "checkdoc")
  (let ((found 0)
        (checkdoc-verb-check-experimental-flag nil))
    (setq checkdoc-create-error-function
          (lambda (text start _end &optional _unfixable)
            ;; What is private may leave out what is plain.
            (unless (and (string-prefix-p "Argument" text)
                         (save-excursion
                           (beginning-of-defun)
                           (looking-at-p "([-a-z]+ [^ ]+--")))
              (setq found (+ found (lint--say (or start (point-min)) "%s" text))))
            nil))
    (lint--each (lambda ()
                  (setq found 0)
                  (checkdoc-current-buffer t)
                  found))))

(defun lint-declare ()
  "Check that functions are declared as they are defined.
Those of the module are left to pi-module-tests.el, which loads it."
  (require 'check-declare)
  (declare-function check-declare-file "check-declare")
  (let ((found 0))
    (advice-add 'check-declare-warn :override
                (lambda (_file function where type &optional line)
                  (unless (string-prefix-p "ext:pi-module" where)
                    (message "%s:%s: %s of %s: %s" (file-name-nondirectory buffer-file-name)
                             (or line 1) function where type)
                    (setq found (1+ found)))))
    (lint--each (lambda ()
                  (setq found 0)
                  (check-declare-file buffer-file-name)
                  found))))

(defun lint-indentation ()
  "Check that lines are indented as Emacs does it, by spaces, and end well."
  (lint--each
   (lambda ()
     (let ((written (split-string (buffer-string) "\n"))
           (name (file-name-nondirectory buffer-file-name))
           (inhibit-message t)
           (line 0)
           (found 0))
       (with-temp-buffer
         (insert (string-join written "\n"))
         (emacs-lisp-mode)
         (setq indent-tabs-mode nil)
         (untabify (point-min) (point-max))
         (indent-region (point-min) (point-max))
         (delete-trailing-whitespace)
         (seq-mapn (lambda (is should)
                     (setq line (1+ line))
                     (unless (equal is should)
                       (setq found (1+ found)
                             inhibit-message nil)
                       (message "%s:%d: should be: %s" name line should)))
                   written (split-string (buffer-string) "\n")))
       found))))

(defun lint-autoloads ()
  "Check that only what one starts with is autoloaded."
  (lint--each
   (lambda ()
     (let ((found 0))
       (goto-char (point-min))
       (while (re-search-forward "^;;;###" nil t)
         (let ((form (progn (looking-at "[-a-z]*autoload *")
                            (goto-char (match-end 0))
                            (save-excursion (read (current-buffer))))))
           (unless (pcase form
                     (`(,(or 'defun 'defmacro) ,name . ,_) (memq name lint-autoloads))
                     (`(autoload ',name . ,_) (memq name lint-autoloads)))
             (setq found (+ found (lint--say (point) "%S is autoloaded" (cadr form)))))))
       found))))

(defun lint-manual ()
  "Check that the manual has each command and option, and no other."
  (let* ((directory (car command-line-args-left))
         (manual (expand-file-name "../doc/pi.texi" directory))
         (found 0)
         documented)
    (dolist (file (directory-files directory t "\\`pi.*\\.el\\'"))
      (load file nil t))
    (with-temp-buffer
      (insert-file-contents manual)
      (while (re-search-forward
              "^@\\(?:deffnx? Command\\|defoptx?\\|findex\\|vindex\\) \\(pi[^ \n]*\\)" nil t)
        (push (intern (match-string 1)) documented)))
    (mapatoms
     (lambda (symbol)
       (let ((name (symbol-name symbol)))
         (when (and (string-match-p "\\`pi\\(-[^-]\\|\\'\\)" name)
                    (not (string-search "--" name))
                    (or (commandp symbol) (custom-variable-p symbol))
                    (not (memq symbol documented)))
           (setq found (1+ found))
           (message "pi.texi: nothing about %s" name)))))
    (dolist (symbol documented)
      (unless (or (fboundp symbol) (boundp symbol))
        (setq found (1+ found))
        (message "pi.texi: there is no %s" symbol)))
    (kill-emacs (if (= found 0) 0 1))))

(defun lint-package ()
  "Check with package-lint where it is installed; else leave with 77."
  (dolist (directory (file-expand-wildcards "/usr/share/emacs/site-lisp/elpa*/*"))
    (add-to-list 'load-path directory))
  (unless (require 'package-lint nil t)
    (message "skipped: package-lint is not installed")
    (kill-emacs 77))
  (defvar package-lint-main-file)
  (declare-function package-lint-buffer "package-lint")
  (setq package-lint-main-file
        (expand-file-name "pi.el" (car command-line-args-left)))
  (lint--each
   (lambda ()
     (let ((problems (seq-remove
                      ;; An older package-lint has not heard of Emacs 28.  Evil is told
                      ;; about modes when it comes.
                      (lambda (problem)
                        (string-match-p
                         "uninstallable in all released\\|with-eval-after-load"
                         (nth 3 problem)))
                      (package-lint-buffer))))
       (pcase-dolist (`(,line ,_column ,type ,text) problems)
         (message "%s:%d: %s: %s" (file-name-nondirectory buffer-file-name)
                  line type text))
       (length problems)))))

;;; lint.el ends here
