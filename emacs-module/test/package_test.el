;;; package_test.el --- A first prompt with an installed package  -*- lexical-binding: t; -*-

;; SPDX-License-Identifier: MIT

;;; Commentary:

;; The part of package_test.sh that runs in Emacs, in the folder above project.

;;; Code:

(require 'cl-lib)

(defvar pi-model)
(defvar pi-yolo)
(defvar pi-module-file)
(defvar pi-module--build)
(defvar pi-module-cmake-arguments)
(declare-function pi-module--find "pi-module")

(defun package-test--wait (condition)
  "Wait until CONDITION returns non-nil."
  (let ((end (+ (float-time) 280)))
    (while (not (funcall condition))
      (when (or (> (float-time) end)
                (not (or pi-module--build (fboundp 'pi-module--abi))))
        (dolist (buffer (buffer-list))
          (with-current-buffer buffer
            (message "== %s\n%s" (buffer-name) (buffer-string))))
        (error "Waited in vain"))
      (accept-process-output nil 0.05))))

(cl-assert (autoloadp (symbol-function 'pi-prompt)))
(cl-assert (not (featurep 'pi-module)))
(cl-assert (string-search "/.emacs.d/elpa/pi-" (locate-library "pi")))
(when (executable-find "makeinfo")
  (cl-assert (file-exists-p (expand-file-name "pi.info" (file-name-directory
                                                         (locate-library "pi"))))))

(setq default-directory (expand-file-name "project/")
      pi-model (concat "replay:" (expand-file-name "turns.json"))
      pi-yolo t)
(require 'pi)
(setq pi-module-file (getenv "PI_EMACS_MODULE")
      ;; Quick to build.
      pi-module-cmake-arguments '("-DCMAKE_BUILD_TYPE=" "-DCMAKE_C_FLAGS=-O0"))
(let ((offers 0))
  (cl-letf (((symbol-function 'y-or-n-p) (lambda (_) (cl-incf offers))))
    (pi-prompt "This is a first prompt."))
  (cl-assert (= offers (if pi-module-file 0 1))))
(package-test--wait
 (lambda ()
   (seq-find (lambda (buffer)
               (and (string-prefix-p "*pi: " (buffer-name buffer))
                    (with-current-buffer buffer
                      (string-search "That was the first one." (buffer-string)))))
             (buffer-list))))
(unless pi-module-file
  (cl-assert (string-match-p "/elpa/pi-[0-9.]+/src/" (pi-module--find))))

;;; package_test.el ends here
