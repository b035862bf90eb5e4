;;; pi-scenario-tests.el --- What goes wrong elsewhere  -*- lexical-binding: t; -*-

;; SPDX-License-Identifier: MIT

;;; Commentary:

;; Situations in which agents in editors are known to fail, each test named after the rule
;; that holds here.  Times are of the processor, so that a busy machine does not matter.

;;; Code:

(require 'pi-test-support)

(defun pi-scenario--visit (dir name text)
  "The buffer of a file NAME in DIR with TEXT."
  (pi-tests--write (expand-file-name name dir) text)
  (with-current-buffer (find-file-noselect (expand-file-name name dir))
    (buffer-enable-undo)
    (current-buffer)))

(defun pi-scenario--edit (name old new)
  "A call that makes NEW of OLD in the file NAME."
  (pi-tests--call "edit" :path name :edits (vector (list :oldText old :newText new))))

(defun pi-scenario--run (dir &rest turns)
  "Let an agent in DIR answer by TURNS, and return its session when it is done."
  (setq pi-tests--events nil)
  (let* ((pi-yolo t)
         (pi-save-before-bash nil)
         (pi-model (apply #'pi-tests--turns dir (append turns (list '((:text "Done."))))))
         (session (pi-prompt "go")))
    (pi-tests--ended)
    session))

(defun pi-scenario--no-errors ()
  "Check that nothing went wrong in a handler."
  (let ((log (get-buffer " *pi-log*")))
    (should-not (and log (with-current-buffer log
                           (goto-char (point-min))
                           (re-search-forward "pi-.*: " nil t)
                           (buffer-string))))))

(ert-deftest pi-scenario-unsaved-text-is-sacred ()
  "An edit joins what the user typed; nothing is saved or dropped."
  (pi-tests--in-directory dir
    (with-current-buffer (pi-scenario--visit dir "f.txt" "a\nb\nc\n")
      (insert "X")
      (undo-boundary)
      (let ((session (pi-scenario--run dir (list (pi-scenario--edit "f.txt" "c" "C")))))
        (should (equal (buffer-string) "Xa\nb\nC\n"))
        (should (buffer-modified-p))
        (should (equal (pi-tests--disk buffer-file-name) "a\nb\nc\n"))
        (should (string-search "not saved" (format "%S" pi-tests--events)))
        (pi-session-end session))
      (let ((save-silently t)) (save-buffer))
      (should (equal (pi-tests--disk buffer-file-name) "Xa\nb\nC\n")))))

(ert-deftest pi-scenario-a-conflict-is-for-the-user ()
  "When buffer and disk have both changed, neither is touched, and both sides are told."
  (pi-tests--in-directory dir
    (with-current-buffer (pi-scenario--visit dir "f.txt" "a\nb\nc\n")
      (insert "X")
      (let ((session (pi-scenario--run
                      dir
                      (list (pi-tests--call "bash" :command
                                            "sed -i s/b/B/ f.txt; touch -d tomorrow f.txt"))
                      (list (pi-scenario--edit "f.txt" "c" "C")))))
        (should (equal (buffer-string) "Xa\nb\nc\n"))
        (should (equal (pi-tests--disk buffer-file-name) "a\nB\nc\n"))
        (should (string-search "the user must save or revert" (pi-tests--text session)))
        ;; Saving asks, as Emacs does.
        (should-not (verify-visited-file-modtime))
        (should-error (let ((inhibit-interaction t)) (save-buffer))
                      :type 'inhibited-interaction)))))

(ert-deftest pi-scenario-files-come-and-go ()
  "What the agent creates, deletes or renames harms no buffer of another file."
  (pi-tests--in-directory dir
    (let ((gone (pi-scenario--visit dir "a.txt" "one\n"))
          (other (pi-scenario--visit dir "o.txt" "other\n")))
      (let ((session (pi-scenario--run
                      dir (list (pi-tests--call "bash" :command "mv a.txt b.txt")
                                (pi-tests--call "write" :path "c.txt" :content "new\n")))))
        (pi-tests--wait (lambda () (string-search "was deleted; its buffer stays"
                                                  (pi-tests--text session))))
        (should (equal (with-current-buffer gone (buffer-string)) "one\n"))
        (should (equal (with-current-buffer other (buffer-string)) "other\n"))
        (should-not (find-buffer-visiting (expand-file-name "c.txt" dir)))
        (with-current-buffer (find-file-noselect (expand-file-name "c.txt" dir))
          (should (equal (buffer-string) "new\n")))
        (pi-scenario--no-errors)))))

(defun pi-scenario--cpu ()
  "Seconds of the processor so far."
  (float-time (get-internal-run-time)))

(ert-deftest pi-scenario-a-long-answer-costs-what-its-length-costs ()
  "A megabyte of Markdown: the second half costs no more than the first, and no drain long."
  (pi-tests--in-directory dir
    (let* ((longest 0)
           (half nil)
           (count 0)
           (watch (lambda (drain &rest arguments)
                    (let ((begin (pi-scenario--cpu)))
                      (prog1 (apply drain arguments)
                        (setq longest (max longest (- (pi-scenario--cpu) begin)))))))
           (note (lambda (_ event)
                   (when (equal (plist-get (plist-get event :assistantMessageEvent) :type)
                                "text_delta")
                     (setq count (+ count (length (plist-get (plist-get
                                                              event :assistantMessageEvent)
                                                             :delta))))
                     (when (and (null half) (> count 500000))
                       (setq half (pi-scenario--cpu))))))
           (begin (pi-scenario--cpu)))
      (advice-add 'pi-session--drain :around watch)
      (add-hook 'pi-session-event-functions note)
      (unwind-protect
          (pi-scenario--run dir (list (list :repeatText
                                            '(:s "Some *words* and `code` in a paragraph.\n\n"
                                                 :n 26000))))
        (advice-remove 'pi-session--drain watch)
        (remove-hook 'pi-session-event-functions note))
      (should (> count 1000000))
      (let ((end (pi-scenario--cpu)))
        (message "first half %.2f s, second half %.2f s, longest drain %.0f ms"
                 (- half begin) (- end half) (* 1000 longest))
        (should (< (- end half) (+ 0.5 (* 2 (- half begin)))))
        (should (< (- end begin) 10)))
      (should (< longest 0.3)))))

(ert-deftest pi-scenario-a-long-conversation-is-there-at-once ()
  "Hundreds of messages are resumed, and a prompt is taken."
  (pi-tests--in-directory dir
    (pi-tests--write (expand-file-name "a.txt" dir) "some text\n")
    (let* ((first (apply #'pi-scenario--run dir
                         (make-list 200 (list (list :text (make-string 500 ?x))
                                              (pi-tests--call "read" :path "a.txt")))))
           (path (pi-session-info first 'session-path))
           (model (concat "replay:" (expand-file-name "turns.json" dir)))
           (begin (pi-scenario--cpu)))
      (pi-session-end first)
      (setq pi-tests--events nil)
      (pi-tests--turns dir '((:text "Still here.")))
      (let ((session (pi-session-create dir (list :session path :model model))))
        (pi-session-command session 'list-messages :max 200)
        (pi-tests--wait (lambda () (pi-tests--event "transcript")))
        (message "resumed in %.2f s" (- (pi-scenario--cpu) begin))
        (should (< (- (pi-scenario--cpu) begin) 2))
        (should (string-search "read a.txt" (pi-tests--text session)))
        (pi-session-send session "go on")
        (pi-tests--ended)))))

(ert-deftest pi-scenario-a-killed-transcript-ends-its-agent ()
  "Killing the transcript while an answer streams leaves no errors and no agent."
  (pi-tests--in-directory dir
    (let* ((pi-model (pi-tests--turns dir (list (list :repeatText
                                                      '(:s "some words " :n 999999)))))
           (session (pi-prompt "go")))
      (pi-tests--wait (lambda () (pi-tests--event "message_update")))
      (kill-buffer (pi-session-buffer session))
      (should-not (pi-session-agent session))
      (should-not pi-session--all)
      (setq pi-tests--events nil)
      (accept-process-output nil 0.2)
      (should-not pi-tests--events)
      (pi-scenario--no-errors)
      ;; The next one is a new conversation.
      (should (string-search "Done." (pi-tests--text (pi-scenario--run dir)))))))

(ert-deftest pi-scenario-one-undo-for-each-edit ()
  "Three edits are undone in three steps; the transcript has no undo."
  (pi-tests--in-directory dir
    (with-current-buffer (pi-scenario--visit dir "f.txt" "a\nb\nc\n")
      (let ((session (pi-scenario--run dir
                                       (list (pi-scenario--edit "f.txt" "a" "A\n1"))
                                       (list (pi-scenario--edit "f.txt" "b" "B\n2"))
                                       (list (pi-scenario--edit "f.txt" "c" "C\n3"))))
            (inhibit-message t))
        (should (equal (buffer-string) "A\n1\nB\n2\nC\n3\n"))
        (let ((last-command nil))
          (dolist (text '("A\n1\nB\n2\nc\n" "A\n1\nb\nc\n" "a\nb\nc\n"))
            (undo)
            (undo-boundary)
            (setq last-command 'undo)
            (should (equal (buffer-string) text))))
        (with-current-buffer (pi-session-buffer session)
          (should (eq buffer-undo-list t)))))))

(ert-deftest pi-scenario-what-cannot-start-is-explained ()
  "A helper program that is not there is named, and a later try may succeed."
  (pi-tests--in-directory dir
    (let* ((pi-yolo t)
           (model (pi-tests--turns dir (list (pi-tests--call "bash" :command "echo hi"))
                                   (list (list :text "Done."))))
           (text (condition-case err
                     (let ((session (pi-session-create
                                     dir (list :model model :yolo t
                                               :guard "/nonexistent/pi-guard"))))
                       (pi-session-send session "go")
                       (pi-tests--ended)
                       (pi-tests--text session))
                   (error (error-message-string err)))))
      (should (string-search "/nonexistent/pi-guard" text))
      (pi-session-end-all)
      (setq pi-tests--events nil)
      (let ((session (pi-session-create dir (list :model model :yolo t))))
        (pi-session-send session "go")
        (pi-tests--ended)
        (should (string-search "\nhi\n" (pi-tests--text session)))))))

;;; Late answers

(ert-deftest pi-scenario-an-answer-after-the-abort-is-harmless ()
  "A request for a buffer waits for a command; the run is aborted; the command ends."
  (pi-tests--in-directory dir
    (with-current-buffer (pi-scenario--visit dir "f.txt" "a\n")
      (let* ((pi-yolo t)
             (pi-model (pi-tests--turns dir (list (pi-scenario--edit "f.txt" "a" "b"))))
             (session nil))
        (let ((this-command 'something-that-waits))
          (setq session (pi-prompt "go"))
          (pi-tests--wait (lambda () (pi-session-requests session)))
          (let ((request (car (pi-session-requests session))))
            (pi-session-abort session)
            (pi-tests--ended)
            (pi-tests--wait (lambda () (null (pi-session-requests session))))
            (pi-session-answer session (cadr request) 'ok '(:text "no"))))
        (accept-process-output nil 0.1)
        (should (equal (buffer-string) "a\n"))
        (pi-scenario--no-errors)))))

(ert-deftest pi-scenario-an-abort-inside-an-edit ()
  "The run is aborted by a hook of the edit, which was taken: it stays, and is told."
  (pi-tests--in-directory dir
    (with-current-buffer (pi-scenario--visit dir "f.txt" "a\n")
      (let* ((pi-yolo t)
             (pi-model (pi-tests--turns dir (list (pi-scenario--edit "f.txt" "a" "b"))))
             (session nil))
        (add-hook 'after-save-hook
                  (lambda ()
                    (pi-session-abort session)
                    ;; Everything else goes on meanwhile.
                    (pi-tests--wait (lambda () (pi-tests--event "agent_end"))))
                  nil t)
        (setq session (pi-prompt "go"))
        (pi-tests--ended)
        (pi-tests--wait (lambda () (pi-tests--event "file_changed")))
        (should (equal (buffer-string) "b\n"))
        (should (equal (pi-tests--disk buffer-file-name) "b\n"))
        (pi-scenario--no-errors)))))

(ert-deftest pi-scenario-two-agents-and-one-file ()
  "Two sessions edit one buffer again and again; no edit is lost."
  (pi-tests--in-directory dir
    (with-current-buffer (pi-scenario--visit dir "f.txt" "one: 0\n\n\n\ntwo: 0\n")
      (let* ((pi-yolo t)
             (ends 0)
             (note (lambda (_ event)
                     (when (equal (plist-get event :type) "agent_end")
                       (setq ends (1+ ends)))))
             (edits (lambda (name)
                      (append (cl-loop for i from 0 below 10
                                       collect (list (pi-scenario--edit
                                                      "f.txt" (format "%s: %d" name i)
                                                      (format "%s: %d" name (1+ i)))))
                              (list '((:text "Done.")))))))
        (add-hook 'pi-session-event-functions note)
        (unwind-protect
            (progn
              (dolist (name '("one" "two"))
                (make-directory (expand-file-name name dir))
                (let ((session (pi-session-create
                                dir (list :yolo t :model
                                          (let ((model (apply #'pi-tests--turns
                                                              (expand-file-name name dir)
                                                              (funcall edits name))))
                                            model)))))
                  (pi-session-send session "go")))
              (pi-tests--wait (lambda () (= ends 2))))
          (remove-hook 'pi-session-event-functions note))
        (should (equal (buffer-string) "one: 10\n\n\n\ntwo: 10\n"))
        (should (equal (pi-tests--disk buffer-file-name) (buffer-string)))
        (pi-scenario--no-errors)))))

(provide 'pi-scenario-tests)
;;; pi-scenario-tests.el ends here
