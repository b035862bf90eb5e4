;;; pi-tools.el --- What this Emacs knows, for the agent  -*- lexical-binding: t; -*-

;; SPDX-License-Identifier: MIT

;;; Commentary:

;; Three tools, each off unless `pi-emacs-tools' has it: diagnostics of Flymake, definitions
;; and references by Xref, and the documentation of Lisp.

;;; Code:

(require 'cl-lib)
(require 'flymake)
(require 'pi-buffer)
(require 'pi-tool)
(require 'seq)
(require 'xref)

(defun pi-tools--buffers (path)
  "The buffers of files below `default-directory', or only the one of PATH."
  (if path
      (list (or (pi-buffer-visiting (expand-file-name path))
                (error "%s is not open in Emacs" path)))
    (seq-filter (lambda (buffer)
                  (let ((file (buffer-file-name buffer)))
                    (and file (not (file-remote-p file))
                         (file-in-directory-p file default-directory))))
                (buffer-list))))

;;; Diagnostics

(defun pi-tools--severity (diagnostic)
  "A word for how bad DIAGNOSTIC is."
  (let ((type (format "%s" (flymake-diagnostic-type diagnostic))))
    (cond ((string-search "error" type) "error")
          ((string-search "warning" type) "warning")
          (t "note"))))

(defun pi-tools--diagnostics (buffer)
  "The diagnostics of BUFFER as lines."
  (let ((name (file-relative-name (buffer-file-name buffer) default-directory)))
    (with-current-buffer buffer
      (save-restriction
        (widen)
        (mapcar (lambda (diagnostic)
                  (save-excursion
                    (goto-char (flymake-diagnostic-beg diagnostic))
                    (format "%s:%d:%d: %s: %s" name (line-number-at-pos)
                            (1+ (- (point) (line-beginning-position)))
                            (pi-tools--severity diagnostic)
                            (flymake-diagnostic-text diagnostic))))
                (cl-sort (flymake-diagnostics) #'<
                         :key #'flymake-diagnostic-beg))))))

(pi-define-tool project-diagnostics (args)
  "Show the errors and warnings that the user's editor found in open files.
They come from compilers and language servers, of their last check."
  :label "Diagnostics"
  :parameters (&optional (path string "Only those of this file, which must be open."))
  :snippet "Show errors and warnings that the user's editor found"
  :title "diagnostics"
  :reads t
  :shipped t
  (let* ((buffers (seq-filter (lambda (buffer)
                                (buffer-local-value 'flymake-mode buffer))
                              (pi-tools--buffers (plist-get args :path))))
         (lines (mapcan #'pi-tools--diagnostics buffers)))
    (cond (lines (string-join lines "\n"))
          (buffers (format "No problems in the %d file(s) that the editor checks."
                           (length buffers)))
          (t "The editor checks none of these files."))))

;;; Definitions and references

(defun pi-tools--xref-buffer (path)
  "A buffer in which to look: that of PATH, or one of the project."
  (or (car (and path (pi-tools--buffers path)))
      (seq-find (lambda (buffer)
                  (with-current-buffer buffer
                    (not (memq (xref-find-backend) '(nil etags)))))
                (pi-tools--buffers nil))
      (error "Name a path that is open in Emacs")))

(defun pi-tools--backend ()
  "What finds identifiers in the current buffer, or an error."
  (let ((backend (xref-find-backend)))
    ;; Etags would ask for a table of tags.
    (if (or (null backend)
            (and (eq backend 'etags)
                 (not (bound-and-true-p tags-file-name))
                 (not (bound-and-true-p tags-table-list))))
        (error "The editor knows nothing of the language of %s" (buffer-name))
      backend)))

(defun pi-tools--identifier (backend identifier line)
  "What BACKEND takes for IDENTIFIER, in LINE of the current buffer if not nil."
  (when line
    (goto-char (point-min))
    (forward-line (1- line))
    (unless (re-search-forward (concat "\\_<" (regexp-quote identifier) "\\_>")
                               (line-end-position) t)
      (error "Line %d of %s has no %s" line (buffer-name) identifier))
    (goto-char (match-beginning 0)))
  (or (and line (xref-backend-identifier-at-point backend))
      identifier))

(defun pi-tools--line (location)
  "The line of LOCATION of Xref, for which its file may have to be visited."
  (ignore-errors
    (let ((marker (xref-location-marker location)))
      (with-current-buffer (marker-buffer marker)
        (line-number-at-pos marker t)))))

(defun pi-tools--item (item)
  "A line about ITEM of Xref."
  (let ((location (xref-item-location item)))
    (format "%s:%s: %s"
            (let ((group (xref-location-group location)))
              (if (file-in-directory-p group default-directory)
                  (file-relative-name group default-directory)
                group))
            (or (xref-location-line location) (pi-tools--line location) "?")
            (string-trim (substring-no-properties (xref-item-summary item))))))

(pi-define-tool xref-find (args)
  "Find where an identifier is defined or used, as the user's editor knows it.
This knows the language, other than a search for text.  Name the file and
line where the identifier stands if you can."
  :label "Xref"
  :parameters ((identifier string "The name to look for.")
               &optional
               (kind string "definitions (the default) or references.")
               (path string "A file that is open in the editor and has the identifier.")
               (line integer "The line of path where the identifier stands, from 1."))
  :snippet "Find definitions and references of an identifier with the user's editor"
  :title "xref {identifier}"
  :reads t
  :shipped t
  (let* ((directory default-directory)
         (found
          (with-current-buffer (pi-tools--xref-buffer (plist-get args :path))
            (save-excursion
              (save-restriction
                (widen)
                (let* ((backend (pi-tools--backend))
                       (identifier (pi-tools--identifier
                                    backend (plist-get args :identifier)
                                    (plist-get args :line))))
                  (if (equal (plist-get args :kind) "references")
                      (xref-backend-references backend identifier)
                    (xref-backend-definitions backend identifier))))))))
    (if (not found)
        "Nothing was found."
      (let ((default-directory directory)
            (more (- (length found) 200)))
        (concat (mapconcat #'pi-tools--item (seq-take found 200) "\n")
                (and (> more 0) (format "\n[%d more]" more)))))))

;;; Help

(defun pi-tools--function-help (symbol)
  "What there is to say about the function SYMBOL, or nil."
  (when (fboundp symbol)
    (let* ((doc (ignore-errors (documentation symbol t)))
           (usage (and doc (help-split-fundoc doc symbol))))
      (format "%s %s\n\n%s"
              (cond ((macrop symbol) "Macro") ((commandp symbol) "Command") (t "Function"))
              (or (car usage)
                  (format "%S" (cons symbol (help-function-arglist symbol t))))
              (substitute-command-keys
               (or (cdr usage) doc "Not documented."))))))

(defun pi-tools--variable-help (symbol)
  "What there is to say about the variable SYMBOL, or nil; not its value."
  (when (or (boundp symbol) (get symbol 'variable-documentation))
    (format "%s %s\n\n%s"
            (if (custom-variable-p symbol) "Option" "Variable") symbol
            (substitute-command-keys
             (or (documentation-property symbol 'variable-documentation t)
                 "Not documented.")))))

(pi-define-tool emacs-help (args)
  "Show the documentation of an Emacs Lisp function, macro or variable.
It is that of the Emacs that the user runs, with the packages loaded there."
  :label "Emacs help"
  :parameters ((symbol string "Its name, for instance save-excursion."))
  :snippet "Show the documentation of an Emacs Lisp symbol"
  :title "help {symbol}"
  :reads t
  :shipped t
  (let* ((name (plist-get args :symbol))
         (symbol (intern-soft name))
         (parts (and symbol (delq nil (list (pi-tools--function-help symbol)
                                            (pi-tools--variable-help symbol))))))
    (if parts
        (string-join parts "\n\n")
      (let ((similar (seq-take (sort (all-completions name obarray
                                                      (lambda (s)
                                                        (or (fboundp s) (boundp s))))
                                     #'string<)
                               30)))
        (format "This Emacs has no %s.%s" name
                (if similar
                    (concat "  It has " (string-join similar ", ") ".")
                  ""))))))

(provide 'pi-tools)
;;; pi-tools.el ends here
