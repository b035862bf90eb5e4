;;; pi-test-support.el --- Helpers of the tests  -*- lexical-binding: t; -*-

;; SPDX-License-Identifier: MIT

;;; Commentary:

;; Recorded turns, waiting with a deadline, and a directory and sessions that are gone
;; after each test.  $PI_EMACS_MODULE names the module.

;;; Code:

(require 'ert)
(require 'cl-lib)
(require 'pi)

(setq pi-module-file (getenv "PI_EMACS_MODULE")
      make-backup-files nil
      create-lockfiles nil)

(defvar pi-tests--events nil
  "(SECONDS . EVENT) of all that was drawn, newest first.")

(defun pi-tests--note (_session event)
  "Keep EVENT with its time."
  (push (cons (float-time) event) pi-tests--events))

(advice-add 'pi-session--event :before #'pi-tests--note)

(defun pi-tests--wait (condition &optional seconds)
  "Let Emacs work until CONDITION returns non-nil; fail after SECONDS."
  (let ((end (+ (float-time) (or seconds 20)))
        value)
    (while (not (setq value (funcall condition)))
      (when (> (float-time) end)
        (error "Waited in vain; events: %S" (reverse pi-tests--events)))
      (accept-process-output nil 0.02))
    value))

(defun pi-tests--event (type)
  "The time of the first event of TYPE, or nil."
  (car (seq-find (lambda (entry) (equal (plist-get (cdr entry) :type) type))
                 (reverse pi-tests--events))))

(defun pi-tests--write (file &rest lines)
  "Write LINES to FILE."
  (let ((coding-system-for-write 'utf-8-unix))
    (write-region (apply #'concat lines) nil file nil 'silent)))

(defun pi-tests--disk (file)
  "The bytes of FILE."
  (with-temp-buffer
    (set-buffer-multibyte nil)
    (insert-file-contents-literally file)
    (buffer-string)))

(defun pi-tests--call (name &rest arguments)
  "A block that calls tool NAME with ARGUMENTS, a plist."
  (list :call (list :name name :arguments arguments)))

(defun pi-tests--turns (directory &rest turns)
  "Record TURNS, each a list of blocks, in DIRECTORY; return the model's name."
  (let ((file (expand-file-name "turns.json" directory)))
    (pi-tests--write file
                     (json-serialize
                      (list :turns (vconcat (mapcar (lambda (blocks)
                                                      (list :blocks (vconcat blocks)))
                                                    turns)))))
    (concat "replay:" file)))

(defmacro pi-tests--in-directory (directory &rest body)
  "Run BODY with DIRECTORY bound to a new directory and no session before or after."
  (declare (indent 1))
  `(let* ((,directory (file-name-as-directory
                       (file-truename (make-temp-file "pi-tests" t))))
          (default-directory ,directory)
          (this-command nil)            ; what undo sets would put requests off
          (pi-tests--events nil))
     (unwind-protect
         (progn ,@body)
       (pi-session-end-all)
       (dolist (buffer (buffer-list))
         (when (or (buffer-file-name buffer)
                   (string-prefix-p "*pi" (buffer-name buffer)))
           (with-current-buffer buffer (set-buffer-modified-p nil))
           (kill-buffer buffer)))
       (delete-directory ,directory t))))

(defun pi-tests--text (session)
  "What the buffer of SESSION shows."
  (with-current-buffer (pi-session-buffer session)
    (buffer-substring-no-properties (point-min) (point-max))))

(defun pi-tests--ended ()
  "Wait for the end of the run."
  (pi-tests--wait (lambda () (pi-tests--event "agent_end"))))

(defun pi-tests-emacs ()
  "The command that starts another Emacs of this kind, a list."
  (let ((script (expand-file-name "with-emacs" (file-name-directory
                                                (locate-library "pi-test-support")))))
    (list script (or (getenv "PI_EMACS")
                     (expand-file-name invocation-name invocation-directory)))))

(defun pi-tests--commands (mark)
  "How many processes have MARK among their arguments."
  (seq-count (lambda (pid)
               (let ((attributes (process-attributes pid)))
                 (and (string-search mark (or (alist-get 'args attributes) ""))
                      (not (equal (alist-get 'state attributes) "Z"))
                      (/= pid (emacs-pid)))))
             (list-system-processes)))

(defun pi-tests--gone (mark)
  "Wait until no process has MARK among its arguments."
  (pi-tests--wait (lambda () (= 0 (pi-tests--commands mark))) 5))

(defun pi-tests--mark ()
  "A number of seconds that no other sleep has."
  (format "600.%d%06d" (emacs-pid) (random 1000000)))

(provide 'pi-test-support)
;;; pi-test-support.el ends here
