;;; pi-questions.el --- Questions that wait for the user  -*- lexical-binding: t; -*-

;; SPDX-License-Identifier: MIT

;;; Commentary:

;; The agent asks before it runs a command or changes something, and Emacs has questions
;; of its own.  All of them stand in the transcript, where they are answered by keys,
;; whenever the user likes.  Emacs never waits for an answer and asks nothing in the
;; minibuffer.  `pi-answer' goes to the oldest question from anywhere.

;;; Code:

(require 'cl-lib)
(require 'pi-render)
(require 'pi-session)
(require 'subr-x)

(declare-function pi-module--answer-permission "ext:pi-module"
                  (agent id answer &optional reason))

(defcustom pi-question-functions nil
  "Functions called with a session and a question, a `pi-question', that is new."
  :type 'hook
  :group 'pi
  :package-version '(pi . "0.1.0"))

(defcustom pi-question-diff-lines 40
  "How many lines of a change are shown with the question about it."
  :type 'natnum
  :group 'pi
  :package-version '(pi . "0.1.0"))

(cl-defstruct (pi-question (:constructor pi-question--make) (:copier nil))
  "A question."
  id
  session
  call                                  ; toolCallId: the question dies with the call
  lines diff
  answers                               ; of once, session, deny
  means                                 ; what the answer session would allow
  function)                             ; called with an answer and a reason or nil

(defvar pi-question--last-id 0
  "The number of the last question that Emacs itself asked.")

(defconst pi-question--keys
  '((once "y" "once" pi-session-allow)
    (session "!" "always" pi-session-always)
    (deny "N" "no" pi-session-deny))
  "Answer, its key, its word and its command.")

(defvar pi-question--change-hook nil
  "Hook run when there is a question more or less.")

(defvar pi-question--new-functions nil
  "What this program itself does with a session and a new question.")

(defun pi-question-add (session &rest fields)
  "Ask something in SESSION and return the question's id.
FIELDS is a plist: :lines, strings to be shown; :diff, a unified diff;
:answers, of `once', `session' and `deny' (the default is once and deny);
:means, what `session' would allow; :function, called with the answer and a
reason or nil; :call, the id of the tool call that is asked about.
:function is not called for a question that is withdrawn."
  (let* ((id (or (plist-get fields :id)
                 (format "emacs-%d" (cl-incf pi-question--last-id))))
         (question (pi-question--make
                    :id id :session session
                    :call (plist-get fields :call)
                    :lines (plist-get fields :lines)
                    :diff (plist-get fields :diff)
                    :answers (or (plist-get fields :answers) '(once deny))
                    :means (plist-get fields :means)
                    :function (plist-get fields :function))))
    (setf (pi-session-questions session)
          (append (pi-session-questions session) (list question)))
    (pi-render-in session (pi-question--draw question))
    (pi-session--run-hook session 'pi-question--new-functions session question)
    (pi-session--run-hook session 'pi-question-functions session question)
    (run-hooks 'pi-question--change-hook)
    id))

(defun pi-question--find (session id)
  "The question ID of SESSION that waits, or nil."
  (seq-find (lambda (question) (equal (pi-question-id question) id))
            (pi-session-questions session)))

(defun pi-question-withdraw (session id &optional outcome)
  "Nobody waits any more for the answer to question ID of SESSION.
OUTCOME says why, \"withdrawn\" if nil."
  (let ((question (pi-question--find session id)))
    (when question
      (pi-question--end question (or outcome "withdrawn")))))

(defun pi-question--end (question outcome)
  "QUESTION waits no more; OUTCOME, a word, says why."
  (let ((session (pi-question-session question)))
    (setf (pi-session-questions session)
          (delq question (pi-session-questions session)))
    (pi-render-in session (pi-question--draw-end question outcome))
    (run-hooks 'pi-question--change-hook)))

;;; Drawing

(defun pi-question--draw (question)
  "Append QUESTION with the answers that it offers."
  (let ((block (pi-render-block-make :kind 'question :id (pi-question-id question))))
    (pi-render-append block "? " 'pi-question)
    (pi-render-insert block (string-join (pi-question-lines question) "\n  ")
                      'pi-question 'wrap-prefix "  ")
    (when (pi-question-diff question)
      (pi-question--draw-diff block (pi-question-diff question)))
    (pi-render-insert block "\n  " 'pi-question)
    (let ((begin (point))
          (first t))
      (dolist (answer (pi-question-answers question))
        (unless first (pi-render-insert block "   " 'pi-question))
        (setq first nil)
        (pi-question--draw-answer block question answer))
      (add-text-properties begin (point) (list 'pi-answers (pi-question-id question)
                                               'wrap-prefix "  ")))))

(defun pi-question--draw-diff (block diff)
  "Insert DIFF, a unified one, into BLOCK."
  (let ((begin (1+ (point)))
        (more (- (pi-render--lines diff) pi-question-diff-lines)))
    (pi-render-insert
     block
     (concat "\n" (string-trim-right
                   (pi-render--cut diff (if (< more 2) most-positive-fixnum
                                          pi-question-diff-lines)
                                   pi-output-columns nil)
                   "\n+"))
     nil 'line-prefix "  " 'wrap-prefix "  ")
    (let ((end (point-marker)))
      (goto-char begin)
      (while (re-search-forward "^\\([-+@]\\).*" end t)
        (put-text-property (match-beginning 0) (match-end 0) 'face
                           (pcase (char-after (match-beginning 1))
                             (?+ 'diff-added) (?- 'diff-removed)
                             (_ 'diff-hunk-header))))
      (goto-char end)
      (set-marker end nil))
    (when (>= more 2)
      (pi-render-insert block (format "\n  %s %d more lines" (pi-render-dots) more) 'pi-meta))))

(defun pi-question--draw-answer (block question answer)
  "Insert a button of BLOCK that gives ANSWER to QUESTION."
  (pcase-let ((`(,key ,word ,_) (cdr (assq answer pi-question--keys))))
    (insert-text-button
     (concat key " " word
             (if (and (eq answer 'session) (pi-question-means question))
                 (format " (%s)" (pi-question-means question))
               ""))
     'face 'button 'follow-link t 'pi-block block
     'help-echo (format "Type %s on this line, or RET here" key)
     'action (lambda (_) (pi-question-answer question answer)))))

(defun pi-question--draw-end (question outcome)
  "Write OUTCOME where the answers of QUESTION are."
  (let ((end (pi-question--place question)))
    (when end
      (let ((begin (or (previous-single-property-change end 'pi-answers) (point-min)))
            (block (get-text-property (1- end) 'pi-block)))
        (delete-region begin end)
        (goto-char begin)
        (pi-render-insert block (concat "[" outcome "]")
                          (if (equal outcome "allowed") 'pi-tool-ok 'pi-meta))))))

(defun pi-question--place (question)
  "The end of the answers of QUESTION in the current buffer, or nil."
  (let ((id (pi-question-id question))
        (end (point-max)))
    (while (and end (> end (point-min))
                (not (equal (get-text-property (1- end) 'pi-answers) id)))
      (setq end (previous-single-property-change end 'pi-answers)))
    (and end (> end (point-min)) end)))

;;; Answers

(defun pi-question-answer (question answer &optional reason)
  "Give ANSWER, and perhaps a REASON, to QUESTION."
  (let ((session (pi-question-session question)))
    (unless (memq question (pi-session-questions session))
      (user-error "This was answered, or nobody waits for it any more"))
    (unless (memq answer (pi-question-answers question))
      (user-error "This answer is not offered"))
    (unless (pi-question--from-agent question)
      (pi-question--end question (if (eq answer 'deny) "denied" "allowed")))
    (funcall (pi-question-function question) answer reason)))

(defun pi-question--from-agent (question)
  "Whether the agent asked QUESTION; then it says itself when it is over."
  (not (string-prefix-p "emacs-" (pi-question-id question))))

(defun pi-question-at-point ()
  "The question that waits at point in the current transcript, or nil."
  (let ((block (or (get-text-property (point) 'pi-block)
                   (and (> (point) (point-min))
                        (get-text-property (1- (point)) 'pi-block)))))
    (and block pi-session--current
         (eq (pi-render-block-kind block) 'question)
         (pi-question--find pi-session--current (pi-render-block-id block)))))

(defun pi-question--command (answer &optional reason)
  "Give ANSWER and REASON to the question at point."
  (unless (and pi-session--current (pi-session-questions pi-session--current))
    (user-error "Nothing is asked"))
  (let* ((question (or (pi-question-at-point)
                       (user-error
                        "No question here; `pi-answer' goes to the oldest one")))
         (last (eql (pi-question--place question) (point-max))))
    (pi-question-answer question answer reason)
    ;; Who has answered the last word sees what comes next.
    (when last (goto-char (point-max)))))

(defun pi-session-allow ()
  "Allow what the question at point asks, this once."
  (interactive)
  (pi-question--command 'once))

(defun pi-session-always ()
  "Allow what the question at point asks for the rest of the session."
  (interactive)
  (pi-question--command 'session))

(defun pi-session-deny (&optional reason)
  "Do not allow what the question at point asks.
With a prefix argument read a REASON for the model."
  (interactive (list (and current-prefix-arg (read-string "Why not? "))))
  (pi-question--command 'deny reason))

(defun pi-question-oldest ()
  "The oldest question of all sessions, or nil."
  (seq-some (lambda (session) (car (pi-session-questions session)))
            (reverse pi-session--all)))

(defun pi-answer ()
  "Go to the oldest question that waits, in the transcript that shows it."
  (interactive)
  (let ((question (or (and pi-session--current
                           (car (pi-session-questions pi-session--current)))
                      (pi-question-oldest)
                      (user-error "Nothing is asked"))))
    (pop-to-buffer (pi-session-buffer (pi-question-session question)))
    (let ((end (pi-question--place question)))
      (when end
        (goto-char end)
        (goto-char (or (previous-single-property-change end 'pi-answers)
                       (point-min)))))))

;;; The agent's questions

(defun pi-question--on-request (session event)
  "Show the question EVENT of SESSION's agent."
  (let ((id (plist-get event :id)))
    (pi-question-add
     session :id id
     :call (plist-get event :toolCallId)
     :lines (let ((default-directory (pi-session-directory session)))
              (pi-question--words event))
     :diff (plist-get event :diff)
     :answers (mapcar #'intern (plist-get event :answers))
     :means (plist-get event :sessionMeans)
     :function (lambda (answer reason)
                 (pi-module--answer-permission
                  (pi-session--agent session) (pi-session--bytes id) answer
                  (and reason (pi-session--bytes reason)))))))

(defun pi-question--short (path)
  "PATH as it is shown in the current transcript."
  (if (file-in-directory-p path default-directory)
      (file-relative-name path default-directory)
    (abbreviate-file-name path)))

(defun pi-question--words (event)
  "The lines that ask what EVENT wants to know."
  (let ((tool (plist-get event :toolName))
        (path (and (plist-get event :path)
                   (pi-question--short (plist-get event :path))))
        (command (plist-get event :command)))
    (cond ((plist-get event :diff) (list (format "May %s make this change of %s?" tool path)))
          (command (cons (format "May %s run this?" tool)
                         (split-string (pi-render--cut command 20 pi-output-columns nil)
                                       "\n" t)))
          (path (list (format "May %s %s %s?" tool
                              (if (equal (plist-get event :effect) "change")
                                  "change" "use")
                              path)))
          (t (list (format "May %s run?" tool))))))

(defun pi-question--on-end (session event)
  "The agent of SESSION no longer asks what EVENT names."
  (pi-question-withdraw session (plist-get event :id) (plist-get event :outcome)))

(defun pi-question--on-call-end (session event)
  "Withdraw what was asked in SESSION about the call of EVENT."
  (dolist (question (copy-sequence (pi-session-questions session)))
    (when (and (pi-question-call question)
               (equal (pi-question-call question) (plist-get event :toolCallId)))
      (pi-question--end question "withdrawn"))))

(defun pi-question--on-agent-end (session _event)
  "Withdraw what was asked in SESSION about calls."
  (dolist (question (copy-sequence (pi-session-questions session)))
    (when (pi-question-call question)
      (pi-question--end question "withdrawn"))))

(defun pi-question--on-session-end (session)
  "Withdraw all that SESSION asks."
  (dolist (question (copy-sequence (pi-session-questions session)))
    (pi-question--end question "withdrawn")))

(add-hook 'pi-session-end-functions #'pi-question--on-session-end)
(pi-session-on "permission_request" #'pi-question--on-request)
(pi-session-on "permission_end" #'pi-question--on-end)
(pi-session-on "tool_execution_end" #'pi-question--on-call-end)
(pi-session-on "agent_end" #'pi-question--on-agent-end)

(provide 'pi-questions)
;;; pi-questions.el ends here
