;;; pi-session.el --- A conversation and its buffer  -*- lexical-binding: t; -*-

;; SPDX-License-Identifier: MIT

;;; Commentary:

;; A session is one agent and the buffer that shows its conversation.  The agent works on
;; threads of its own.  One byte through a pipe process, the same for all sessions, says
;; that it has something; then it is drained in small portions: events are drawn, and
;; requests for buffers are served and answered.

;;; Code:

(require 'cl-lib)
(require 'pi-buffer)
(require 'pi-module)

(declare-function pi-module--create "ext:pi-module" (pipe options))
(declare-function pi-module--destroy "ext:pi-module" (agent))
(declare-function pi-module--prompt "ext:pi-module" (agent text delivery))
(declare-function pi-module--abort "ext:pi-module" (agent))
(declare-function pi-module--drain "ext:pi-module" (agent bytes ms))
(declare-function pi-module--answer-host "ext:pi-module" (agent id status fields))
(declare-function pi-module--answer-permission "ext:pi-module"
                  (agent id answer &optional reason))

(defcustom pi-output-lines 10
  "How many lines of a command's output are shown, the newest ones."
  :type 'natnum
  :group 'pi
  :package-version '(pi . "0.1.0"))

(defcustom pi-output-columns 500
  "Where lines of output are cut: long lines are slow to display."
  :type 'natnum
  :group 'pi
  :package-version '(pi . "0.1.0"))

(defface pi-user '((t :inherit font-lock-keyword-face))
  "What the user said."
  :group 'pi)
(defface pi-thinking '((t :inherit shadow))
  "What the model thought."
  :group 'pi)
(defface pi-tool '((t :inherit font-lock-function-name-face))
  "The title of a tool call."
  :group 'pi)
(defface pi-meta '((t :inherit shadow))
  "Remarks about the conversation."
  :group 'pi)
(defface pi-error '((t :inherit error))
  "What went wrong."
  :group 'pi)
(defface pi-question '((t :inherit warning))
  "A question that waits for the user."
  :group 'pi)

;; One drain takes no more than this, so that keys are served between two of them.
(defconst pi-session--bytes 65536)
(defconst pi-session--milliseconds 8)

;; A change of a buffer does not come between what a command does before and after a wait.
(defconst pi-session--defer-seconds 0.05)

(cl-defstruct (pi-session (:constructor pi-session--make) (:copier nil))
  "A conversation."
  agent                                 ; of the module; nil once it has ended
  buffer
  directory
  running                               ; between agent_start and agent_end
  kind                                  ; of the text that was inserted last
  calls                                 ; toolCallId -> pi-session--place
  questions                             ; ids that wait, oldest first
  requests                              ; for buffers, not served yet, oldest first
  timer)                                ; that will drain or serve

(cl-defstruct (pi-session--place (:constructor pi-session--place-make) (:copier nil))
  "The place of a tool call in the buffer."
  begin                                 ; end of the title, where the output begins
  end                                   ; of the output
  pending)                              ; line end to come before more output

(defvar pi-session--all nil
  "The sessions that have an agent.")

(defvar pi-session--pipe nil
  "The pipe process through which agents wake Emacs.")

(defvar-local pi-session--current nil
  "The session of this buffer.")

;;; The agent

(defun pi-session--pipe ()
  "The pipe process, made when needed."
  (unless (process-live-p pi-session--pipe)
    ;; Adaptive buffering would delay each wake-up by 50 ms.
    (let ((process-adaptive-read-buffering nil))
      (setq pi-session--pipe
            (make-pipe-process :name "pi" :buffer nil :noquery t :coding 'binary
                               :filter #'pi-session--wake)))
    (set-process-thread pi-session--pipe nil))
  pi-session--pipe)

(defun pi-session--wake (_process _byte)
  "Some agent has something."
  (mapc #'pi-session--drain pi-session--all))

(defun pi-session--bytes (text)
  "TEXT for the module."
  (encode-coding-string text 'utf-8-unix))

(defun pi-session--environment ()
  "The environment of the current buffer's commands, for the module."
  (let (names result)
    (dolist (entry process-environment (vconcat (nreverse result)))
      (let ((name (car (split-string entry "="))))
        ;; The first entry counts; one without = says that the variable is not set.
        (unless (member name names)
          (push name names)
          (when (string-search "=" entry)
            (push (pi-session--bytes entry) result)))))))

(defun pi-session--options (directory options)
  "The vector for `pi-module--create': OPTIONS, a plist, and DIRECTORY."
  (let ((all (append (list :cwd (directory-file-name (expand-file-name directory))
                           :environment (pi-session--environment))
                     options)))
    (vconcat (mapcar (lambda (value)
                       (if (stringp value) (pi-session--bytes value) value))
                     all))))

(defun pi-session-create (directory &optional options)
  "Start a session in DIRECTORY and return it.
OPTIONS is a plist for the module, for instance (:model \"replay:FILE\")."
  (when (file-remote-p directory)
    (user-error "Pi works on this machine only, and %s is remote" directory))
  (pi-module-load)
  (let* ((name (file-name-nondirectory (directory-file-name directory)))
         (session (pi-session--make :directory directory
                                    :calls (make-hash-table :test #'equal))))
    (setf (pi-session-agent session)
          (pi-module--create (pi-session--pipe)
                             (pi-session--options directory options)))
    (push session pi-session--all)
    (add-hook 'kill-emacs-hook #'pi-session-end-all)
    (with-current-buffer (generate-new-buffer (format "*pi: %s*" name))
      (pi-session-mode)
      (setq default-directory (file-name-as-directory directory)
            pi-session--current session)
      (setf (pi-session-buffer session) (current-buffer)))
    (pi-session--drain session)
    session))

(defun pi-session-end (session)
  "End SESSION's agent and all that it started; its buffer stays."
  (let ((agent (pi-session-agent session)))
    (setf (pi-session-agent session) nil
          (pi-session-running session) nil
          (pi-session-requests session) nil)
    (setq pi-session--all (delq session pi-session--all))
    (when (timerp (pi-session-timer session))
      (cancel-timer (pi-session-timer session)))
    (when agent
      (pi-module--destroy agent))))

(defun pi-session-end-all ()
  "End all sessions."
  (mapc #'pi-session-end (copy-sequence pi-session--all)))

(defun pi-session-send (session text &optional delivery)
  "Send TEXT to SESSION.
While the agent works DELIVERY decides: `steer' comes before the next
request to the model, `follow-up' (the default) when the work is done."
  (pi-module--prompt (pi-session--agent session) (pi-session--bytes text)
                     (or delivery 'follow-up)))

(defun pi-session--agent (session)
  "The agent of SESSION, or an error."
  (or (and session (pi-session-agent session))
      (user-error "This conversation has ended")))

;;; Draining

(defun pi-session--later (session seconds)
  "Drain SESSION in SECONDS, once."
  (unless (pi-session-timer session)
    (setf (pi-session-timer session)
          (run-at-time seconds nil
                       (lambda ()
                         (setf (pi-session-timer session) nil)
                         (pi-session--drain session))))))

(defun pi-session--drain (session)
  "Take what SESSION's agent has to say, up to a budget."
  (when (pi-session-agent session)
    (pcase-let ((`(,state . ,items)
                 (pi-module--drain (pi-session-agent session) pi-session--bytes
                                   pi-session--milliseconds)))
      (pi-session--draw session (seq-filter #'stringp items))
      (dolist (item items)
        (unless (stringp item)
          (pi-session--request session item)))
      (pi-session--serve session)
      (when (eq state 'more)
        (pi-session--later session 0)))))

(defun pi-session--request (session item)
  "Note the request ITEM, or forget one that is withdrawn."
  (setf (pi-session-requests session)
        (if (eq (car item) 'withdraw)
            (cl-remove (cadr item) (pi-session-requests session) :key #'cadr)
          (append (pi-session-requests session) (list item)))))

(defvar pi-session--serving nil
  "Non-nil while a request is served; hooks that run then may wait, too.")

(defun pi-session--serve (session)
  "Serve the requests of SESSION for buffers.
Not while a command waits for something, or another request is served: a
buffer may be in the middle of being saved."
  (if (and (or this-command pi-session--serving) (pi-session-requests session))
      (pi-session--later session pi-session--defer-seconds)
    (while (pi-session-requests session)
      (pcase-let* ((`(,op ,id ,path ,version ,changes)
                    (pop (pi-session-requests session)))
                   (`(,status . ,fields)
                    (let ((pi-session--serving t))
                      (pi-buffer-serve op path version changes))))
        (when (pi-session-agent session)
          (pi-module--answer-host (pi-session-agent session) id status
                                  (or fields [])))))))

(defun pi-session--parse (json)
  "The event in the unibyte string JSON as a plist."
  (json-parse-string (decode-coding-string json 'utf-8-unix)
                     :object-type 'plist :array-type 'list
                     :null-object nil :false-object nil))

(defun pi-session--draw (session events)
  "Show EVENTS, JSON texts, in the buffer of SESSION."
  (when (and events (buffer-live-p (pi-session-buffer session)))
    (with-current-buffer (pi-session-buffer session)
      (let ((followers (pi-session--followers))
            (inhibit-read-only t)
            (inhibit-modification-hooks t))
        (save-excursion
          (dolist (json events)
            (condition-case err
                (pi-session--event session (pi-session--parse json))
              (error
               (pi-session--insert session 'meta (error-message-string err)
                                   'pi-error)))))
        (dolist (window followers)
          (if (windowp window)
              (set-window-point window (point-max))
            (goto-char (point-max))))))))

(defun pi-session--followers ()
  "The windows that show the end of the current buffer, and t if point is there."
  (append (and (eobp) (list t))
          (seq-filter (lambda (window) (= (window-point window) (point-max)))
                      (get-buffer-window-list nil nil t))))

;;; Drawing

(defun pi-session--insert (session kind text &optional face)
  "Append TEXT in FACE; KIND tells a continuation from something new."
  (goto-char (point-max))
  (unless (or (eq kind (pi-session-kind session)) (bobp))
    (unless (bolp) (insert "\n"))
    (insert "\n"))
  (setf (pi-session-kind session) kind)
  (insert (if face (propertize text 'face face) text)))

(defun pi-session--line (session text face)
  "Append TEXT as something of its own."
  (setf (pi-session-kind session) nil)
  (pi-session--insert session 'line text face))

(defun pi-session--event (session event)
  "Show EVENT, a plist, in the current buffer."
  (pcase (plist-get event :type)
    ("agent_start" (setf (pi-session-running session) t))
    ("agent_end" (setf (pi-session-running session) nil
                       (pi-session-kind session) nil))
    ("message_update" (pi-session--delta session (plist-get event :assistantMessageEvent)))
    ("message_end" (pi-session--message session (plist-get event :message)))
    ("tool_execution_start" (pi-session--call-start session event))
    ("tool_execution_update" (pi-session--call-output session event))
    ("tool_execution_end" (pi-session--call-end session event))
    ("file_changed" (pi-session--file-changed event))
    ("permission_request" (pi-session--question session event))
    ("permission_end" (pi-session--question-end session event))
    ("auto_retry_start" (pi-session--line session (plist-get event :message) 'pi-meta))
    ("notice" (pi-session--line session (plist-get event :message)
                                (if (equal (plist-get event :level) "error")
                                    'pi-error 'pi-meta)))))

(defun pi-session--delta (session event)
  "Show a piece of the model's answer."
  (pcase (plist-get event :type)
    ("text_delta" (pi-session--insert session 'text (plist-get event :delta)))
    ("thinking_delta" (pi-session--insert session 'thinking (plist-get event :delta)
                                          'pi-thinking))
    ;; Two blocks of one kind are two paragraphs.
    ((or "text_end" "thinking_end") (setf (pi-session-kind session) nil))))

(defun pi-session--message (session message)
  "Show what of a finished MESSAGE has not been seen in pieces."
  (pcase (plist-get message :role)
    ("user" (pi-session--line session (pi-session--text (plist-get message :content))
                              'pi-user))
    ("assistant" (when (plist-get message :errorMessage)
                   (pi-session--line session (plist-get message :errorMessage)
                                     'pi-error)))))

(defun pi-session--call-start (session event)
  "Show the title of a tool call; its output will come behind it."
  (pi-session--line session (or (plist-get event :title) (plist-get event :toolName))
                    'pi-tool)
  (puthash (plist-get event :toolCallId)
           (pi-session--place-make :begin (copy-marker (point))
                                   :end (copy-marker (point))
                                   :pending "\n")
           (pi-session-calls session)))

(defun pi-session--tail (text)
  "The last lines of TEXT, as many as are shown."
  (let ((lines (1+ pi-output-lines))
        (at (length text)))
    (while (and at (> lines 0))
      (setq at (cl-position ?\n text :end at :from-end t)
            lines (1- lines)))
    (if at (substring text at) text)))

(defun pi-session--add-output (place text)
  "Add TEXT to the output at PLACE and leave its last lines.
Lines that are too long are cut.  The last line end is held back, so that
what follows need not know whether there was one."
  (let* ((all (concat (pi-session--place-pending place) text))
         (ended (string-suffix-p "\n" all))
         (begin (pi-session--place-begin place)))
    (setf (pi-session--place-pending place) (if ended "\n" ""))
    (goto-char (pi-session--place-end place))
    (insert (pi-session--tail (if ended (substring all 0 -1) all)))
    (set-marker (pi-session--place-end place) (point))
    (save-restriction
      (narrow-to-region begin (point))
      (forward-line (- 1 pi-output-lines))
      (unless (bobp)
        (delete-region (1+ (point-min)) (point)))
      (while (not (eobp))
        (move-to-column pi-output-columns)
        (delete-region (point) (line-end-position))
        (forward-line 1)))))

(defun pi-session--call-output (session event)
  "Show new output of a tool call."
  (let ((place (gethash (plist-get event :toolCallId) (pi-session-calls session))))
    (when place
      (pi-session--add-output place (plist-get event :delta)))))

(defun pi-session--text (blocks)
  "The text in BLOCKS, the content of a message or result."
  (mapconcat (lambda (block) (or (plist-get block :text) "")) blocks ""))

(defun pi-session--call-end (session event)
  "Show how a tool call ended: of a failure what the model is told."
  (let ((place (gethash (plist-get event :toolCallId) (pi-session-calls session))))
    (when (and place (plist-get event :isError))
      (delete-region (pi-session--place-begin place) (pi-session--place-end place))
      (setf (pi-session--place-pending place) "\n")
      (pi-session--add-output
       place (pi-session--text (plist-get (plist-get event :result) :content)))
      (goto-char (pi-session--place-begin place))
      (insert (propertize " failed" 'face 'pi-error)))
    (remhash (plist-get event :toolCallId) (pi-session-calls session))))

(defun pi-session--file-changed (event)
  "Read a file again that was changed on disk and that a buffer visits."
  (unless (plist-get event :inEditor)
    (let ((buffer (pi-buffer-visiting (plist-get event :path))))
      (when buffer
        (pi-buffer-refresh buffer)))))

;;; Questions

(defun pi-session--question (session event)
  "Show a question; it is answered by keys, whenever the user likes."
  (setf (pi-session-questions session)
        (append (pi-session-questions session) (list (plist-get event :id))))
  (pi-session--line session
                    (format "May %s go on?  %s\ny once, ! always (%s), N no"
                            (plist-get event :toolName)
                            (or (plist-get event :command) (plist-get event :path) "")
                            (plist-get event :sessionMeans))
                    'pi-question))

(defun pi-session--question-end (session event)
  "A question was answered, or nobody waits for the answer any more."
  (setf (pi-session-questions session)
        (delete (plist-get event :id) (pi-session-questions session)))
  (pi-session--line session (plist-get event :outcome) 'pi-meta))

(defun pi-session--answer (answer)
  "Give ANSWER to the oldest question of the current buffer."
  (let* ((session pi-session--current)
         (agent (pi-session--agent session))
         (id (or (car (pi-session-questions session))
                 (user-error "Nothing is asked"))))
    (pi-module--answer-permission agent (pi-session--bytes id) answer)))

(defun pi-session-allow ()
  "Allow what the oldest question asks, this once."
  (interactive)
  (pi-session--answer 'once))

(defun pi-session-always ()
  "Allow what the oldest question asks for the rest of the session."
  (interactive)
  (pi-session--answer 'session))

(defun pi-session-deny ()
  "Do not allow what the oldest question asks."
  (interactive)
  (pi-session--answer 'deny))

(defun pi-session-abort ()
  "Stop what the agent of this buffer does; the conversation stays."
  (interactive)
  (pi-module--abort (pi-session--agent pi-session--current)))

;;; The mode

(defvar pi-session-mode-map
  (let ((map (make-sparse-keymap)))
    (define-key map (kbd "y") #'pi-session-allow)
    (define-key map (kbd "!") #'pi-session-always)
    (define-key map (kbd "N") #'pi-session-deny)
    (define-key map (kbd "C-c C-k") #'pi-session-abort)
    map)
  "Keys of `pi-session-mode'.")

(define-derived-mode pi-session-mode special-mode "Pi"
  "The conversation with an agent.
\\{pi-session-mode-map}"
  (buffer-disable-undo)
  (setq bidi-paragraph-direction 'left-to-right)
  (setq-local bidi-inhibit-bpa t)
  (add-hook 'kill-buffer-hook #'pi-session--buffer-killed nil t))

(defun pi-session--buffer-killed ()
  "End the session of a buffer that is killed."
  (when pi-session--current
    (pi-session-end pi-session--current)))

(provide 'pi-session)
;;; pi-session.el ends here
