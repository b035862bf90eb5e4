;;; pi-header.el --- The state of a session at a glance  -*- lexical-binding: t; -*-

;; SPDX-License-Identifier: MIT

;;; Commentary:

;; The header line of a transcript, a word in the mode line of all buffers while a
;; question waits, and a notification when the agent is done and nobody looks.  All of it
;; is made when something happened, and not by timers.

;;; Code:

(require 'pi-questions)
(require 'pi-session)
(require 'subr-x)

(declare-function pi-answer "pi-questions" ())
(declare-function pi-changes "pi-review" (&optional whole))
(declare-function pi-select-model "pi" (name))
(declare-function pi-select-thinking "pi" (level))
(declare-function pi-usage "pi-transcript" ())
(declare-function notifications-notify "notifications" (&rest params))

(defcustom pi-notify-after 20
  "Notify of the end of work that took more seconds than this; nil means never.
Only when no frame has the focus."
  :type '(choice (const :tag "Never" nil) natnum)
  :group 'pi
  :package-version '(pi . "0.1.0"))

(defcustom pi-notify-function #'pi-notify
  "Function that is called with a title and a text to notify the user."
  :type 'function
  :group 'pi
  :package-version '(pi . "0.1.0"))

;;; The header line

(defvar-local pi-header--text ""
  "The header line of this buffer.")

(defun pi-header--separator ()
  "What stands between two parts."
  (if (char-displayable-p ?·) " · " " | "))

(defun pi-header--part (text command &optional face help)
  "TEXT that runs COMMAND when it is clicked, in FACE; HELP says what happens."
  (let ((map (make-sparse-keymap)))
    (define-key map [header-line mouse-1] command)
    (apply #'propertize (string-replace "%" "%%" text)
           (append (list 'local-map map 'mouse-face 'highlight
                         'help-echo (or help (format "mouse-1: %s" command)))
                   (and face (list 'face face))))))

(defun pi-header-state (session)
  "What SESSION does, in words."
  (cond ((not (pi-session-agent session)) "ended")
        ((pi-session-questions session)
         (let ((n (length (pi-session-questions session))))
           (if (= n 1) "waits for you" (format "waits for you (%d)" n))))
        ((not (pi-session-running session)) "ready")
        ((> (hash-table-count (pi-session-calls session)) 0)
         (let (names)
           (maphash (lambda (_ call) (push (plist-get call :tool) names))
                    (pi-session-calls session))
           (concat "runs " (string-join (delete-dups (nreverse names)) ", "))))
        (t "works")))

(defun pi-header--tokens (session)
  "How many tokens the last request and answer of SESSION had."
  (let ((usage (pi-session-usage session)))
    (apply #'+ (mapcar (lambda (key) (or (plist-get usage key) 0))
                       '(:input :output :cacheRead :cacheWrite)))))

(defun pi-header-context (session)
  "How full the context of SESSION is, or nil."
  (let ((tokens (pi-header--tokens session))
        (window (or (plist-get (pi-session-model session) :contextWindow) 0)))
    (cond ((= tokens 0) nil)
          ((> window 0) (format "ctx %d%%" (round (* 100.0 tokens) window)))
          ((< tokens 1000) (format "ctx %d" tokens))
          (t (format "ctx %dk" (round tokens 1000))))))

(defun pi-header--parts (session)
  "The parts of the header line of SESSION."
  (let ((model (pi-session-model session))
        (cost (pi-session-cost session))
        (queue (length (pi-session-queue session)))
        (changed (length (pi-session-changed session))))
    (list
     (pi-header--part (pcase (plist-get model :id)
                        ('nil "default model")
                        ("" "no model")
                        (id id))
                      #'pi-select-model nil "mouse-1: another model")
     (and (plist-get model :reasoning) (pi-session-thinking session)
          (pi-header--part (concat "thinking " (pi-session-thinking session))
                           #'pi-select-thinking nil "mouse-1: another level"))
     (pi-header--part (pi-header-state session) #'pi-answer
                      (cond ((pi-session-questions session) 'pi-question)
                            ((pi-session-running session) 'pi-tool-running)))
     (and (pi-header-context session)
          (pi-header--part (pi-header-context session) #'pi-usage))
     (and (> cost 0) (pi-header--part (format "$%.2f" cost) #'pi-usage))
     (and (> queue 0) (format "queue %d" queue))
     (and (> changed 0)
          (pi-header--part (if (= changed 1) "1 file changed"
                             (format "%d files changed" changed))
                           #'pi-changes)))))

(defun pi-header-update (session &rest _)
  "Make the header line of SESSION again."
  (when (buffer-live-p (pi-session-buffer session))
    (with-current-buffer (pi-session-buffer session)
      (let ((text (concat " " (string-join (delq nil (pi-header--parts session))
                                           (pi-header--separator)))))
        (unless (equal-including-properties text pi-header--text)
          (setq pi-header--text text)
          ;; The buffer for prompts shows the state, too.
          (force-mode-line-update t))))))

;;; The mode line

(defvar pi-header--flag nil
  "Non-nil means that a session asks something: what all mode lines show.")
(put 'pi-header--flag 'risky-local-variable t)

(defun pi-header--update-flag ()
  "Show in all mode lines whether a question waits."
  (let ((session (seq-find #'pi-session-questions pi-session--all)))
    (setq pi-header--flag
          (and session
               (propertize (format " pi:%s! " (pi-session-name session))
                           'face 'warning
                           'mouse-face 'mode-line-highlight
                           'help-echo "pi asks something.  mouse-1: go there"
                           'local-map (let ((map (make-sparse-keymap)))
                                        (define-key map [mode-line mouse-1] #'pi-answer)
                                        map))))
    (when session
      (unless global-mode-string (setq global-mode-string '("")))
      (unless (member '(:eval pi-header--flag) global-mode-string)
        (setq global-mode-string
              (append (if (listp global-mode-string) global-mode-string
                        (list global-mode-string))
                      '((:eval pi-header--flag))))))
    (force-mode-line-update t)))

(defun pi-header--questions-changed ()
  "There is a question more or less."
  (mapc #'pi-header-update pi-session--all)
  (pi-header--update-flag))

;;; Notifications

(defun pi-header--focused-p ()
  "Whether the user looks at Emacs, as far as it knows."
  (seq-some (lambda (frame) (not (memq (frame-focus-state frame) '(nil))))
            (frame-list)))

(defun pi-notify (title text)
  "Notify the user with TITLE and TEXT by the desktop or the terminal."
  (cond ((and (display-graphic-p) (require 'notifications nil t)
              (ignore-errors (notifications-notify :title title :body text))))
        ((not (display-graphic-p))
         ;; OSC 9 and the bell: terminals show it or not.
         (ignore-errors
           (send-string-to-terminal
            (format "\e]9;%s: %s\a" title
                    (replace-regexp-in-string "[[:cntrl:]]" " " text)))))))

(defun pi-header--notify (session text)
  "Notify that TEXT is the state of SESSION, if nobody looks."
  (unless (or noninteractive (pi-header--focused-p))
    (funcall pi-notify-function (format "pi: %s" (pi-session-name session)) text)))

(defun pi-header--on-end (session _event)
  "Notify that SESSION has done long work."
  (when (and pi-notify-after (pi-session-since session)
             (> (- (float-time) (pi-session-since session)) pi-notify-after))
    (pi-header--notify session "The work is done.")))

(defun pi-header--on-question (session question)
  "Notify that SESSION asks QUESTION."
  (when pi-notify-after
    (pi-header--notify session (or (car (pi-question-lines question)) "A question"))))

(dolist (type '("agent_start" "agent_end" "message_end" "model_changed"
                "thinking_level_changed" "queue_update" "tool_execution_start"
                "tool_execution_end" "file_changed"))
  (pi-session-on type #'pi-header-update))
(pi-session-on "agent_end" #'pi-header--on-end)
(add-hook 'pi-question--change-hook #'pi-header--questions-changed)
(add-hook 'pi-question--new-functions #'pi-header--on-question)

(provide 'pi-header)
;;; pi-header.el ends here
