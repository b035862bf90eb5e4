;;; pi-questions-tests.el --- Questions that wait  -*- lexical-binding: t; -*-

;; SPDX-License-Identifier: MIT

;;; Code:

(require 'pi-test-support)
(require 'pi-questions)

(defmacro pi-questions-tests--session (session &rest body)
  "Run BODY with SESSION, which has nothing to say."
  (declare (indent 1))
  `(pi-tests--in-directory dir
     (let* ((pi-model (pi-tests--turns dir (list (list :text "Hello."))))
            (,session (pi--session-here)))
       ,@body)))

(ert-deftest pi-questions-tests-own ()
  "Emacs asks something itself; each answer that is offered can be given."
  (pi-questions-tests--session session
    (let* ((given nil)
           (id (pi-question-add session :lines '("Save a.txt?" "It is modified.")
                                :function (lambda (&rest args) (push args given)))))
      (with-current-buffer (pi-session-buffer session)
        (should (string-search "? Save a.txt?\n  It is modified.\n  y once   N no"
                               (buffer-string)))
        (should-not (string-search "always" (buffer-string)))
        (should-error (pi-session-always) :type 'user-error)
        (pi-session-deny "why")
        (should (equal given '((deny "why"))))
        (should (string-suffix-p "\n  [denied]" (buffer-string)))
        (should-not (pi-session-questions session))
        (should-error (pi-session-allow) :type 'user-error))
      (should-not (pi-question-withdraw session id)))))

(ert-deftest pi-questions-tests-several ()
  "The question at point is answered, and another one stays."
  (pi-questions-tests--session session
    (let (given)
      (dolist (name '("one" "two"))
        (pi-question-add session :lines (list name) :answers '(once session deny)
                         :means "all of them"
                         :function (lambda (answer _) (push (cons name answer) given))))
      (save-window-excursion
        (pi-answer)
        (should (looking-at-p "y once   ! always (all of them)   N no"))
        (should (equal (get-text-property (point) 'wrap-prefix) "  "))
        (pi-session-always)
        (should (equal given '(("one" . session))))
        (goto-char (point-min))
        (should-error (pi-session-allow) :type 'user-error)
        (pi-answer)
        (push-button)
        (should (equal given '(("two" . once) ("one" . session)))))
      (should-error (pi-answer) :type 'user-error))))

(ert-deftest pi-questions-tests-withdrawn ()
  "Nobody wants the answer any more."
  (pi-questions-tests--session session
    (let ((id (pi-question-add session :lines '("x") :function #'ignore)))
      (pi-question-withdraw session id)
      (should (string-suffix-p "? x\n  [withdrawn]" (pi-tests--text session)))
      (should-not (pi-session-questions session)))))

(ert-deftest pi-questions-tests-end ()
  "No question outlives its session, and no mode line says so."
  (pi-questions-tests--session session
    (pi-question-add session :lines '("x") :function #'ignore)
    (should pi-header--flag)
    (kill-buffer (pi-session-buffer session))
    (should-not pi-header--flag)
    (should-not (pi-session-questions session))))

(ert-deftest pi-questions-tests-abort ()
  "A question dies with its call."
  (pi-tests--in-directory dir
    (let* ((pi-yolo nil)
           (pi-model (pi-tests--turns
                      dir (list (pi-tests--call "bash" :command "touch one"))))
           (session (pi-prompt "x")))
      (pi-tests--wait (lambda () (pi-session-questions session)))
      (pi-session-abort session)
      (pi-tests--ended)
      (should-not (pi-session-questions session))
      (should (string-search "[withdrawn]" (pi-tests--text session)))
      (should-not (file-exists-p (expand-file-name "one" dir))))))

(ert-deftest pi-questions-tests-diff ()
  "A change is shown before it is made."
  (pi-tests--in-directory dir
    (pi-tests--write (expand-file-name "a.txt" dir) "one\ntwo\n")
    (let* ((pi-yolo t)
           (pi-model (pi-tests--turns
                      dir
                      (list (pi-tests--call "edit" :path "a.txt" :edits
                                            [(:oldText "two" :newText "zwei")]))
                      (list (list :text "Done."))))
           (session (pi--session-here)))
      (pi-session-command session 'set-review :before t)
      (pi-session-send session "x")
      (pi-tests--wait (lambda () (pi-session-questions session)))
      (with-current-buffer (pi-session-buffer session)
        (should (string-search "? May edit make this change of a.txt?" (buffer-string)))
        (should (string-search "\n-two\n+zwei\n" (buffer-string)))
        (pi-session-allow))
      (pi-tests--ended)
      (should (equal (pi-tests--disk (expand-file-name "a.txt" dir)) "one\nzwei\n")))))

(provide 'pi-questions-tests)
;;; pi-questions-tests.el ends here
