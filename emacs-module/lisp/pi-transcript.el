;;; pi-transcript.el --- The buffer of a conversation  -*- lexical-binding: t; -*-

;; SPDX-License-Identifier: MIT

;;; Commentary:

;; The mode of transcripts: keys, motion, folding, and the ways from a transcript to
;; files and other buffers.

;;; Code:

(require 'pi-header)
(require 'pi-questions)
(require 'pi-render)
(require 'pi-session)
(require 'subr-x)

(declare-function pi-output-show "pi-output" (session id))
(declare-function pi-changes "pi-review" (&optional whole))
(declare-function pi-review-question-diff "pi-hunks" ())
(declare-function pi-compose "pi-compose" (&optional text))
(declare-function pi-list-sessions "pi-list" ())
(declare-function pi-menu "pi" ())
(declare-function pi-select-model "pi" (name))
(declare-function pi-select-thinking "pi" (level))
(declare-function pi-transcript-bookmark-jump "pi" (bookmark))
(declare-function bookmark-prop-get "bookmark" (bookmark prop))

(defcustom pi-session-mode-hook nil
  "Hook run when a transcript is made."
  :type 'hook
  :group 'pi
  :package-version '(pi . "0.1.0"))

(defcustom pi-abort-ask-seconds 5
  "Ask before the abort of a command that has run for more seconds than this."
  :type 'natnum
  :group 'pi
  :package-version '(pi . "0.1.0"))

(defcustom pi-resume-messages 200
  "How many messages of a resumed conversation are shown."
  :type 'natnum
  :group 'pi
  :package-version '(pi . "0.1.0"))

(defvar pi-session-mode-map
  (let ((map (make-sparse-keymap)))
    (pcase-dolist (`(,key . ,command)
                   '(("RET" . pi-visit)
                     ("TAB" . pi-toggle)
                     ("<backtab>" . pi-toggle-all)
                     ("n" . pi-next-turn)
                     ("p" . pi-previous-turn)
                     ("M-n" . pi-next-call)
                     ("M-p" . pi-previous-call)
                     ("i" . pi-compose)
                     ("c" . pi-compose)
                     ("k" . pi-abort)
                     ("C-c C-k" . pi-abort)
                     ("C-c C-s" . pi-steer)
                     ("C-c C-p" . pi-menu)
                     ("d" . pi-changes)
                     ("e" . pi-review-question-diff)
                     ("o" . pi-show-output)
                     ("y" . pi-session-allow)
                     ("!" . pi-session-always)
                     ("N" . pi-session-deny)
                     ("r" . pi-list-sessions)
                     ("b" . pi-back)
                     ("m" . pi-select-model)
                     ("T" . pi-select-thinking)
                     ("$" . pi-usage)
                     ("g" . pi-redraw)
                     ("?" . pi-menu)
                     ("C-g" . pi-quit)))
      (define-key map (kbd key) command))
    map)
  "Keys of `pi-session-mode'.")

(define-derived-mode pi-session-mode special-mode "Pi"
  "The conversation with an agent.
Questions of the agent stand here, too; \\[pi-session-allow] and \
\\[pi-session-deny] answer the one at point.

\\{pi-session-mode-map}"
  (pi-session--evil 'pi-session-mode 'motion pi-session-mode-map
                    '("RET" "TAB" "<backtab>" "y" "!" "N" "c" "i" "o"))
  (buffer-disable-undo)
  (setq bidi-paragraph-direction 'left-to-right
        buffer-read-only t
        truncate-lines nil
        word-wrap t)
  (setq-local bidi-inhibit-bpa t
              ;; Words are wrapped; arrows at each line would be noise.
              fringe-indicator-alist '((continuation nil nil) (truncation nil nil))
              window-point-insertion-type nil
              ;; Who follows sees a full window.
              scroll-conservatively 101
              header-line-format '(:eval pi-header--text)
              outline-regexp "[>*] "
              imenu-create-index-function #'pi-transcript--index
              bookmark-make-record-function #'pi-transcript--bookmark
              desktop-save-buffer nil)
  (font-lock-mode -1)
  (add-to-invisibility-spec '(pi-fold . t))
  (add-hook 'kill-buffer-hook #'pi-transcript--killed nil t))

(defun pi-transcript--killed ()
  "End the session of a buffer that is killed."
  (when pi-session--current
    (pi-session-end pi-session--current)))

(defun pi-transcript-make (session)
  "Make the buffer of SESSION."
  (let ((origin (current-buffer)))
    (with-current-buffer (generate-new-buffer
                          (format "*pi: %s*" (pi-session-name session)))
      (pi-session-mode)
      (setq pi-session--current session
            pi-render--view (pi-render-view-make)
            default-directory (pi-session-directory session))
      (setf (pi-session-origin session) origin
            (pi-session-buffer session) (current-buffer))
      (pi-header-update session)
      (current-buffer))))

(defun pi-transcript--ended (session)
  "Say in the transcript of SESSION that the conversation has ended."
  (when (buffer-live-p (pi-session-buffer session))
    (run-at-time 0 nil #'pi-header-update session)))

(add-hook 'pi-session-end-functions #'pi-transcript--ended)

;;; Motion

(defun pi-transcript--seek (property backward)
  "Go to the next place with PROPERTY, or to the one before if BACKWARD."
  (let ((at (point)))
    (if backward
        (while (and (setq at (previous-single-property-change at property nil (point-min)))
                    (> at (point-min))
                    (not (get-text-property at property))))
      (while (and (setq at (next-single-property-change at property nil (point-max)))
                  (< at (point-max))
                  (not (get-text-property at property)))))
    (if (get-text-property at property)
        (goto-char at)
      (goto-char (if backward (point-min) (point-max))))))

(defun pi-next-turn (&optional backward)
  "Go to the next message of the user, or to the one before if BACKWARD."
  (interactive)
  (pi-transcript--seek 'pi-turn backward))

(defun pi-previous-turn ()
  "Go to the previous message of the user."
  (interactive)
  (pi-next-turn t))

(defun pi-next-call (&optional backward)
  "Go to the next call of a tool, or to the one before if BACKWARD."
  (interactive)
  (pi-transcript--seek 'pi-call backward))

(defun pi-previous-call ()
  "Go to the previous call of a tool."
  (interactive)
  (pi-next-call t))

(defun pi-transcript--index ()
  "The user's messages and the calls of tools, for Imenu."
  (save-excursion
    (goto-char (point-min))
    (let (turns calls)
      (while (re-search-forward "^\\([>*]\\) \\(.\\{1,60\\}\\)" nil t)
        (let ((entry (cons (match-string-no-properties 2) (match-beginning 0))))
          (cond ((get-text-property (match-beginning 0) 'pi-turn) (push entry turns))
                ((get-text-property (match-beginning 0) 'pi-call) (push entry calls)))))
      (append (nreverse turns)
              (and calls (list (cons "Calls" (nreverse calls))))))))

(defvar pi-transcript--last-quit 0
  "When \\`C-g' was typed last in a transcript or compose buffer.")

(defun pi-quit ()
  "Quit; the second time within a second say how the agent is stopped."
  (interactive)
  (let ((again (< (- (float-time) pi-transcript--last-quit) 1)))
    (setq pi-transcript--last-quit (float-time))
    (if again
        (progn (deactivate-mark)
               (message "%s" (substitute-command-keys
                              "\\[pi-abort] stops the agent")))
      (keyboard-quit))))

;;; Folding

(defun pi-transcript--region (position)
  "The region (BEGIN . END) of the block at POSITION."
  (cons (if (and (> position (point-min))
                 (eq (get-text-property (1- position) 'pi-block)
                     (get-text-property position 'pi-block)))
            (previous-single-property-change position 'pi-block nil (point-min))
          position)
        (next-single-property-change position 'pi-block nil (point-max))))

(defun pi-transcript--body (position)
  "The part (BEGIN . END) of the block at POSITION that can be folded, or nil."
  (let ((block (get-text-property position 'pi-block)))
    (when (and block (memq (pi-render-block-kind block) '(tool thinking user)))
      (pcase-let* ((`(,begin . ,end) (pi-transcript--region position))
                   (from (save-excursion (goto-char begin) (line-end-position))))
        (cond ((eq (pi-render-block-kind block) 'user) (pi-render-user-body begin end))
              ((< from end) (cons from end)))))))

(defun pi-toggle ()
  "Fold or unfold the block at point; go to the next button where nothing folds."
  (interactive)
  (let ((body (pi-transcript--body (point))))
    (if body
        (let ((folded (get-text-property (car body) 'invisible)))
          (pi-render-fold (car body) (cdr body) (not folded))
          (when (and (not folded) (> (point) (car body)))
            (goto-char (car (pi-transcript--region (point))))))
      (forward-button 1 t))))

(defun pi-transcript--bodies ()
  "All that can be folded, a list of (BEGIN . END)."
  (let ((at (point-min)) bodies)
    (while (< at (point-max))
      (let ((body (pi-transcript--body at)))
        (when body (push body bodies)))
      (setq at (next-single-property-change at 'pi-block nil (point-max))))
    bodies))

(defun pi-toggle-all ()
  "Fold all blocks, or unfold them if all are folded."
  (interactive)
  (let* ((bodies (pi-transcript--bodies))
         (open (seq-some (lambda (body) (not (get-text-property (car body) 'invisible)))
                         bodies)))
    (pcase-dolist (`(,begin . ,end) bodies)
      (pi-render-fold begin end open))
    (message (if open "All folded" "All unfolded"))))

;;; Places

(defun pi-transcript-call-at-point ()
  "The id of the tool call at point, or nil."
  (let ((block (get-text-property (point) 'pi-block)))
    (and block (eq (pi-render-block-kind block) 'tool)
         (pi-render-block-id block))))

(defun pi-show-output ()
  "Show the full output of the tool call at point."
  (interactive)
  (let ((id (or (pi-transcript-call-at-point)
                (user-error "No tool call here"))))
    (require 'pi-output)
    (pi-output-show pi-session--current id)))

(defconst pi-transcript--place
  "\\([^] \t\n\"'`()<>[:]+\\):\\([0-9]+\\)\\(?::\\([0-9]+\\)\\)?"
  "A file, a line and perhaps a column.")

(defun pi-transcript--place-here ()
  "The place (FILE LINE COLUMN) that the text at point names, or nil."
  (let ((at (point))
        (end (line-end-position))
        best)
    (save-excursion
      (beginning-of-line)
      (while (re-search-forward pi-transcript--place end t)
        (let ((file (expand-file-name (match-string-no-properties 1)))
              (here (<= (match-beginning 0) at (match-end 0))))
          (when (and (or here (not best)) (not (file-remote-p file))
                     (file-exists-p file))
            (setq best (list file (string-to-number (match-string 2))
                             (and (match-string 3)
                                  (string-to-number (match-string 3)))))))))
    (or best
        (let ((name (thing-at-point 'filename t)))
          (and name (string-search "." name)
               (not (file-remote-p name)) (file-regular-p name)
               (list (expand-file-name name) nil nil))))))

(defun pi-transcript--place-of-call (block)
  "The place (FILE LINE COLUMN) that the call BLOCK is about, or nil."
  (let* ((args (pi-render-block-args block))
         (path (plist-get args :path))
         (file (and (stringp path)
                    (expand-file-name (string-remove-prefix "@" path)))))
    (and file (file-exists-p file)
         (list file (or (plist-get args :offset) (pi-render-block-line block)) nil))))

(defun pi-transcript--visit (place)
  "Show PLACE, (FILE LINE COLUMN)."
  (pcase-let ((`(,file ,line ,column) place))
    (pop-to-buffer (find-file-noselect file))
    (when (numberp line)
      (unless (<= (point-min) (point) (point-max)) (widen))
      (goto-char (point-min))
      (forward-line (1- line))
      (when column (forward-char (min (1- (max 1 column))
                                      (- (line-end-position) (point))))))))

(defun pi-visit ()
  "Press the button at point, visit the place that it names, or fold the block."
  (interactive)
  (let* ((block (get-text-property (point) 'pi-block))
         (call (and block (eq (pi-render-block-kind block) 'tool) block))
         (place (or (and call (get-text-property (line-beginning-position) 'pi-call)
                         (pi-transcript--place-of-call call))
                    (pi-transcript--place-here)
                    (and call (pi-transcript--place-of-call call)))))
    (cond ((button-at (point)) (push-button))
          (place (pi-transcript--visit place))
          ((pi-transcript--body (point)) (pi-toggle))
          ((thing-at-point 'url) (browse-url (thing-at-point 'url)))
          (t (user-error "Nothing to visit here")))))

(defun pi-back ()
  "Go back to the buffer from which the agent was last spoken to."
  (interactive)
  (let ((origin (if pi-session--current
                    (pi-session-origin pi-session--current)
                  (user-error "This buffer belongs to no conversation"))))
    (if (buffer-live-p origin)
        (pop-to-buffer origin)
      (user-error "The buffer is gone"))))

;;; The session

(defun pi-transcript-session ()
  "The session that the current buffer is about, or an error."
  (or (pi-session-nearest)
      (user-error "No conversation here")))

(defun pi-abort ()
  "Stop what the agent does; the conversation stays, and so does your draft.
Ask first if a command has run for a while."
  (interactive)
  (let* ((session (pi-transcript-session))
         (long (pi-transcript--long-command session)))
    (cond ((not (pi-session-running session))
           (user-error "The agent does nothing"))
          ((or (not long)
               (y-or-n-p (format "A command has run for %d s; stop it? " long)))
           (pi-session-abort session)))))

(defun pi-transcript--long-command (session)
  "How many seconds a command of SESSION has run, if that is long, or nil."
  (let (long)
    (maphash (lambda (_ call)
               (let ((seconds (- (float-time) (plist-get call :since))))
                 (when (and (equal (plist-get call :tool) "bash")
                            (> seconds pi-abort-ask-seconds))
                   (setq long (max seconds (or long 0))))))
             (pi-session-calls session))
    long))

(defun pi-usage ()
  "Say what the conversation has used."
  (interactive)
  (let* ((session (pi-transcript-session))
         (usage (pi-session-usage session))
         (window (or (plist-get (pi-session-model session) :contextWindow) 0)))
    (if (not usage)
        (message "Nothing was used yet")
      (message "Last answer: %d in, %d out, %d from the cache, %d to the cache%s.  \
All: $%.4f"
               (or (plist-get usage :input) 0) (or (plist-get usage :output) 0)
               (or (plist-get usage :cacheRead) 0) (or (plist-get usage :cacheWrite) 0)
               (if (> window 0)
                   (format "; %s of %d" (pi-header-context session) window)
                 "")
               (pi-session-cost session)))))

(defun pi-redraw ()
  "Draw the conversation again."
  (interactive)
  (let ((session (or pi-session--current (user-error "No conversation here"))))
    (if (pi-session-running session)
        (user-error "Not while the agent works")
      (pi-transcript-show session)
      (pi-header-update session))))

(defun pi-transcript-show (session)
  "Let the transcript of SESSION show what the agent remembers."
  (pi-render-in session
    (erase-buffer)
    (setq pi-render--view (pi-render-view-make)))
  (pi-session-command session 'list-messages :max pi-resume-messages))

(defun pi-earlier-turns ()
  "Show the whole conversation in a buffer of its own."
  (interactive)
  (let ((session (or pi-session--current (user-error "No conversation here"))))
    (setf (pi-session-earlier session) t)
    (pi-session-command session 'list-messages :max 0)))

(defun pi-transcript--on-transcript (session event)
  "Show the messages that EVENT of SESSION brings."
  (let ((messages (plist-get event :messages))
        (omitted (plist-get event :omitted)))
    (if (not (pi-session-earlier session))
        (progn
          (unless (pi-session-usage session)
            (dolist (message messages)
              (pi-session-note-message session message)))
          (pi-render-in session (pi-render-messages messages omitted))
          (pi-header-update session))
      (setf (pi-session-earlier session) nil)
      (with-current-buffer (get-buffer-create
                            (format "*pi-earlier: %s*" (pi-session-name session)))
        (pi-session-mode)
        (setq header-line-format nil
              pi-render--view nil
              default-directory (pi-session-directory session))
        (let ((inhibit-read-only t)) (erase-buffer))
        (pi-render--drawing (lambda () (pi-render-messages messages omitted)))
        (goto-char (point-min))
        (display-buffer (current-buffer))))))

(pi-session-on "transcript" #'pi-transcript--on-transcript)

;;; Bookmarks

(defun pi-transcript--bookmark ()
  "A bookmark of the conversation that the current buffer shows."
  (let ((session pi-session--current))
    `(,(format "pi: %s" (if session (pi-session-name session) (buffer-name)))
      (directory . ,default-directory)
      (session . ,(and session (pi-session-agent session)
                       (pi-session-info session 'session-path)))
      ;; A form, so that a new Emacs knows where the function is.
      (handler . (lambda (bookmark)
                   (require 'pi)
                   (pi-transcript-bookmark-jump bookmark))))))

(provide 'pi-transcript)
;;; pi-transcript.el ends here
