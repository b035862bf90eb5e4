;;; pi-module.el --- Find, build and load the native part of pi  -*- lexical-binding: t; -*-

;; SPDX-License-Identifier: MIT

;;; Commentary:

;; The agent itself is a dynamic module.  `pi-module-load' finds and loads it, and has a
;; message of its own for each thing that can be missing.  Where there is no module but
;; its sources, the command `pi-module-build' builds it, in the background.
;;
;; Nothing is looked for, loaded or built before a command needs it.

;;; Code:

(require 'seq)

(declare-function pi-module--abi "ext:pi-module" ())
(declare-function pi-module--version "ext:pi-module" ())
(defvar compilation-finish-functions)
(defvar compilation-scroll-output)

(defgroup pi nil
  "A coding agent."
  :group 'tools)

(defcustom pi-module-file nil
  "The module to load; nil means to look for it."
  :type '(choice (const :tag "Look for it" nil) file)
  :group 'pi
  :package-version '(pi . "0.1.0"))

(defcustom pi-module-source-directory nil
  "Where the sources of pi are, for `pi-module-build'.
nil means the folder src of the package, or the checkout that this Lisp is in."
  :type '(choice (const :tag "Look for them" nil) directory)
  :group 'pi
  :package-version '(pi . "0.1.0"))

(defcustom pi-module-cmake-arguments nil
  "More arguments for cmake in `pi-module-build', a list of strings."
  :type '(repeat string)
  :group 'pi
  :package-version '(pi . "0.1.0"))

(defconst pi-version "0.1.0"
  "The version of this Lisp; the module has the same.")

(defconst pi-module--wanted-abi 2
  "What `pi-module--abi' must return.")

(defconst pi-module--directory
  (file-name-directory (or load-file-name buffer-file-name default-directory))
  "Where this file is.")

(defconst pi-module--buffer-name "*pi-module-build*"
  "The name of the buffer that shows a build.")

(define-error 'pi-error "Pi")

;; Messages of a kind of `file-error' are shown without quotes.
(define-error 'pi-module-missing "The module of pi is missing" '(user-error file-missing))

;;; Find

(defun pi-module--name ()
  "The name of the module's file.
The version is in it: a new module is another file than the one that a
running Emacs has loaded."
  (format "pi-module-%s.so" pi-version))

(defun pi-module--source ()
  "The directory of the sources, or nil."
  (seq-find (lambda (directory)
              (and directory
                   (file-readable-p (expand-file-name "core/include/pi.h" directory))
                   (file-readable-p (expand-file-name "CMakeLists.txt" directory))))
            (if pi-module-source-directory
                (list pi-module-source-directory)
              (list (expand-file-name "src/" pi-module--directory)
                    (expand-file-name "../../" pi-module--directory)))))

(defun pi-module--built (source)
  "The directory that has what `pi-module-build' made of SOURCE."
  (expand-file-name "build/native/" source))

(defun pi-module--candidates ()
  "The files that may be the module, the first one first."
  (let ((name (pi-module--name))
        (source (pi-module--source)))
    (append (list (expand-file-name name pi-module--directory))
            (when source
              (list (expand-file-name (concat "lib/pi/" name) (pi-module--built source))
                    (expand-file-name (concat "build/release/emacs-module/" name)
                                      source)))
            (mapcar (lambda (directory) (expand-file-name name directory)) load-path)
            ;; From share/emacs/site-lisp/pi to lib/pi.
            (list (expand-file-name (concat "../../../../lib/pi/" name)
                                    pi-module--directory)))))

(defun pi-module--find ()
  "Return the file of the module.
Signal `pi-module-missing' when there is none; its message says where it
was looked for."
  (if pi-module-file
      (let ((file (expand-file-name pi-module-file)))
        (unless (file-readable-p file)
          (signal 'pi-module-missing
                  (list (format-message
                         "The module of pi is missing: `pi-module-file' names %s"
                         file))))
        file)
    (or (seq-find #'file-readable-p (pi-module--candidates))
        (signal 'pi-module-missing
                (list (format-message "The module of pi is missing: no %s in %s, in \
`load-path' or in lib/pi of an installation.  M-x pi-module-build builds it, \
`pi-module-file' can name it"
                                      (pi-module--name) pi-module--directory))))))

;;; Load

(defun pi-module--check ()
  "Make sure that the module that is loaded fits this Lisp."
  (unless (and (eql (pi-module--abi) pi-module--wanted-abi)
               (equal (pi-module--version) pi-version))
    (user-error "The module of pi %s (interface %s) does not fit this Lisp %s (interface \
%s): rebuild and restart Emacs; a loaded module cannot be replaced"
                (pi-module--version) (pi-module--abi) pi-version pi-module--wanted-abi)))

(defun pi-module--open (file)
  "Load FILE; an error says why that is impossible."
  (condition-case err
      (module-load file)
    (module-open-failed
     (user-error "The module of pi cannot be loaded: %s"
                 (mapconcat (lambda (part) (format "%s" part)) (cdr err) ": ")))
    ((module-not-gpl-compatible missing-module-init-function)
     (user-error "%s is no module for Emacs" file))
    (module-init-failed
     ;; The codes of emacs_module_init in module.c.
     (if (memql (car (last err)) '(1 2))
         (user-error "The module of pi, %s, needs a newer Emacs than %s" file
                     emacs-version)
       (user-error "The module of pi, %s, failed to start: %s" file
                   (error-message-string err))))))

(defun pi-module-load ()
  "Load the module unless that was done.
Each thing that can be wrong has an error message of its own.  A module
that is nowhere is the error `pi-module-missing'."
  (unless (fboundp 'pi-module--abi)
    (unless (fboundp 'module-load)
      (user-error "This Emacs was built without dynamic modules, which pi needs"))
    (when (version< emacs-version "28.1")
      (user-error "Pi needs Emacs 28.1 or later, and this is %s" emacs-version))
    (let ((file (pi-module--find)))
      (pi-module--open file)
      (unless (fboundp 'pi-module--abi)
        (user-error "%s is not the module of pi" file))))
  (pi-module--check))

;;; Build

(defvar pi-module--build nil
  "A list (PREFIX TARGET FUNCTION...) while the module is built.
FUNCTIONs are called when it is loaded.")

(defun pi-module--building-p ()
  "Whether the module is being built."
  (and pi-module--build
       (process-live-p (get-buffer-process pi-module--buffer-name))))

(defun pi-module--build-command (prefix)
  "The command that builds the module of `default-directory' into PREFIX."
  (let ((build "build/native-objects"))
    (mapconcat (lambda (words) (mapconcat #'shell-quote-argument words " "))
               `(("cmake" "-S" "." "-B" ,build
                  "-DCMAKE_BUILD_TYPE=RelWithDebInfo" "-DBUILD_TESTING=OFF"
                  "-DCMAKE_COLOR_MAKEFILE=OFF" ,@pi-module-cmake-arguments)
                 ("cmake" "--build" ,build "--parallel" ,(number-to-string (num-processors))
                  "--target" "pi-module" "pi-guard")
                 ("cmake" "--install" ,build "--prefix" ,prefix "--component" "native"))
               " && ")))

(defun pi-module--take (prefix target)
  "Move what was installed in PREFIX to TARGET, each file at once."
  (dolist (file (list "libexec/pi/pi-guard" (concat "lib/pi/" (pi-module--name))))
    (let ((new (expand-file-name file target)))
      (make-directory (file-name-directory new) t)
      (rename-file (expand-file-name file prefix) new t))))

(defun pi-module--build-finished (_buffer how)
  "Use what was built, if HOW says that it was."
  (pcase-let ((`(,prefix ,target . ,functions) pi-module--build))
    (setq pi-module--build nil)
    (unwind-protect
        (cond
         ((not (and (string-prefix-p "finished" how)
                    (file-exists-p (expand-file-name (concat "lib/pi/" (pi-module--name))
                                                     prefix))))
          (message "The module of pi was not built (%s): see %s.  Needed are cmake, a C \
compiler, pkg-config and the development files of cJSON, curl, pcre2, stb, \
tree-sitter, utf8proc and Emacs"
                   (string-trim how) pi-module--buffer-name))
         ((fboundp 'pi-module--abi)
          (pi-module--take prefix target)
          (message "The module of pi was built; restart Emacs to use it"))
         (t
          (pi-module--take prefix target)
          (pi-module-load)
          (message "The module of pi was built and loaded")
          (mapc #'funcall functions)))
      (delete-directory prefix t))))

;;;###autoload
(defun pi-module-build (&optional function)
  "Build the module from its sources, in the background, and load it.
The sources are those that came with this Lisp, or those in
`pi-module-source-directory'.  FUNCTION is called when the module is
loaded."
  (interactive)
  (let ((source (or (pi-module--source)
                    (user-error "The sources of pi are missing; \
`pi-module-source-directory' can name them"))))
    (when (pi-module--building-p)
      (user-error "The module of pi is being built; see %s" pi-module--buffer-name))
    (unless (executable-find "cmake")
      (user-error "Building the module of pi needs cmake, which is not installed"))
    (let* ((default-directory (file-name-as-directory (expand-file-name source)))
           (target (pi-module--built default-directory))
           (prefix (progn (make-directory target t)
                          (make-temp-file (expand-file-name "new-" target) t))))
      (require 'compile)
      (setq pi-module--build `(,prefix ,target ,@(and function (list function))))
      (with-current-buffer
          (let ((compilation-scroll-output t))
            (compilation-start (pi-module--build-command prefix) nil
                               (lambda (_mode) pi-module--buffer-name)))
        (add-hook 'compilation-finish-functions #'pi-module--build-finished nil t)))))

(defun pi-module--here (function)
  "A function that calls FUNCTION in the buffer that is current now."
  (let ((buffer (current-buffer))
        (directory default-directory))
    (lambda ()
      (with-current-buffer (if (buffer-live-p buffer) buffer (current-buffer))
        (let ((default-directory directory))
          (funcall function))))))

(defun pi-module-call (function)
  "Call FUNCTION, for a command, with the module loaded.
When the module is missing and its sources are not, offer to build it.
FUNCTION is then called after the build, and this returns nil."
  (if (pi-module--building-p)
      (progn
        (setq pi-module--build
              (append pi-module--build (list (pi-module--here function))))
        (message "This waits for the module of pi, which is being built")
        nil)
    (condition-case err
        (pi-module-load)
      (pi-module-missing
       (unless (and (pi-module--source)
                    (y-or-n-p "The module of pi is missing.  Build it now? "))
         (signal (car err) (cdr err)))
       (pi-module-build (pi-module--here function))
       (setq function #'ignore)))
    (funcall function)))

(provide 'pi-module)
;;; pi-module.el ends here
