;;; pi-module.el --- Find and load the native part of pi  -*- lexical-binding: t; -*-

;; SPDX-License-Identifier: MIT

;;; Commentary:

;; The agent itself is a dynamic module.  It is looked for in `pi-module-file', beside
;; this file, in `load-path' and where `make install' puts it.  Nothing is built or
;; loaded before it is needed.

;;; Code:

(declare-function pi-module--abi "ext:pi-module" ())
(declare-function pi-module--version "ext:pi-module" ())

(defgroup pi nil
  "A coding agent."
  :group 'tools)

(defcustom pi-module-file nil
  "The module to load; nil means to look for it."
  :type '(choice (const :tag "Look for it" nil) file)
  :package-version '(pi . "0.1.0"))

(defconst pi-version "0.1.0"
  "The version of this Lisp; the module's name has the same.")

(defconst pi-module--wanted-abi 2
  "What `pi-module--abi' must return.")

(defconst pi-module--directory
  (file-name-directory (or load-file-name buffer-file-name default-directory))
  "Where this file is.")

(define-error 'pi-error "Pi")

(defun pi-module--name ()
  "The name of the module's file."
  (format "pi-module-%s.so" pi-version))

(defun pi-module--find ()
  "Return the file of the module; an error says where it was looked for."
  (let* ((name (pi-module--name))
         ;; From share/emacs/site-lisp/pi to lib/pi.
         (installed (expand-file-name (concat "../../../../lib/pi/" name)
                                      pi-module--directory))
         (files (append (and pi-module-file (list (expand-file-name pi-module-file)))
                        (unless pi-module-file
                          (append (list (expand-file-name name pi-module--directory)
                                        installed)
                                  (mapcar (lambda (dir) (expand-file-name name dir))
                                          load-path))))))
    (or (seq-find #'file-readable-p files)
        (user-error "The module of pi is missing: build it with `make', or set \
`pi-module-file'.  Looked for %s"
                    (if pi-module-file
                        pi-module-file
                      (format "%s beside %s, as %s, and in `load-path'" name
                              pi-module--directory installed))))))

(defun pi-module--check ()
  "Make sure that the module that is loaded fits this Lisp."
  (unless (eql (pi-module--abi) pi-module--wanted-abi)
    (user-error "The module of pi %s does not fit this Lisp (interface %s, wanted %s): \
rebuild pi, then restart Emacs; a loaded module cannot be replaced"
                (pi-module--version) (pi-module--abi) pi-module--wanted-abi)))

(defun pi-module-load ()
  "Load the module unless that was done.
Each thing that can be missing has an error message of its own."
  (unless (fboundp 'pi-module--abi)
    (unless (fboundp 'module-load)
      (user-error "This Emacs was built without dynamic modules, which pi needs"))
    (let ((file (pi-module--find)))
      (condition-case err
          (module-load file)
        (module-init-failed
         (user-error "The module of pi, %s, needs Emacs 28 or later" file))
        (module-open-failed
         (user-error "The module of pi cannot be loaded: %s"
                     (mapconcat (lambda (part) (format "%s" part)) (cdr err) ": "))))))
  (pi-module--check))

(provide 'pi-module)
;;; pi-module.el ends here
