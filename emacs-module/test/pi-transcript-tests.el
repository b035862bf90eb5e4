;;; pi-transcript-tests.el --- What a transcript shows  -*- lexical-binding: t; -*-

;; SPDX-License-Identifier: MIT

;;; Code:

(require 'bookmark)
(require 'pi-test-support)
(require 'pi-list)
(require 'pi-markdown)
(require 'pi-transcript)

(defmacro pi-transcript-tests--with (&rest body)
  "Run BODY in the transcript of a session that has nothing to say, `session'."
  (declare (indent 0))
  `(pi-tests--in-directory dir
     (let* ((pi-model (pi-tests--turns dir (list (list :text "Hello."))))
            (session (pi--session-here)))
       (with-current-buffer (pi-session-buffer session)
         ,@body))))

(defun pi-transcript-tests--tell (session type &rest fields)
  "Let SESSION's agent tell an event of TYPE with FIELDS."
  (pi-session--event session (append (list :type type) fields)))

(defun pi-transcript-tests--delta (session type text)
  "Let SESSION's agent tell TEXT in a message_update of TYPE."
  (pi-transcript-tests--tell session "message_update"
                             :assistantMessageEvent (list :type type :delta text)))

(defun pi-transcript-tests--call (session id tool args text &optional failed)
  "Let SESSION's agent call TOOL with ARGS as ID, with TEXT as its result; or FAILED."
  (pi-transcript-tests--tell session "tool_execution_start" :toolCallId id
                             :toolName tool :args args :title tool)
  (pi-transcript-tests--tell session "tool_execution_end" :toolCallId id :toolName tool
                             :isError failed
                             :result (list :content (list (list :type "text"
                                                                :text text)))))

(defun pi-transcript-tests--lines (n)
  "N numbered lines."
  (mapconcat (lambda (i) (format "line %d\n" i)) (number-sequence 1 n) ""))

(ert-deftest pi-transcript-tests-blocks ()
  "Blocks are told apart by an empty line; text is plain until it is complete."
  (pi-transcript-tests--with
    (pi-transcript-tests--tell session "message_end"
                               :message '(:role "user" :content ((:type "text" :text "Hi"))))
    (pi-transcript-tests--delta session "thinking_delta" "Hm.\nHm.")
    (pi-transcript-tests--delta session "thinking_end" nil)
    (pi-transcript-tests--delta session "text_delta" "\n\nSome **bo")
    (pi-transcript-tests--delta session "text_delta" "ld** text.")
    (should (equal (buffer-substring-no-properties (point-min) (point-max))
                   "> Hi\n\nThinking\nHm.\nHm.\n\nSome **bold** text."))
    (goto-char (point-min))
    (search-forward "**bold")
    (should (eq (get-text-property (1- (point)) 'face) 'pi-assistant))
    (pi-transcript-tests--delta session "text_end" nil)
    (should (memq 'bold (get-text-property (1- (point)) 'face)))
    (goto-char (point-min))
    (search-forward "Hm.")
    (should (eq (get-text-property (1- (point)) 'invisible) 'pi-fold))))

(ert-deftest pi-transcript-tests-remark ()
  "A remark does not tear a sentence."
  (pi-transcript-tests--with
    (pi-transcript-tests--delta session "text_delta" "One ")
    (pi-transcript-tests--tell session "notice" :level "warning" :message "By the way.")
    (pi-transcript-tests--delta session "text_delta" "sentence.")
    (pi-transcript-tests--delta session "text_end" nil)
    (pi-transcript-tests--tell session "notice" :level "error" :message "More.")
    (should (equal (buffer-substring-no-properties (point-min) (point-max))
                   "One sentence.\n\nBy the way.\n\nMore."))))

(ert-deftest pi-transcript-tests-wrong-calls ()
  "A call of a tool that is not there, or without its arguments, says its name."
  (pi-tests--in-directory dir
    (let ((pi-model (pi-tests--turns dir
                                     (list '(:call (:name "nonsense" :argumentsText "{}"))
                                           (pi-tests--call "read" :x "y"))
                                     (list (list :text "Done.")))))
      (pi-prompt "x")
      (pi-tests--ended)
      (let ((text (pi-tests--text (pi--session-here))))
        (should (string-search "* nonsense  [failed]\n" text))
        (should (string-search "* read  [failed]\n" text))))))

(ert-deftest pi-transcript-tests-previews ()
  "The head of what was read, the tail of what a command said, and how it ended."
  (pi-transcript-tests--with
    (pi-transcript-tests--call session "1" "read" '(:path "x")
                               (pi-transcript-tests--lines 30))
    (pi-transcript-tests--call session "2" "bash" '(:command "x")
                               (pi-transcript-tests--lines 30) t)
    (pi-transcript-tests--call session "3" "grep" '(:pattern "x")
                               (pi-transcript-tests--lines 11))
    (let ((text (buffer-substring-no-properties (point-min) (point-max))))
      (should (string-search "* read  [ok]\nline 1\n" text))
      (should (string-search "line 10\n… 20 more lines\n\n" text))
      (should (string-search "* bash  [failed]\n… 20 earlier lines\nline 21\n" text))
      ;; One line more is shown instead of a line that says so.
      (should (string-suffix-p "line 10\nline 11" text)))))

(ert-deftest pi-transcript-tests-long-lines ()
  "No line slows down the display."
  (pi-transcript-tests--with
    (pi-transcript-tests--tell session "tool_execution_start" :toolCallId "1"
                               :toolName "bash" :args nil :title "bash")
    (dotimes (_ 20)
      (pi-transcript-tests--tell session "tool_execution_update" :toolCallId "1"
                                 :delta (make-string 1000 ?x)))
    (should (< (buffer-size) 700))
    (pi-transcript-tests--delta session "text_delta" (make-string 50000 ?y))
    (goto-char (point-max))
    (should (< (- (line-end-position) (line-beginning-position)) 10001))))

(ert-deftest pi-transcript-tests-terminal-output ()
  "What a terminal would show: colours, and the last of what a line was."
  (pi-transcript-tests--with
    (pi-transcript-tests--call session "1" "bash" nil
                               "10%\r20%\r100%\r\n\e[31mred\e[0m \e[2Kplain")
    (let ((text (buffer-substring-no-properties (point-min) (point-max))))
      (should (string-suffix-p "[ok]\n100%\nred plain" text)))
    (goto-char (point-max))
    (search-backward "red")
    (should (get-text-property (point) 'face))
    (search-forward "plain")
    (should-not (get-text-property (1- (point)) 'face))))

(ert-deftest pi-transcript-tests-side-by-side ()
  "Output of calls that run side by side goes to its place."
  (pi-transcript-tests--with
    (dolist (id '("1" "2"))
      (pi-transcript-tests--tell session "tool_execution_start" :toolCallId id
                                 :toolName "bash" :title (concat "call " id)))
    (dolist (id '("2" "1" "2"))
      (pi-transcript-tests--tell session "tool_execution_update" :toolCallId id
                                 :delta (format "of %s\n" id)))
    (should (equal (buffer-substring-no-properties (point-min) (point-max))
                   (concat "* call 1  [running]\nof 1\n\n"
                           "* call 2  [running]\nof 2\nof 2")))))

(ert-deftest pi-transcript-tests-point ()
  "Point stays where the user put it, and follows only at the end."
  (pi-transcript-tests--with
    (save-window-excursion
      (switch-to-buffer (current-buffer))
      (pi-transcript-tests--delta session "text_delta" "one\n")
      (should (eobp))
      (goto-char (point-min))
      (pi-transcript-tests--delta session "text_delta" "two\n")
      (should (bobp))
      (goto-char (point-max))
      (push-mark (point-min) t t)
      (setq mark-active t)
      (pi-transcript-tests--delta session "text_delta" "three\n")
      (should-not (eobp))
      (should mark-active)
      (setq mark-active nil)
      (goto-char (point-max))
      (pi-transcript-tests--delta session "text_delta" "four\n")
      (should (eobp)))))

(ert-deftest pi-transcript-tests-fold ()
  "Blocks fold one by one and all at once."
  (pi-transcript-tests--with
    (pi-transcript-tests--call session "1" "read" nil "one\ntwo\n")
    (pi-transcript-tests--call session "2" "read" nil "three\nfour\n")
    (goto-char (point-min))
    (pi-toggle)
    (search-forward "two")
    (should (invisible-p (1- (point))))
    (search-forward "three")
    (should-not (invisible-p (1- (point))))
    (pi-toggle)
    (should (looking-at-p "\\* read"))
    (pi-toggle-all)
    (should-not (invisible-p (- (point-max) 1)))
    (should-not (invisible-p (+ (point-min) 14)))
    (pi-toggle-all)
    (should (invisible-p (- (point-max) 1)))))

(ert-deftest pi-transcript-tests-long-prompt ()
  "Of what the user said the first lines are seen."
  (pi-transcript-tests--with
    (pi-transcript-tests--tell
     session "message_end"
     :message (list :role "user" :content
                    (list (list :type "text" :text (pi-transcript-tests--lines 30)))))
    (goto-char (point-min))
    (search-forward "line 12")
    (should-not (invisible-p (1- (point))))
    (search-forward "line 13")
    (should (invisible-p (1- (point))))
    (goto-char (point-min))
    (pi-toggle)
    (should-not (invisible-p (1- (point-max))))))

(ert-deftest pi-transcript-tests-motion ()
  "From turn to turn and from call to call."
  (pi-transcript-tests--with
    (dolist (text '("first" "second"))
      (pi-transcript-tests--tell
       session "message_end"
       :message (list :role "user" :content (list (list :type "text" :text text))))
      (pi-transcript-tests--call session text "read" nil "x"))
    (goto-char (point-min))
    (pi-next-turn)
    (should (looking-at-p "> second"))
    (pi-next-call)
    (should (looking-at-p "\\* read"))
    (pi-previous-call)
    (pi-previous-turn)
    (should (looking-at-p "> first"))
    (should (equal (mapcar #'car (pi-transcript--index)) '("first" "second" "Calls")))))

(ert-deftest pi-transcript-tests-visit ()
  "From what is shown to the file that it names."
  (pi-transcript-tests--with
    (pi-tests--write (expand-file-name "a.txt" dir) "one\ntwo\nthree\n")
    (pi-transcript-tests--call session "1" "read" '(:path "a.txt" :offset 2) "x\n")
    (pi-transcript-tests--call session "2" "bash" nil "nothing:9 a.txt:3:2: warning\n")
    (save-window-excursion
      (switch-to-buffer (current-buffer))
      (goto-char (point-min))
      (pi-visit)
      (should (equal buffer-file-name (expand-file-name "a.txt" dir)))
      (should (looking-at-p "two"))
      (with-current-buffer (pi-session-buffer session)
        (goto-char (point-max))
        (goto-char (line-beginning-position))
        (pi-visit))
      (should (looking-at-p "hree")))))

(ert-deftest pi-transcript-tests-trim ()
  "The oldest turns go, whole ones."
  (pi-transcript-tests--with
    (let ((pi-transcript-max-bytes 4000))
      (dotimes (i 20)
        (pi-transcript-tests--tell
         session "message_end"
         :message (list :role "user" :content
                        (list (list :type "text" :text (format "turn %d" i)))))
        (pi-transcript-tests--delta session "text_delta" (make-string 300 ?x))
        (pi-transcript-tests--tell session "agent_end"))
      (should (<= (buffer-size) 4000))
      (should (string-match-p "\\`earlier turns…\n\n> turn [0-9]+\n" (buffer-string)))
      (should (string-search "> turn 19" (buffer-string)))
      (should-not (string-search "> turn 0\n" (buffer-string))))))

(ert-deftest pi-transcript-tests-trim-later ()
  "What the user reads is not taken away while that can be helped."
  (pi-transcript-tests--with
    (save-window-excursion
      (switch-to-buffer (current-buffer))
      (let ((pi-transcript-max-bytes 4000)
            (more (lambda ()
                    (pi-transcript-tests--delta session "text_delta"
                                                (pi-transcript-tests--lines 500))
                    (pi-transcript-tests--tell session "turn_end"))))
        (pi-transcript-tests--delta session "text_delta" "first words\n")
        (funcall more)
        (should-not (string-search "first words" (buffer-string)))
        (goto-char (point-min))
        (let ((inhibit-read-only t)) (erase-buffer))
        (pi-transcript-tests--delta session "text_delta" "first words\n")
        (goto-char (point-min))
        (pi-transcript-tests--delta session "text_delta"
                                    (pi-transcript-tests--lines 550))
        (pi-transcript-tests--tell session "turn_end")
        (should (> (buffer-size) 4000))
        (should (looking-at-p "first words"))
        (funcall more)
        (should-not (string-search "first words" (buffer-string)))))))

(ert-deftest pi-transcript-tests-markdown ()
  "Faces of complete text; tables are aligned, all other text stays."
  (with-temp-buffer
    (let ((text "# Title\n- a `code` *b*\n> quote\n[link](https://example.org) x\n"))
      (insert text)
      (pi-markdown-block (point-min) (point-max))
      (should (equal (buffer-substring-no-properties (point-min) (point-max)) text))
      (dolist (pair '(("Title" . pi-heading) ("code" . pi-code) ("\\*b" . italic)
                      ("quote" . italic)))
        (goto-char (point-min))
        (re-search-forward (car pair))
        (should (memq (cdr pair) (ensure-list (get-text-property (1- (point)) 'face)))))
      (search-forward "link")
      (should (button-at (1- (point))))
      ;; What is wrapped stays below its text.
      (dolist (pair '(("Title") ("code" . "  ") ("quote" . "> ")))
        (goto-char (point-min))
        (search-forward (car pair))
        (should (equal (cdr pair) (get-text-property (1- (point)) 'wrap-prefix))))))
  (with-temp-buffer
    (insert "| a | bb |\n|---|:-:|\n| long cell | ü |\nafter")
    (pi-markdown-block (point-min) (point-max))
    (should (equal (buffer-substring-no-properties (point-min) (point-max))
                   (concat "| a         | bb  |\n| --------- | --- |\n"
                           "| long cell | ü   |\nafter"))))
  ;; Whatever the text, it ends.
  (dolist (text '("```" "```c\nx" "```c\n" "|a|\n|-|" "`" "**" "# " "\n\n"))
    (with-temp-buffer
      (insert text)
      (with-timeout (5 (ert-fail text))
        (pi-markdown-block (point-min) (point-max))))))

(ert-deftest pi-transcript-tests-resume ()
  "A conversation is listed, resumed and shown again."
  (pi-tests--in-directory dir
    (let* ((pi-yolo t)
           (pi-model (pi-tests--turns
                      dir
                      (list (list :text "I look.")
                            (pi-tests--call "bash" :command "echo out; exit 3"))
                      (list (list :text "Done."))
                      (list (list :text "More."))))
           (session (pi-prompt "first words")))
      (pi-tests--ended)
      (pi-session-command session 'session-name :text "my name")
      (let ((shown (pi-tests--text session)))
        (pi-tests--wait (lambda () (equal (mapcar #'pi-list--label
                                                  (pi-list--sessions dir))
                                          '("my name"))))
        (save-window-excursion
          (pi-list-sessions)
          (should (equal (current-buffer) (get-buffer "*pi-sessions*")))
          ;; Open already: it is shown.
          (pi-list-resume)
          (should (eq (current-buffer) (pi-session-buffer session)))
          (pi-list-sessions)
          (pi-list-rename "my other name")
          (should (string-search " my other name\n" (buffer-string)))
          (with-current-buffer (pi-session-buffer session) (kill-buffer))
          ;; A name is not asked for in vain.
          (should-error (call-interactively #'pi-list-rename) :type 'user-error)
          (pi-list-sessions)
          (pi-list-resume)
          (let ((session pi-session--current))
            (pi-tests--wait (lambda () (string-search "Done." (pi-tests--text session))))
            (should (equal (pi-tests--text session) shown))
            (should (string-prefix-p " replay" pi-header--text))
            (setq pi-tests--events nil)
            (pi-session-send session "again")
            (pi-tests--ended)
            (should (string-suffix-p "> again\n\nMore." (pi-tests--text session)))
            (pi-redraw)
            (pi-tests--wait (lambda () (string-search "More." (pi-tests--text session))))
            (setq pi-tests--events nil)
            (pi-earlier-turns)
            (pi-tests--wait (lambda () (pi-tests--event "transcript")))
            (with-current-buffer (format "*pi-earlier: %s*" (pi-session-name session))
              (should (string-search "> first words" (buffer-string))))))))))

(ert-deftest pi-transcript-tests-resume-newest ()
  "The conversation that was used last goes on without a question."
  (pi-tests--in-directory dir
    (let ((pi-model (pi-tests--turns dir (list (list :text "Hello.")))))
      (dolist (text '("older" "newer"))
        (let* ((session (pi-prompt text))
               (file (pi-session-info session 'session-path)))
          (pi-tests--ended)
          (setq pi-tests--events nil)
          (kill-buffer (pi-session-buffer session))
          (when (equal text "older")
            (set-file-times file (time-subtract nil 60)))))
      (save-window-excursion
        (let ((current-prefix-arg '(4)))
          (call-interactively #'pi-resume))
        (let ((session pi-session--current))
          (pi-tests--wait (lambda ()
                            (string-search "> newer" (pi-tests--text session)))))))))

(ert-deftest pi-transcript-tests-header ()
  "The header line tells the state in words, the mode line that something is asked."
  (pi-transcript-tests--with
    (let ((global-mode-string nil))
      (should (string-search "ready" pi-header--text))
      ;; Nothing can be asked.
      (should (equal (substring-no-properties
                      (let ((copy (copy-sequence session)))
                        (setf (pi-session-model copy) '(:id ""))
                        (car (pi-header--parts copy))))
                     "no model"))
      (pi-transcript-tests--tell session "agent_start")
      (pi-transcript-tests--tell
       session "message_end"
       :message '(:role "assistant" :content nil :model "replay" :stopReason "stop"
                        :usage (:input 4000 :output 10 :cost (:total 0.125))))
      (pi-transcript-tests--tell session "tool_execution_start" :toolCallId "1"
                                 :toolName "bash")
      (pi-transcript-tests--tell session "queue_update" :followUp '("later"))
      (should (string-search "runs bash" pi-header--text))
      (should (string-search "ctx 4k" pi-header--text))
      (should (string-search "queue 1" pi-header--text))
      (should (string-match-p "\\$0\\.1[23]" pi-header--text))
      (let ((id (pi-question-add session :lines '("x") :function #'ignore)))
        (should (string-search "waits for you" pi-header--text))
        (should (member '(:eval pi-header--flag) global-mode-string))
        (should (string-search "!" pi-header--flag))
        (pi-question-withdraw session id)
        (should-not pi-header--flag)))))

(ert-deftest pi-transcript-tests-numbers ()
  "One conversation for a project, and more when they are wanted."
  (pi-tests--in-directory dir
    (let* ((pi-model (pi-tests--turns dir (list (list :text "Hello."))))
           (first (pi--session-here))
           (name (file-name-nondirectory (directory-file-name dir))))
      (should (eq first (pi--session-here)))
      (save-window-excursion
        (pi-new)
        (should (equal (buffer-name) (format "*pi: %s<2>*" name)))
        (should-not (eq first pi-session--current))))))

(ert-deftest pi-transcript-tests-append-is-quick ()
  "Growing does not become slow: twice the text takes no longer for a piece."
  (pi-transcript-tests--with
    (let ((inhibit-read-only t))
      (insert (pi-transcript-tests--lines 10000)))
    (goto-char (point-max))
    (let ((steps (benchmark-run 50
                   (pi-transcript-tests--delta session "text_delta" "some words\n"))))
      (message "append to 10 000 lines: %.2f ms" (* 20 (car steps)))
      (should (< (car steps) 2.5)))))

(ert-deftest pi-transcript-tests-idle ()
  "An agent that does nothing leaves no timer behind."
  (pi-tests--in-directory dir
    (let* ((before (length timer-list))
           (pi-model (pi-tests--turns dir (list (list :text "Some `code`."))))
           (session (pi-prompt "x")))
      (pi-tests--ended)
      (pi-tests--wait (lambda () (<= (length timer-list) before)))
      (should-not (pi-session-timer session)))))

(ert-deftest pi-transcript-tests-bookmark ()
  "A bookmark leads back into the conversation, open or not."
  (pi-tests--in-directory dir
    (let* ((bookmark-alist nil)
           (bookmark-save-flag nil)
           (pi-model (pi-tests--turns dir (list (list :text "Hello."))))
           (session (pi-prompt "x")))
      (pi-tests--ended)
      (with-current-buffer (pi-session-buffer session)
        (bookmark-set "here"))
      (save-window-excursion
        (bookmark-jump "here")
        (should (eq (current-buffer) (pi-session-buffer session)))
        (kill-buffer)
        (bookmark-jump "here")
        (should-not (eq pi-session--current session))
        (let ((session pi-session--current))
          (pi-tests--wait (lambda ()
                            (string-search "Hello." (pi-tests--text session)))))))))

(ert-deftest pi-transcript-tests-model ()
  "Models are listed and chosen, levels are set, and the header line tells."
  (pi-transcript-tests--with
    (should (> (length (pi--model-choices
                        (progn (pi-session-command session 'list-models)
                               (plist-get (pi--wait-for session "model_list") :models))))
               5))
    (pi-select-model (pi-tests--turns dir (list (list :text "Other."))))
    (pi-session-send session "x")
    (pi-tests--ended)
    (should (string-search "replay" pi-header--text))
    (pi-select-thinking "high")
    ;; This model does not.
    (pi-tests--wait (lambda () (string-search "does not think" (buffer-string))))
    (pi-rename-session "a name")
    (should (equal (pi-session-title session) "a name"))))

(ert-deftest pi-transcript-tests-report ()
  "The report tells versions and state."
  (pi-transcript-tests--with
    (pi-report)
    (with-current-buffer "*pi-report*"
      (should (string-search pi-version (buffer-string)))
      (should (string-search "state: ready" (buffer-string))))))

(ert-deftest pi-transcript-tests-notify ()
  "The end of long work is told when nobody looks."
  (pi-transcript-tests--with
    (let* (told focused
           (noninteractive nil)
           (pi-notify-function (lambda (&rest words) (push words told))))
      (cl-letf (((symbol-function 'pi-header--focused-p) (lambda () focused)))
        (pi-transcript-tests--tell session "agent_start")
        (pi-transcript-tests--tell session "agent_end")
        (should-not told)
        (pi-transcript-tests--tell session "agent_start")
        (setf (pi-session-since session) (- (float-time) 60))
        (setq focused t)
        (pi-transcript-tests--tell session "agent_end")
        (should-not told)
        (setq focused nil)
        (pi-transcript-tests--tell session "agent_end")
        (should (= (length told) 1))
        (pi-question-add session :lines '("Really?") :function #'ignore)
        (should (equal (cadr (car told)) "Really?"))))))

(ert-deftest pi-transcript-tests-back-from-elsewhere ()
  "To go back from a buffer of no conversation is refused with the reason."
  (with-temp-buffer
    (should (string-search "no conversation"
                           (cadr (should-error (pi-back) :type 'user-error))))))

(ert-deftest pi-transcript-tests-menu ()
  "The menu names commands only."
  (require 'pi-menu)
  (should (commandp 'pi-menu))
  (should (commandp 'pi-menu-show))
  (dolist (map (list pi-command-map pi-session-mode-map pi-compose-mode-map))
    (map-keymap (lambda (_ command)
                  (when (and (symbolp command) (string-prefix-p "pi" (symbol-name command)))
                    (should (commandp command))))
                map)))

(ert-deftest pi-transcript-tests-abort-asks ()
  "The abort of a long command asks; that of anything else does not."
  (pi-transcript-tests--with
    (should-error (pi-abort) :type 'user-error)
    (setf (pi-session-running session) t)
    (puthash "1" (list :tool "bash" :since (- (float-time) 60)) (pi-session-calls session))
    (let (asked aborted)
      (cl-letf (((symbol-function 'y-or-n-p) (lambda (text) (setq asked text) nil))
                ((symbol-function 'pi-session-abort) (lambda (&rest _) (setq aborted t))))
        (pi-abort)
        (should (string-match-p "60 s" asked))
        (should-not aborted)
        (clrhash (pi-session-calls session))
        (setq asked nil)
        (pi-abort)
        (should aborted)
        (should-not asked)))))

(provide 'pi-transcript-tests)
;;; pi-transcript-tests.el ends here
