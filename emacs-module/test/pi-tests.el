;;; pi-tests.el --- The Emacs front end, with recorded turns  -*- lexical-binding: t; -*-

;; SPDX-License-Identifier: MIT

;;; Commentary:

;; Run in batch: emacs -Q --batch -module-assertions -L lisp -L test -l pi-tests.el
;; -f ert-run-tests-batch-and-exit, with $PI_EMACS_MODULE naming the module.

;;; Code:

(require 'ert)
(require 'cl-lib)
(require 'pi)
(require 'pi-test-support)

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
               (pi-save-before-bash nil)
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

(defmacro pi-tests--sleeping (directory session mark &rest body)
  "Run BODY while a command sleeps MARK seconds for SESSION in DIRECTORY."
  (declare (indent 3))
  `(pi-tests--in-directory ,directory
     (let* ((,mark (pi-tests--mark))
            (pi-yolo t)
            (pi-model (pi-tests--turns
                       ,directory
                       (list (pi-tests--call "bash" :command
                                             (concat "echo go; sleep " ,mark "; true")))
                       (list (list :text "Done."))))
            (,session (pi-prompt "sleep")))
       (pi-tests--wait (lambda () (string-search "\ngo" (pi-tests--text ,session))))
       (should (> (pi-tests--commands ,mark) 0))
       ,@body)))

(ert-deftest pi-tests-abort ()
  "The run and its command end; the conversation goes on."
  (pi-tests--sleeping dir session mark
    (let ((begin (float-time)))
      (with-current-buffer (pi-session-buffer session)
        (pi-session-abort))
      (pi-tests--ended)
      (should (< (- (float-time) begin) 2.5))
      (pi-tests--gone mark)
      (should (string-search "aborted" (pi-tests--text session)))
      (should-not (pi-session-running session)))
    (setq pi-tests--events nil)
    (pi-session-send session "go on")
    (pi-tests--ended)
    (should (string-search "Done." (pi-tests--text session)))))

(ert-deftest pi-tests-end ()
  "Killing the buffer ends the agent and its command."
  (pi-tests--sleeping dir session mark
    (let ((begin (float-time))
          (agent (pi-session-agent session)))
      (kill-buffer (pi-session-buffer session))
      (should (< (- (float-time) begin) 2))
      (pi-tests--gone mark)
      (should-not pi-session--all)
      ;; What comes too late does no harm.
      (should (equal (pi-module--drain agent 0 0) '(closed)))
      (should-not (pi-module--answer-host agent 1 'ok []))
      (should-error (pi-module--prompt agent 'follow-up [:text "x"]) :type 'pi-error)
      (should-error (pi-session-send session "x") :type 'user-error)
      (pi-session-end session))))

(ert-deftest pi-tests-end-with-a-request ()
  "The agent ends while a request for a buffer waits."
  (pi-tests--in-directory dir
    (let ((file (expand-file-name "a.txt" dir)))
      (pi-tests--write file "one\n")
      (find-file-noselect file)
      (let* ((pi-yolo t)
             (pi-model (pi-tests--turns
                        dir (list (pi-tests--call "edit" :path "a.txt" :edits
                                                  [(:oldText "one" :newText "two")]))))
             (this-command 'something-that-waits)
             (session (pi-prompt "x")))
        (pi-tests--wait (lambda () (pi-session-requests session)))
        (pi-session-end session)
        (accept-process-output nil 0.1)
        (should (equal (pi-tests--disk file) "one\n"))))))

(ert-deftest pi-tests-not-inside-a-command ()
  "No buffer changes while a command waits for something."
  (pi-tests--in-directory dir
    (let ((file (expand-file-name "a.txt" dir)))
      (pi-tests--write file "one\n")
      (with-current-buffer (find-file-noselect file)
        (let* ((pi-yolo t)
               (pi-model (pi-tests--turns
                          dir
                          (list (pi-tests--call "edit" :path "a.txt" :edits
                                                [(:oldText "one" :newText "two")]))
                          (list (list :text "Done."))))
               (session (let ((this-command 'something-that-waits))
                          (prog1 (pi-prompt "x")
                            (pi-tests--wait
                             (lambda () (pi-session-requests (car pi-session--all))))
                            (accept-process-output nil 0.2)
                            (should (equal (buffer-string) "one\n"))))))
          (pi-tests--ended)
          (should-not (pi-session-requests session))
          (should (equal (buffer-string) "two\n"))
          (should (equal (pi-tests--disk file) "two\n")))))))

(ert-deftest pi-tests-not-inside-a-hook ()
  "Two edits; a hook of the first one waits, and the second one waits for it."
  (pi-tests--in-directory dir
    (let ((log nil)
          (edit (lambda (name)
                  (pi-tests--call "edit" :path name
                                  :edits [(:oldText "one" :newText "two")]))))
      (dolist (name '("a.txt" "b.txt"))
        (pi-tests--write (expand-file-name name dir) "one\n")
        (with-current-buffer (find-file-noselect (expand-file-name name dir))
          (add-hook 'after-save-hook
                    (lambda ()
                      (push 'begin log)
                      (sleep-for 0.3)
                      (push 'end log))
                    nil t)))
      (let* ((pi-yolo t)
             (pi-model (pi-tests--turns dir (list (funcall edit "a.txt")
                                                  (funcall edit "b.txt"))
                                        (list (list :text "Done."))))
             (session (pi-prompt "x")))
        (pi-tests--ended)
        (should-not (pi-session-requests session))
        (should (equal (reverse log) '(begin end begin end)))
        (should (equal (pi-tests--disk (expand-file-name "b.txt" dir)) "two\n"))))))

(ert-deftest pi-tests-questions ()
  "A command waits for the user's answer, in no hurry."
  (pi-tests--in-directory dir
    (let* ((pi-yolo nil)
           (pi-model (pi-tests--turns
                      dir
                      (list (pi-tests--call "bash" :command "touch one"))
                      (list (pi-tests--call "bash" :command "touch two"))
                      (list (list :text "Done."))))
           (session (pi-prompt "x")))
      (dolist (answer '(pi-session-allow pi-session-deny))
        (pi-tests--wait (lambda () (pi-session-questions session)))
        ;; The next question may come before anybody sees this one gone.
        (let ((asked (car (pi-session-questions session))))
          (with-current-buffer (pi-session-buffer session)
            (should (string-search "May bash run this?" (buffer-string)))
            (funcall answer))
          (pi-tests--wait (lambda ()
                            (not (memq asked (pi-session-questions session)))))))
      (pi-tests--ended)
      (should (file-exists-p (expand-file-name "one" dir)))
      (should-not (file-exists-p (expand-file-name "two" dir)))
      (with-current-buffer (pi-session-buffer session)
        (should-error (pi-session-allow) :type 'user-error)))))

(ert-deftest pi-tests-environment ()
  "Commands get the environment of the buffer."
  (pi-tests--in-directory dir
    (let* ((pi-yolo t)
           (process-environment (append '("PI_TEST_SET=grün" "HOME")
                                        '("PI_TEST_SET=other") process-environment))
           (pi-model (pi-tests--turns
                      dir
                      (list (pi-tests--call
                             "bash" :command "echo \"<$PI_TEST_SET>${HOME-unset}\""))
                      (list (list :text "Done."))))
           (session (pi-prompt "x")))
      (pi-tests--ended)
      (should (string-search "\n<grün>unset" (pi-tests--text session))))))

(ert-deftest pi-tests-flood ()
  "Of much output the end is shown, and Emacs stays small and quick."
  (pi-tests--in-directory dir
    (let* ((pi-yolo t)
           (pi-model (pi-tests--turns
                      dir
                      (list (pi-tests--call
                             "bash" :command
                             "yes | head -c 30M; head -c 99999 /dev/zero | tr '\\0' x; \
echo; seq 99"))
                      (list (list :text "Done."))))
           (session (pi-prompt "x")))
      (pi-tests--ended)
      (let ((text (pi-tests--text session)))
        (should (string-search "\n98\n99" text))
        (should-not (string-search "\n88\n" text))
        (should (< (length text) 8000))))))

(ert-deftest pi-tests-pipe-deleted ()
  "Somebody deletes the pipe process: the agent's wake-ups do no harm."
  (pi-tests--in-directory dir
    (let* ((pi-yolo t)
           (pi-model (pi-tests--turns dir (list (list :text "Hello."))))
           (session (pi--session-here)))
      (delete-process pi-session--pipe)
      (pi-session-send session "x")
      (pi-tests--ended)
      (should (string-search "Hello." (pi-tests--text session))))))

(ert-deftest pi-tests-forgotten ()
  "An agent that nobody holds any more is collected, with its command."
  (pi-tests--sleeping dir session mark
    (setf (pi-session-agent session) nil)
    (setq pi-session--all nil)
    (garbage-collect)
    (pi-tests--gone mark)))

(defun pi-tests--child (dir mark end)
  "Run another Emacs whose session sleeps MARK seconds; at last it evaluates END."
  (let ((program (expand-file-name "child.el" dir))
        (model (pi-tests--turns dir (list (pi-tests--call
                                           "bash" :command
                                           (concat "echo go; sleep " mark "; true"))))))
    (pi-tests--write
     program
     (format "%S" `(progn
                     (setq pi-module-file ,pi-module-file
                           pi-yolo t
                           pi-model ,model
                           default-directory ,dir)
                     (let ((session (pi-prompt "sleep")))
                       (while (not (with-current-buffer (pi-session-buffer session)
                                     (string-search "\ngo" (buffer-string))))
                         (accept-process-output nil 0.02))
                       ,end))))
    (make-process :name "emacs" :buffer nil :connection-type 'pipe
                  :command `(,@(pi-tests-emacs) "-Q" "--batch"
                             "-L" ,(file-name-directory (locate-library "pi"))
                             "-l" "pi" "-l" ,program))))

(defun pi-tests--exit (end &optional signal)
  "Another Emacs evaluates END, or gets SIGNAL: nothing of its command is left."
  (pi-tests--in-directory dir
    (let* ((mark (pi-tests--mark))
           (child (pi-tests--child dir mark end)))
      (pi-tests--wait (lambda () (> (pi-tests--commands (concat "sleep " mark)) 0)))
      (when signal
        (signal-process child signal))
      (pi-tests--wait (lambda () (not (process-live-p child))) 5)
      (pi-tests--gone (concat "sleep " mark)))))

(ert-deftest pi-tests-exit ()
  (pi-tests--exit '(progn (sleep-for 1) (kill-emacs))))

(ert-deftest pi-tests-exit-by-term ()
  (pi-tests--exit '(while t (accept-process-output nil 1)) 'TERM))

(ert-deftest pi-tests-exit-by-kill ()
  (pi-tests--exit '(while t (accept-process-output nil 1)) 'KILL))

(ert-deftest pi-tests-load-errors ()
  "Each thing that can be missing has a message of its own."
  (pi-module-load)
  (cl-letf (((symbol-function 'pi-module--abi) nil))
    (let* ((pi-module-file "/nonexistent/module.so")
           (err (should-error (pi-module-load) :type 'user-error)))
      (should (string-search "/nonexistent/module.so" (cadr err))))
    (let* ((pi-module-file nil)
           ;; Not the checkout, which may have a module that was built by make.
           (pi-module--directory "/nonexistent/a/b/c/")
           (err (should-error (pi-module-load) :type 'user-error)))
      (should (string-search "is missing" (cadr err))))
    (let* ((pi-module-file (locate-library "pi"))
           (err (should-error (pi-module-load) :type 'user-error)))
      (should (string-search "cannot be loaded" (cadr err)))))
  (cl-letf (((symbol-function 'pi-module--abi) (lambda () 99)))
    (let ((err (should-error (pi-module-load) :type 'user-error)))
      (should (string-search "restart Emacs" (cadr err)))))
  (should-error (pi-module--drain 'x 1 1))
  (should-error (pi-module--create (pi-session--pipe) [:cwd "relative"]) :type 'pi-error)
  (should-error (pi-module--create (pi-session--pipe) [:nonsense "x"]))
  (should-error (pi-module--create (pi-session--pipe) [:cwd 7]))
  (should-error (pi-session-create "/ssh:host:/tmp") :type 'user-error))

(provide 'pi-tests)
;;; pi-tests.el ends here
