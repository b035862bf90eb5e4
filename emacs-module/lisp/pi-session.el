;;; pi-session.el --- A conversation with an agent  -*- lexical-binding: t; -*-

;; SPDX-License-Identifier: MIT

;;; Commentary:

;; A session is one agent and the buffer that shows its conversation.  The agent works on
;; threads of its own.  One byte through a pipe process, the same for all sessions, says
;; that it has something; then it is drained in small portions: events are handed to
;; those who subscribed with `pi-session-on' and to `pi-session-event-functions', and
;; requests are served and answered.
;;
;; A request is served by
;;   `pi-buffer-serve' OP PATH VERSION CHANGES, which returns (STATUS . FIELDS),
;;   `pi-tool-serve' SESSION ID TOOL ARGUMENTS DIRECTORY, for a tool that Emacs added, and
;;   `pi-save-before-command' SESSION ID COMMAND DIRECTORY,
;; ARGUMENTS and COMMAND being text.  The last two return (STATUS . FIELDS) or nil, and
;; after nil they answer later with `pi-session-answer'.

;;; Code:

(require 'cl-lib)
(require 'pi-buffer)
(require 'pi-module)
(require 'project)
(require 'subr-x)

(declare-function pi-module--create "ext:pi-module" (pipe options))
(declare-function pi-module--destroy "ext:pi-module" (agent))
(declare-function pi-module--rewire "ext:pi-module" (agent pipe))
(declare-function pi-module--prompt "ext:pi-module" (agent delivery fields))
(declare-function pi-module--abort "ext:pi-module" (agent))
(declare-function pi-module--command "ext:pi-module" (agent name fields))
(declare-function pi-module--info "ext:pi-module" (agent name))
(declare-function pi-module--drain "ext:pi-module" (agent bytes ms))
(declare-function pi-module--answer-host "ext:pi-module" (agent id status fields))
(declare-function pi-module--sessions "ext:pi-module" (options &optional wanted))
(declare-function pi-transcript-make "pi-transcript" (session))
(declare-function pi-tool-serve "pi-tool" (session id tool arguments directory))
(declare-function pi-save-before-command "pi-save" (session id command directory))

(defvar pi-session-event-functions nil
  "Functions that are called with a session and each event of its agent.
The event is a plist with the fields of doc/events.md; it comes after the
transcript has shown it.")

(defvar pi-session-withdraw-functions nil
  "Functions that are called with a session and the id of a withdrawn request.
The agent no longer waits for its answer.")

(defvar pi-session-start-functions nil
  "Functions that are called with a new session, before its first prompt.")

(defvar pi-session-send-functions nil
  "Functions that are called with a session before a message is sent to it.")

(defvar pi-session-end-functions nil
  "Functions that are called with a session that is about to end.")

(defcustom pi-turn-start-hook nil
  "Hook run in the transcript when the agent begins to work."
  :type 'hook
  :group 'pi
  :package-version '(pi . "0.1.0"))

(defcustom pi-turn-end-functions nil
  "Functions called when the agent has done its work.
The arguments are the session, a plist of what was used, and the list of
the files that were changed."
  :type 'hook
  :group 'pi
  :package-version '(pi . "0.1.0"))

(defcustom pi-tool-start-functions nil
  "Functions called with a session and the event of a tool call that begins."
  :type 'hook
  :group 'pi
  :package-version '(pi . "0.1.0"))

(defcustom pi-tool-end-functions nil
  "Functions called with a session and the event of a tool call that ended."
  :type 'hook
  :group 'pi
  :package-version '(pi . "0.1.0"))

;; One drain takes no more than this, so that keys are served between two of them.
(defconst pi-session--bytes 65536)
(defconst pi-session--milliseconds 8)

;; A change of a buffer does not come between what a command does before and after a wait.
(defconst pi-session--defer-seconds 0.05)

(cl-defstruct (pi-session (:constructor pi-session--make) (:copier nil))
  "A conversation."
  agent                                 ; of the module; nil once it has ended
  buffer                                ; the transcript
  directory
  number                                ; among the sessions of its directory, from 1
  title                                 ; the name that the user gave it
  origin                                ; the buffer from which it was started
  running                               ; between agent_start and agent_end
  since                                 ; when that began
  model thinking                        ; plist of model_changed; a level
  usage                                 ; of the last answer, a plist
  (cost 0)                              ; of all answers
  queue                                 ; texts that wait to be sent
  changed                               ; files changed in this run, newest first
  calls                                 ; toolCallId -> plist of what runs
  earlier                               ; t: all messages were asked for
  questions                             ; pi-question structs that wait, oldest first
  requests                              ; not served yet, oldest first
  timer)                                ; that will drain or serve

(defvar pi-session--all nil
  "The sessions that have an agent, newest first.")

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
                               :filter #'pi-session--wake
                               :sentinel #'pi-session--pipe-ended)))
    (set-process-thread pi-session--pipe nil))
  pi-session--pipe)

(defun pi-session--wake (_process _byte)
  "Some agent has something."
  (mapc #'pi-session--drain pi-session--all))

(defun pi-session--pipe-ended (process _event)
  "Somebody deleted PROCESS, the pipe: the sessions get another one."
  (when (and pi-session--all (not (process-live-p process)))
    (let ((pipe (pi-session--pipe)))
      (dolist (session pi-session--all)
        (when (pi-session-agent session)
          (pi-module--rewire (pi-session-agent session) pipe)
          ;; A wake-up may have been lost.
          (pi-session--later session 0))))))

(defun pi-session--bytes (text)
  "TEXT for the module."
  (encode-coding-string text 'utf-8-unix))

(defun pi-session--fields (plist)
  "PLIST, a list or vector, as a vector for the module."
  (vconcat (mapcar (lambda (value)
                     (cond ((stringp value) (if (multibyte-string-p value)
                                                (pi-session--bytes value)
                                              value))
                           ((consp value) (vconcat (mapcar #'pi-session--bytes value)))
                           (t value)))
                   plist)))

(defun pi-session--environment ()
  "The environment of the current buffer's commands, a list."
  (let (names result)
    (dolist (entry process-environment (nreverse result))
      (let ((name (car (split-string entry "="))))
        ;; The first entry counts; one without = says that the variable is not set.
        (unless (member name names)
          (push name names)
          (when (string-search "=" entry)
            (push (if (equal name "PATH") (pi-session--path entry) entry) result)))))))

(defun pi-session--path (entry)
  "ENTRY of the environment, PATH=..., led by the rest of variable `exec-path'."
  (let* ((old (parse-colon-path (substring entry 5)))
         (more (seq-filter (lambda (directory)
                             (and directory
                                  (not (member (file-name-as-directory directory) old))
                                  (not (equal (file-name-as-directory directory)
                                              exec-directory))))
                           exec-path)))
    (if (and more (local-variable-p 'exec-path))
        (concat "PATH=" (string-join (append (mapcar #'directory-file-name more)
                                             (list (substring entry 5)))
                                     path-separator))
      entry)))

(defun pi-session--options (directory options)
  "The vector for `pi-module--create': OPTIONS, a plist, and DIRECTORY."
  (pi-session--fields
   (append (list :cwd (directory-file-name (expand-file-name directory))
                 :environment (pi-session--environment))
           options)))

(defun pi-session--check-directory (directory)
  "Signal an error if DIRECTORY is not on this machine."
  (when (file-remote-p directory)
    (user-error "Pi works on this machine only, and %s is on another one; start `pi' \
there" directory)))

(defun pi-session--free-number (directory)
  "The number of the next session of DIRECTORY."
  (let ((used (mapcar #'pi-session-number (pi-session-of directory)))
        (number 1))
    (while (memq number used)
      (setq number (1+ number)))
    number))

(defun pi-session-own-buffer-p ()
  "Whether the current buffer is a transcript or one for prompts."
  ;; How several modes are given depends on the version of Emacs.
  (or (derived-mode-p 'pi-session-mode) (derived-mode-p 'pi-compose-mode)))

(declare-function evil-set-initial-state "ext:evil-core" (mode state))
(declare-function evil-define-key* "ext:evil-core"
                  (state keymap key def &rest bindings))

(defun pi-session--evil (mode state &optional map keys)
  "Let buffers of MODE begin in STATE, if there is Evil.
KEYS are those of the mode's MAP that go before Evil's own."
  (when (fboundp 'evil-set-initial-state)
    (evil-set-initial-state mode state)
    (dolist (key keys)
      (let ((command (lookup-key map (kbd key))))
        (evil-define-key* state map (kbd key) command)))))

(defun pi-session-directory-here ()
  "The root of the current project, or the current directory.
One that is still to be made, for a new file, stands for the one above it.
Other machines are not asked for anything."
  (if (file-remote-p default-directory)
      (file-name-as-directory default-directory)
    (let* ((default-directory
             (or (locate-dominating-file default-directory #'file-directory-p)
                 default-directory))
           (project (project-current)))
      (file-name-as-directory
       (expand-file-name (if project (project-root project) default-directory))))))

(defun pi-session-agent-directory ()
  "Where settings, keys and conversations are; nil if that is the usual folder."
  (let ((directory (getenv "PI_CODING_AGENT_DIR")))
    (and directory (not (equal directory ""))
         (expand-file-name directory))))

(defun pi-session-of (directory)
  "The sessions of DIRECTORY, newest first."
  (seq-filter (lambda (session) (equal (pi-session-directory session) directory))
              pi-session--all))

(defun pi-session-nearest (&optional live)
  "The session of the current buffer, else one of its project, or nil.
If LIVE is non-nil, not one that has ended."
  (or (and pi-session--current
           (or (not live) (pi-session-agent pi-session--current))
           pi-session--current)
      (car (pi-session-of (pi-session-directory-here)))))

(defun pi-session-create (directory &optional options)
  "Start an agent in DIRECTORY and make its buffer.
OPTIONS is a plist for the module, see `pi-module--create'."
  (pi-session--check-directory directory)
  (pi-module-load)
  (let* ((agent (pi-module--create (pi-session--pipe)
                                   (pi-session--options directory options)))
         (session (pi-session--make :agent agent :directory directory
                                    :number (pi-session--free-number directory)
                                    :calls (make-hash-table :test #'equal))))
    (require 'pi-transcript)
    (setf (pi-session-buffer session) (pi-transcript-make session))
    (push session pi-session--all)
    (add-hook 'kill-emacs-hook #'pi-session-end-all)
    (run-hook-with-args 'pi-session-start-functions session)
    (pi-session--drain session)
    session))

(defun pi-session-name (session)
  "A short name of SESSION for people: its folder and, if needed, its number."
  (let ((name (file-name-nondirectory
               (directory-file-name (pi-session-directory session))))
        (number (pi-session-number session)))
    (if (eql number 1) name (format "%s<%d>" name number))))

(defun pi-session-end (session)
  "End SESSION's agent and all that it started; its buffer stays."
  (let ((agent (pi-session-agent session)))
    (when agent
      (with-demoted-errors "Pi: %S"
        (run-hook-with-args 'pi-session-end-functions session)))
    (setf (pi-session-agent session) nil
          (pi-session-running session) nil
          (pi-session-questions session) nil
          (pi-session-requests session) nil)
    (setq pi-session--all (delq session pi-session--all))
    (when (timerp (pi-session-timer session))
      (cancel-timer (pi-session-timer session)))
    (when agent
      (pi-module--destroy agent))))

(defun pi-session-end-all ()
  "End all sessions."
  (mapc #'pi-session-end (copy-sequence pi-session--all)))

(defun pi-session--agent (session)
  "The agent of SESSION, or an error."
  (or (and session (pi-session-agent session))
      (user-error "This conversation has ended")))

(defun pi-session-send (session text &optional delivery images)
  "Send TEXT to SESSION.
While the agent works DELIVERY decides: `steer' comes before the next
request to the model, `follow-up' (the default) when the work is done.
IMAGES is a list of (TYPE . BASE64)."
  (run-hook-wrapped 'pi-session-send-functions #'pi-session--guard session)
  (pi-module--prompt (pi-session--agent session) (or delivery 'follow-up)
                     (pi-session--fields
                      (list :text text
                            :images (mapcan (lambda (image)
                                              (list (car image) (cdr image)))
                                            (copy-sequence images))))))

(defun pi-session-command (session name &rest fields)
  "Let SESSION's agent do what NAME and FIELDS, a plist, say.
See `pi-module--command' for what there is."
  (pi-module--command (pi-session--agent session) name (pi-session--fields fields)))

(defun pi-session-info (session name)
  "What SESSION's agent says about NAME, see `pi-module--info'."
  (let ((bytes (pi-module--info (pi-session--agent session) name)))
    (and bytes (decode-coding-string bytes 'utf-8-unix))))

(defun pi-session-abort (&optional session)
  "Stop what the agent of SESSION does; the conversation stays."
  (interactive)
  (pi-module--abort (pi-session--agent (or session pi-session--current))))

;;; Calls of the user

(defvar pi-session--own-calls (make-hash-table :test #'equal)
  "Id of a call by Emacs -> the function that takes its end.")

(defvar pi-session--last-call 0
  "The number of the last call by Emacs.")

(defun pi-session-call-tool (session tool arguments function)
  "Let SESSION's agent run TOOL with ARGUMENTS, a plist, outside the conversation.
FUNCTION is called with the session and the event tool_execution_end."
  (let ((id (format "emacs-call-%d" (cl-incf pi-session--last-call))))
    (pi-session-command session 'call-tool :id id :name tool
                        :arguments (json-serialize arguments))
    (puthash id function pi-session--own-calls)
    id))

(defun pi-session--own-event (session event)
  "Whether EVENT of SESSION belongs to a call by Emacs; its end is handed on."
  (let* ((id (plist-get event :toolCallId))
         (function (and id (gethash id pi-session--own-calls))))
    (when (and function (equal (plist-get event :type) "tool_execution_end"))
      (remhash id pi-session--own-calls)
      (pi-session--guard function session event))
    function))

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
      (dolist (item items)
        (if (stringp item)
            (pi-session--event session (pi-session--parse item))
          (pi-session--request session item)))
      (pi-session--serve session)
      (pcase state
        ('more (pi-session--later session 0))
        ;; The last event has said why.
        ('closed (pi-session-end session))))))

(defun pi-session--parse (json)
  "The event in the unibyte string JSON as a plist."
  ;; No copy of what is ASCII: garbage is collected while the user types.
  (json-parse-string (decode-coding-string json 'utf-8-unix t)
                     :object-type 'plist :array-type 'list
                     :null-object nil :false-object nil))

;;; Events

(defvar pi-session--handlers (make-hash-table :test #'equal)
  "Type of event -> functions of session and event, in the order of their calls.")

(defun pi-session-on (type function)
  "Call FUNCTION with the session and each event of TYPE, a string.
Those that came first are called first; the same function once."
  (let ((functions (gethash type pi-session--handlers)))
    (unless (member function functions)
      (puthash type (append functions (list function)) pi-session--handlers))))

(defun pi-session--event (session event)
  "Tell everybody about EVENT of SESSION."
  (unless (pi-session--own-event session event)
    (dolist (function (gethash (plist-get event :type) pi-session--handlers))
      (pi-session--guard function session event))
    (run-hook-wrapped 'pi-session-event-functions #'pi-session--guard session event)))

(defun pi-session--guard (function &rest arguments)
  "Call FUNCTION with ARGUMENTS; what goes wrong is written down.
Return nil, so that hooks go on."
  (condition-case err
      (if debug-on-error
          (let ((debug-on-signal nil)) (apply function arguments))
        (apply function arguments))
    (error (pi-session-log "%s: %s" function (error-message-string err))))
  nil)

(defun pi-session-log (format &rest arguments)
  "Write a line made of FORMAT and ARGUMENTS into the log, a hidden buffer."
  (with-current-buffer (get-buffer-create " *pi-log*")
    (goto-char (point-max))
    (insert (format-time-string "%F %T ") (apply #'format format arguments) "\n")
    (when (> (buffer-size) 200000)
      (delete-region (point-min) (- (point-max) 100000)))))

(defun pi-session--run-hook (session hook &rest arguments)
  "Run HOOK with ARGUMENTS in the transcript of SESSION, whatever its functions do."
  (when (buffer-live-p (pi-session-buffer session))
    (with-current-buffer (pi-session-buffer session)
      (apply #'run-hook-wrapped hook #'pi-session--guard arguments))))

(defun pi-session--on-start (session _event)
  "SESSION's agent begins to work."
  (setf (pi-session-running session) t
        (pi-session-since session) (float-time)
        (pi-session-changed session) nil)
  (pi-session--run-hook session 'pi-turn-start-hook))

(defun pi-session--on-end (session _event)
  "SESSION's agent has done its work."
  (setf (pi-session-running session) nil)
  (clrhash (pi-session-calls session))
  (pi-session--run-hook session 'pi-turn-end-functions session
                        (pi-session-usage session)
                        (reverse (pi-session-changed session))))

(defun pi-session-note-message (session message)
  "Note what MESSAGE of SESSION tells about model, use and costs."
  (let* ((usage (plist-get message :usage))
         (cost (plist-get usage :cost))
         (model (plist-get message :model)))
    (when (and usage (not (member (plist-get message :stopReason) '("error" "aborted"))))
      (setf (pi-session-usage session) usage))
    ;; Recorded and resumed conversations have no event that tells the model.
    (when (and model (not (equal model (plist-get (pi-session-model session) :id))))
      (setf (pi-session-model session)
            (list :id model :provider (plist-get message :provider))))
    (cl-incf (pi-session-cost session)
             (or (and (numberp cost) cost) (plist-get cost :total) 0))))

(defun pi-session--on-model (session event)
  "Note the model of SESSION that EVENT tells."
  (setf (pi-session-model session) (plist-get event :model))
  (when (plist-get event :thinkingLevel)
    (setf (pi-session-thinking session) (plist-get event :thinkingLevel))))

(defun pi-session--on-call (session event)
  "A call of SESSION starts."
  (puthash (plist-get event :toolCallId)
           (list :tool (plist-get event :toolName) :since (float-time))
           (pi-session-calls session))
  (pi-session--run-hook session 'pi-tool-start-functions session event))

(defun pi-session--on-call-end (session event)
  "A call of SESSION ended."
  (remhash (plist-get event :toolCallId) (pi-session-calls session))
  (pi-session--run-hook session 'pi-tool-end-functions session event))

(defun pi-session--on-file (session event)
  "Read a file again that was changed on disk and that a buffer visits."
  (let ((path (plist-get event :path)))
    (cl-pushnew path (pi-session-changed session) :test #'equal)
    (unless (plist-get event :inEditor)
      (let ((buffer (pi-buffer-visiting path)))
        (when buffer
          (pi-buffer-refresh buffer))))))

(pi-session-on "agent_start" #'pi-session--on-start)
(pi-session-on "agent_end" #'pi-session--on-end)
(pi-session-on "message_end"
               (lambda (session event)
                 (pi-session-note-message session (plist-get event :message))))
(pi-session-on "model_changed" #'pi-session--on-model)
(pi-session-on "thinking_level_changed"
               (lambda (session event)
                 (setf (pi-session-thinking session) (plist-get event :level))))
(pi-session-on "queue_update"
               (lambda (session event)
                 (setf (pi-session-queue session)
                       (append (plist-get event :steering)
                               (plist-get event :followUp)))))
(pi-session-on "tool_execution_start" #'pi-session--on-call)
(pi-session-on "tool_execution_end" #'pi-session--on-call-end)
(pi-session-on "file_changed" #'pi-session--on-file)

;;; Requests

(defun pi-session--request (session item)
  "Note the request ITEM of SESSION, or forget one that is withdrawn."
  (if (not (eq (car item) 'withdraw))
      (setf (pi-session-requests session)
            (append (pi-session-requests session) (list item)))
    (setf (pi-session-requests session)
          (cl-remove (cadr item) (pi-session-requests session) :key #'cadr))
    (run-hook-wrapped 'pi-session-withdraw-functions #'pi-session--guard
                      session (cadr item))))

(defvar pi-session--serving nil
  "Non-nil while a request is served; hooks that run then may wait, too.")

(defun pi-session-answer (session id status &optional fields)
  "Answer request ID of SESSION with STATUS and FIELDS.
FIELDS, a list or vector, is for `pi-module--answer-host'.
An answer that nobody waits for does nothing."
  (when (pi-session-agent session)
    (pi-module--answer-host (pi-session-agent session) id status
                            (pi-session--fields fields))))

(defun pi-session--serve (session)
  "Serve the requests of SESSION.
Not while a command waits for something, or another request is served: a
buffer may be in the middle of being saved."
  (if (and (or this-command pi-session--serving) (pi-session-requests session))
      (pi-session--later session pi-session--defer-seconds)
    (while (pi-session-requests session)
      (let* ((item (pop (pi-session-requests session)))
             (answer (condition-case err
                         (let ((pi-session--serving t))
                           (pi-session--serve-one session item))
                       (error (list 'io :message (pi-session--bytes
                                                  (error-message-string err)))))))
        (when answer
          (pi-session-answer session (cadr item) (car answer) (cdr answer)))))))

(defun pi-session--serve-one (session item)
  "The answer (STATUS . FIELDS) to ITEM of SESSION; nil if it comes later."
  (pcase-let ((`(,op ,id ,path ,version ,changes ,tool ,arguments) item))
    (let ((text (and arguments (decode-coding-string arguments 'utf-8-unix)))
          (directory (decode-coding-string path (or file-name-coding-system 'utf-8-unix))))
      (pcase op
        ('call-tool
         (if (fboundp 'pi-tool-serve)
             (pi-tool-serve session id tool text directory)
           (list 'io :message "this Emacs has no such tool")))
        ('before-command
         (if (fboundp 'pi-save-before-command)
             (pi-save-before-command session id text directory)
           (list 'not-open)))
        (_ (let ((pi-buffer-session session))
             (pi-buffer-serve op path version changes)))))))

(provide 'pi-session)
;;; pi-session.el ends here
