;;; package.el --- What the script package does in Emacs  -*- lexical-binding: t; -*-

;; SPDX-License-Identifier: MIT

;;; Commentary:

;; usage: emacs -Q --batch -l package.el -f FUNCTION DIRECTORY

;;; Code:

(setq make-backup-files nil)

(defun pi-package--bind-lexically (file)
  "Say in FILE that its binding is lexical, as newer versions of Emacs want it."
  (with-temp-file file
    (insert-file-contents file)
    (unless (search-forward "lexical-binding" (line-end-position) t)
      (search-forward "-*-" (line-end-position))
      (insert " lexical-binding: t;"))))

(defun pi-package--provide (file)
  "Let the autoloads in FILE be loaded with `require', as since Emacs 29."
  (with-temp-file file
    (insert-file-contents file)
    (unless (search-forward "(provide '" nil t)
      (goto-char (point-max))
      (search-backward "\f")
      (insert "(provide 'pi-autoloads)\n\n"))))

(defun pi-package-describe ()
  "Write pi-pkg.el and pi-autoloads.el."
  (require (quote package))
  (let ((directory (file-name-as-directory (pop command-line-args-left))))
    (package-generate-description-file
     (with-temp-buffer
       (insert-file-contents (expand-file-name "pi.el" directory))
       (package-buffer-info))
     (expand-file-name "pi-pkg.el" directory))
    (pi-package--bind-lexically (expand-file-name "pi-pkg.el" directory))
    (package-generate-autoloads "pi" directory)
    (pi-package--provide (expand-file-name "pi-autoloads.el" directory))))

(defun pi-package-compile ()
  "Compile all files."
  (let ((directory (pop command-line-args-left)))
    (push directory load-path)
    (dolist (file (directory-files directory t "\\`pi.*\\.el\\'"))
      (unless (or (string-match-p "pi-\\(pkg\\|autoloads\\)\\.el\\'" file)
                  (byte-compile-file file))
        (kill-emacs 1)))))

;;; package.el ends here
