;;; pi-module-tests.el --- Finding, building and loading the module  -*- lexical-binding: t; -*-

;; SPDX-License-Identifier: MIT

;;; Commentary:

;; Run as pi-tests.el is.  A cmake of these tests' own stands for the real one, which
;; package_test.sh uses.

;;; Code:

(require 'ert)
(require 'cl-lib)

;; Some primitives are replaced below, for Lisp that is not compiled to native code.
(defvar comp-enable-subr-trampolines)
(defvar native-comp-enable-subr-trampolines)
(setq comp-enable-subr-trampolines nil
      native-comp-enable-subr-trampolines nil)

(defun pi-module-tests--traces ()
  "What loading a file must leave alone."
  (list (process-list) timer-list timer-idle-list kill-emacs-hook post-command-hook
        find-file-hook global-mode-string (fboundp 'pi-module--abi)))

(defconst pi-module-tests--loading-changes
  (let ((before (pi-module-tests--traces)))
    (require 'pi)
    (not (equal before (pi-module-tests--traces))))
  "Whether loading pi.el has left traces.")

(defconst pi-module-tests--module (getenv "PI_EMACS_MODULE"))

(defmacro pi-module-tests--fresh (&rest body)
  "Run BODY in an empty `default-directory', as if no module were loaded."
  (declare (indent 0))
  `(let* ((directory (file-name-as-directory
                      (file-truename (make-temp-file "pi-module" t))))
          (default-directory directory)
          (pi-module--directory directory)
          (pi-module-file nil)
          (pi-module-source-directory nil)
          (pi-module--build nil)
          (load-path (cons directory load-path))
          (messages nil))
     (ignore messages)
     (unwind-protect
         (cl-letf (((symbol-function 'pi-module--abi) nil))
           ,@body)
       (delete-directory directory t))))

(defun pi-module-tests--error ()
  "The message of the error of `pi-module-load'."
  (error-message-string (should-error (pi-module-load) :type 'user-error)))

(defun pi-module-tests--file (name &rest lines)
  "Write LINES to the file NAME and return its name."
  (let ((file (expand-file-name name)))
    (make-directory (file-name-directory file) t)
    (write-region (mapconcat (lambda (line) (concat line "\n")) lines "")
                  nil file nil 'silent)
    file))

;;; Load

(ert-deftest pi-module-tests-loading-does-nothing ()
  (should-not pi-module-tests--loading-changes)
  (mapatoms (lambda (symbol)
              (when (string-prefix-p "pi-" (symbol-name symbol))
                (should-not (where-is-internal symbol (list global-map)))))))

(ert-deftest pi-module-tests-emacs-without-modules ()
  (pi-module-tests--fresh
    (cl-letf (((symbol-function 'module-load) nil))
      (should (string-match-p "without dynamic modules" (pi-module-tests--error))))))

(ert-deftest pi-module-tests-emacs-too-old ()
  (pi-module-tests--fresh
    (let ((emacs-version "27.2"))
      (should (string-match-p "28\\.1 or later, and this is 27\\.2"
                              (pi-module-tests--error))))))

(ert-deftest pi-module-tests-missing ()
  (pi-module-tests--fresh
    (should-error (pi-module-load) :type 'pi-module-missing)
    (let ((text (pi-module-tests--error)))
      ;; As it is shown: a sentence, not a quoted string.
      (should (string-prefix-p "The module of pi is missing: no pi-module-" text))
      (should (string-match-p (regexp-quote directory) text)))
    (setq pi-module-file "not/there.so")
    (should-error (pi-module-load) :type 'pi-module-missing)
    (should (string-match-p "pi-module-file. names .*/not/there\\.so"
                            (pi-module-tests--error)))))

(ert-deftest pi-module-tests-cannot-be-loaded ()
  (pi-module-tests--fresh
    (setq pi-module-file (pi-module-tests--file "text.so" "text"))
    (let ((text (pi-module-tests--error)))
      (should (string-match-p "cannot be loaded: .*text\\.so" text))
      ;; What dlopen says.
      (should (string-match-p "file too short\\|invalid ELF" text)))))

(ert-deftest pi-module-tests-no-module ()
  (pi-module-tests--fresh
    (setq pi-module-file
          (car (or (file-expand-wildcards "/lib*/*/libm.so.6")
                   (file-expand-wildcards "/lib*/libm.so.6")
                   (ert-skip "no library found"))))
    (should (string-match-p "is no module for Emacs" (pi-module-tests--error)))))

(ert-deftest pi-module-tests-module-of-another-program ()
  (pi-module-tests--fresh
    (setq pi-module-file (pi-module-tests--file "other.so" ""))
    (cl-letf (((symbol-function 'module-load) #'always))
      (should (string-match-p "other\\.so is not the module of pi"
                              (pi-module-tests--error))))))

(ert-deftest pi-module-tests-another-version ()
  (pi-module-tests--fresh
    (dolist (other '((99 . "0.1.0") (nil . "9.9.9")))
      (cl-letf (((symbol-function 'pi-module--abi)
                 (lambda () (or (car other) pi-module--wanted-abi)))
                ((symbol-function 'pi-module--version) (lambda () (cdr other))))
        (let ((text (pi-module-tests--error)))
          (should (string-match-p "does not fit" text))
          (should (string-match-p "rebuild and restart Emacs" text))
          (should (string-search (cdr other) text)))))))

(ert-deftest pi-module-tests-where-it-is-looked-for ()
  (pi-module-tests--fresh
    (let* ((name (pi-module--name))
           (pi-module--directory (expand-file-name "share/emacs/site-lisp/pi/"))
           (load-path (cons (expand-file-name "path") load-path))
           (prefix (pi-module-tests--file (concat "lib/pi/" name)))
           (path (pi-module-tests--file (concat "path/" name)))
           (built (pi-module-tests--file
                   (concat "share/emacs/site-lisp/pi/src/build/native/lib/pi/" name)))
           (beside (pi-module-tests--file (concat "share/emacs/site-lisp/pi/" name))))
      (pi-module-tests--file "share/emacs/site-lisp/pi/src/CMakeLists.txt")
      (pi-module-tests--file "share/emacs/site-lisp/pi/src/core/include/pi.h")
      (dolist (file (list beside built path prefix))
        (should (equal (pi-module--find) file))
        (delete-file file))
      (should-error (pi-module--find) :type 'pi-module-missing))))

(ert-deftest pi-module-tests-declarations ()
  "Lisp calls the functions of the module with as many arguments as they take."
  (let ((pi-module-file pi-module-tests--module)
        (directory (file-name-directory (locate-library "pi-module")))
        (found 0))
    (pi-module-load)
    (dolist (file (directory-files directory t "\\`pi.*\\.el\\'"))
      (with-temp-buffer
        (insert-file-contents file)
        (while (re-search-forward "^(declare-function pi-module--" nil t)
          (goto-char (match-beginning 0))
          (pcase (read (current-buffer))
            (`(declare-function ,name "ext:pi-module" ,arguments)
             (setq found (1+ found))
             (should (equal (cons name (func-arity name))
                            (cons name (func-arity `(lambda ,arguments))))))))))
    (should (> found 2))))

;;; Build

(defun pi-module-tests--cmake (&rest lines)
  "Make LINES the program cmake, and a checkout that the Lisp is in."
  (let ((cmake (apply #'pi-module-tests--file "bin/cmake" "#!/bin/sh" lines)))
    (set-file-modes cmake #o755)
    (pi-module-tests--file "core/include/pi.h")
    (pi-module-tests--file "CMakeLists.txt")
    (setq pi-module--directory (expand-file-name "emacs-module/lisp/"))))

(defmacro pi-module-tests--with-cmake (lines &rest body)
  "Run BODY with a program cmake of LINES, noting messages."
  (declare (indent 1))
  `(pi-module-tests--fresh
     (apply #'pi-module-tests--cmake ,lines)
     (let ((exec-path (cons (expand-file-name "bin") exec-path))
           (process-environment
            (cons (format "PATH=%s:%s" (expand-file-name "bin") (getenv "PATH"))
                  process-environment)))
       (cl-letf (((symbol-function 'message)
                  (lambda (format &rest arguments)
                    (when format
                      (push (apply #'format-message format arguments) messages)))))
         ,@body))))

(defun pi-module-tests--wait ()
  "Wait for the end of the build."
  (let ((end (+ (float-time) 20)))
    (while pi-module--build
      (when (> (float-time) end)
        (error "The build does not end"))
      (accept-process-output nil 0.02))))

(defconst pi-module-tests--works
  '("echo \"$@\" >>arguments"
    "case $1 in --install) prefix=$4;; *) exit 0;; esac"
    "[ \"$6\" = native ] || exit 1"
    "mkdir -p \"$prefix/lib/pi\" \"$prefix/libexec/pi\" || exit 1"
    "cp \"$PI_EMACS_MODULE\" \"$prefix/lib/pi/\" || exit 1"
    "echo guard >\"$prefix/libexec/pi/pi-guard\"")
  "A cmake that builds what was built already.")

(defun pi-module-tests--said (regexp messages)
  "Whether one of MESSAGES matches REGEXP."
  (seq-find (lambda (text) (string-match-p regexp text)) messages))

(ert-deftest pi-module-tests-build ()
  (let ((pi-module-cmake-arguments '("-DNAME=two words"))
        (called 0))
    (pi-module-tests--with-cmake
        pi-module-tests--works
      (pi-module-build (lambda () (cl-incf called)))
      ;; It goes on in the background, and once.
      (should (= called 0))
      (should-error (pi-module-build) :type 'user-error)
      (pi-module-call (lambda () (cl-incf called)))
      (pi-module-tests--wait)
      (should (= called 2))
      (should (pi-module-tests--said "was built and loaded" messages))
      (should (equal (pi-module--find)
                     (expand-file-name (concat "build/native/lib/pi/" (pi-module--name)))))
      (should (file-exists-p "build/native/libexec/pi/pi-guard"))
      (should (equal (directory-files "build/native") '("." ".." "lib" "libexec")))
      (should (string-match-p "-DNAME=two words"
                              (with-temp-buffer
                                (insert-file-contents "arguments")
                                (buffer-string)))))))

(ert-deftest pi-module-tests-build-beside-a-loaded-module ()
  (pi-module-tests--with-cmake
      pi-module-tests--works
    (cl-letf (((symbol-function 'pi-module--abi) (lambda () 0)))
      (pi-module-build)
      (pi-module-tests--wait)
      (should (pi-module-tests--said "restart Emacs" messages)))))

(ert-deftest pi-module-tests-build-fails ()
  (let ((called nil))
    (dolist (lines '(("exit 3") ("[ \"$1\" != --build ]") ("true")))
      (pi-module-tests--with-cmake lines
        (pi-module-build (lambda () (setq called t)))
        (pi-module-tests--wait)
        (should (pi-module-tests--said "was not built" messages))
        (should-not called)
        (should (equal (directory-files "build/native") '("." "..")))
        (should-error (pi-module--find) :type 'pi-module-missing)))))

(ert-deftest pi-module-tests-build-is-offered ()
  (pi-module-tests--fresh
    ;; Without sources nothing is offered.
    (cl-letf (((symbol-function 'y-or-n-p) (lambda (_) (error "Asked"))))
      (should-error (pi-module-call #'ignore) :type 'pi-module-missing)))
  (let ((called nil))
    (pi-module-tests--with-cmake
        pi-module-tests--works
      (cl-letf (((symbol-function 'y-or-n-p) #'ignore))
        (should-error (pi-module-call (lambda () (setq called t)))
                      :type 'pi-module-missing)
        (should-not (file-exists-p "build")))
      (cl-letf (((symbol-function 'y-or-n-p) #'always))
        (should-not (pi-module-call (lambda () (setq called default-directory))))
        (should-not called)
        (let ((default-directory "/"))
          (pi-module-tests--wait))
        (should (equal called directory))
        (should (= 7 (pi-module-call (lambda () 7))))))))

(ert-deftest pi-module-tests-prompt-is-kept ()
  "A prompt is not lost when there is no module for it."
  (pi-module-tests--with-cmake pi-module-tests--works
    (let ((pi-prompt-history nil))
      (cl-letf (((symbol-function 'y-or-n-p) #'ignore))
        (should-error (pi-prompt "a long text") :type 'pi-module-missing))
      (should (equal pi-prompt-history '("a long text")))))
  (pi-module-tests--with-cmake '("exit 3")
    (let ((pi-prompt-history nil))
      (cl-letf (((symbol-function 'y-or-n-p) #'always))
        (pi-prompt "another text"))
      (pi-module-tests--wait)
      (should (equal pi-prompt-history '("another text"))))))

(ert-deftest pi-module-tests-build-needs ()
  (pi-module-tests--fresh
    (should (string-match-p "sources of pi are missing"
                            (error-message-string (should-error (pi-module-build)))))
    (pi-module-tests--cmake "exit 0")
    (let ((exec-path nil))
      (should (string-match-p "needs cmake"
                              (error-message-string (should-error (pi-module-build))))))))

(provide 'pi-module-tests)
;;; pi-module-tests.el ends here
