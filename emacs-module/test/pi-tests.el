;;; pi-tests.el --- The Emacs front end, with recorded turns  -*- lexical-binding: t; -*-

;; SPDX-License-Identifier: MIT

;;; Commentary:

;; Run in batch: emacs -Q --batch -module-assertions -L lisp -l pi-tests.el
;; -f ert-run-tests-batch-and-exit, with $PI_EMACS_MODULE naming the module.

;;; Code:

(require 'ert)
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

(ert-deftest pi-tests-module ()
  "The module has the versions that Lisp expects."
  (pi-module-load)
  (should (equal (pi-module--version) pi-version))
  (should (= (pi-module--abi) pi-module--wanted-abi)))

(ert-deftest pi-tests-one-prompt ()
  "An edit lands in a modified buffer as one step of undo; output arrives while it runs."
  (pi-tests--in-directory dir
    (let ((file (expand-file-name "poem.txt" dir)))
      (pi-tests--write file "rösen\nveilchen\ntulpen\n")
      (with-current-buffer (find-file-noselect file)
        (buffer-enable-undo)
        (goto-char (point-max))
        (insert "und nelken 🌷\n")
        (undo-boundary)
        (let ((pi-yolo t)
              (pi-model
               (pi-tests--turns
                dir
                (list (list :text "I look.")
                      (pi-tests--call "read" :path "poem.txt"))
                (list (pi-tests--call
                       "edit" :path "poem.txt"
                       :edits [(:oldText "veilchen" :newText "VEILCHEN – blau")
                               (:oldText "und nelken" :newText "NELKEN")])
                      (pi-tests--call
                       "bash" :command "echo first; sleep 0.6; echo second"))
                (list (list :text "Done.")))))
          (let ((session (pi-prompt "change it"))
                (shown nil))
            ;; The first line is seen while the command runs.
            (pi-tests--wait
             (lambda () (string-search "\nfirst" (pi-tests--text session))))
            (setq shown (float-time))
            (should-not (string-search "\nsecond" (pi-tests--text session)))
            (pi-tests--ended)
            (let ((end (car (seq-find
                             (lambda (entry)
                               (and (equal (plist-get (cdr entry) :type)
                                           "tool_execution_end")
                                    (equal (plist-get (cdr entry) :toolName) "bash")))
                             pi-tests--events))))
              (should (> (- end (pi-tests--event "tool_execution_update")) 0.4))
              (should (> (- end shown) 0.4)))
            (should (string-search "\nsecond" (pi-tests--text session)))
            (should (string-search "Done." (pi-tests--text session)))
            (should-not (string-search "failed" (pi-tests--text session)))))
        (should (equal (buffer-string)
                       "rösen\nVEILCHEN – blau\ntulpen\nNELKEN 🌷\n"))
        (should (buffer-modified-p))
        (should (equal (decode-coding-string (pi-tests--disk file) 'utf-8)
                       "rösen\nveilchen\ntulpen\n"))
        ;; One step back: the user's text, still not saved.
        (let ((last-command nil)) (undo))
        (should (equal (buffer-string) "rösen\nveilchen\ntulpen\nund nelken 🌷\n"))
        (let ((last-command 'undo)) (undo))
        (should (equal (buffer-string) "rösen\nveilchen\ntulpen\n"))))))

(provide 'pi-tests)
;;; pi-tests.el ends here
