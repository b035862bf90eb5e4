;;; pi-compose.el --- Where prompts are written  -*- lexical-binding: t; -*-

;; SPDX-License-Identifier: MIT

;;; Commentary:

;; Prompts are written in the minibuffer or in a buffer of their own, with completion of
;; @file, @buffer and /command, and with one history.  Here is also how they are sent:
;; with the context and the images that they name.

;;; Code:

(require 'cl-lib)
(require 'pi-context)
(require 'pi-session)
(require 'pi-transcript)
(require 'subr-x)

(declare-function pi--session-here "pi" ())
(declare-function pi-add-context "pi" (what))
(declare-function pi-menu "pi" ())
(declare-function url-unhex-string "url-util" (str &optional allow-newlines))
(declare-function pi-select-model "pi" (name))
(declare-function pi-select-thinking "pi" (level))

(defcustom pi-compose-mode-hook nil
  "Hook run when a buffer for prompts is made."
  :type 'hook
  :group 'pi
  :package-version '(pi . "0.1.0"))

(defcustom pi-before-send-functions nil
  "Functions that change a prompt before it is sent.
Each gets the text and returns another one; nil keeps it."
  :type 'hook
  :group 'pi
  :package-version '(pi . "0.1.0"))

(defvar pi-prompt-history nil
  "Prompts that were sent, newest first.")

;;; Sending

(defvar pi-compose-commands
  '(("abort" . pi-abort) ("answer" . pi-answer) ("changes" . pi-changes)
    ("menu" . pi-menu) ("model" . pi-select-model) ("new" . pi-new)
    ("rename" . pi-rename-session) ("report" . pi-report) ("resume" . pi-resume)
    ("sessions" . pi-list-sessions) ("thinking" . pi-select-thinking)
    ("usage" . pi-usage))
  "What /NAME at the beginning of a prompt runs.")

(defun pi-compose-command (text)
  "The command that TEXT, a prompt, is, or nil."
  (and (string-match "\\`/\\([a-z]+\\)[[:space:]]*\\'" text)
       (cdr (assoc (match-string 1 text) pi-compose-commands))))

(defun pi-compose-final (session text)
  "What is sent for TEXT to SESSION: with its context."
  (run-hook-wrapped 'pi-before-send-functions
                    (lambda (function)
                      (setq text (or (funcall function text) text))
                      nil))
  (pi-context-expand session text))

(defun pi-compose-send-text (session text &optional delivery)
  "Send TEXT to SESSION by DELIVERY, with what it names."
  (add-to-history 'pi-prompt-history text)
  (let ((images (pi-context-images text (pi-session-directory session)))
        (final (pi-compose-final session text)))
    (when (pi-session-running session)
      (message (if (eq delivery 'steer) "Sent; the agent reads it after its current tool"
                 "Queued; the agent reads it when its work is done")))
    (if (null images)
        (pi-session-send session final delivery)
      (pi-context-load-images
       session images
       (lambda (images problems)
         (dolist (problem problems)
           (pi-render-in session (pi-render-remark problem)))
         (pi-session-send session final delivery images))))))

;;; The buffer

(defvar-local pi-compose--history-index nil
  "Where in the history the text of this buffer is from, or nil.")

(defvar-local pi-compose--draft nil
  "The text before the history was looked at.")

(defvar pi-compose-mode-map
  (let ((map (make-sparse-keymap)))
    (pcase-dolist (`(,key . ,command)
                   '(("C-c C-c" . pi-compose-send)
                     ("C-c C-s" . pi-compose-steer)
                     ("C-c C-k" . pi-abort)
                     ("M-p" . pi-compose-previous)
                     ("M-n" . pi-compose-next)
                     ("M-r" . pi-compose-search)
                     ("C-c C-a" . pi-add-context)
                     ("C-c C-m" . pi-select-model)
                     ("C-c C-t" . pi-select-thinking)
                     ("C-c C-v" . pi-compose-preview)
                     ("TAB" . completion-at-point)
                     ("C-c C-q" . quit-window)
                     ("C-c C-p" . pi-menu)
                     ("C-g" . pi-quit)
                     ("<remap> <yank>" . pi-compose-yank)))
      (define-key map (kbd key) command))
    map)
  "Keys of `pi-compose-mode'.")

(define-derived-mode pi-compose-mode text-mode "Pi-Prompt"
  "A prompt for the agent.

\\{pi-compose-mode-map}"
  (pi-session--evil 'pi-compose-mode 'insert)
  (setq header-line-format '(:eval (pi-compose--header)))
  (setq-local word-wrap t
              truncate-lines nil
              desktop-save-buffer nil)
  (setq-local completion-at-point-functions '(pi-compose-complete)))

(defun pi-compose--header ()
  "The header line: where this goes, and how."
  (let ((state (if pi-session--current (pi-header-state pi-session--current) "new")))
    (concat " To "
            (string-replace "%" "%%" (abbreviate-file-name
                                      (directory-file-name default-directory)))
            (pi-header--separator) (string-replace "%" "%%" state)
            (pi-header--separator)
            (substitute-command-keys "\\[pi-compose-send] sends")
            (if (and pi-session--current (pi-session-running pi-session--current))
                (concat (pi-header--separator)
                        (substitute-command-keys "\\[pi-compose-steer] interrupts"))
              ""))))

(defun pi-compose-buffer (directory &optional session)
  "The buffer for prompts to SESSION, or to a session of DIRECTORY."
  (let* ((name (format "*pi-prompt: %s*"
                       (if session (pi-session-name session)
                         (file-name-nondirectory (directory-file-name directory)))))
         (buffer (get-buffer name)))
    (unless (and buffer (equal directory (buffer-local-value 'default-directory buffer)))
      (setq buffer (generate-new-buffer name))
      (with-current-buffer buffer
        (pi-compose-mode)
        (setq default-directory directory)))
    (with-current-buffer buffer
      (setq pi-session--current session))
    buffer))

;;;###autoload (autoload 'pi-compose "pi" "Write a prompt in a buffer of its own." t)
(defun pi-compose (&optional text)
  "Write a prompt in a buffer of its own, beginning with TEXT."
  (interactive)
  (let* ((session (pi-session-nearest t))
         (directory (if session (pi-session-directory session)
                      (pi-session-directory-here)))
         (origin (current-buffer))
         (buffer (pi-compose-buffer directory session)))
    (when (and session (not (pi-session-own-buffer-p)))
      (setf (pi-session-origin session) origin))
    (pop-to-buffer buffer `((display-buffer-reuse-window display-buffer-in-direction)
                            ;; All other windows get a little smaller.
                            (direction . below)
                            (window . root)
                            (window-height . ,(max 6 (min 10 (/ (frame-height) 4))))))
    (when text
      (goto-char (point-max))
      (unless (or (bobp) (bolp)) (insert "\n"))
      (insert text))))

(defun pi-compose--text ()
  "The prompt in the current buffer, or an error."
  (let ((text (string-trim (buffer-substring-no-properties (point-min) (point-max)))))
    (when (equal text "")
      (user-error "There is nothing to send"))
    text))

(defun pi-compose--session ()
  "The session of the current buffer; a new one if there is none."
  (setq pi-session--current (pi--session-here)))

(defun pi-compose--clear ()
  "The prompt was sent."
  (erase-buffer)
  (setq pi-compose--history-index nil
        pi-compose--draft nil))

(defun pi-compose-send (&optional delivery)
  "Send the prompt in this buffer.
While the agent works it waits until that is done, or, with DELIVERY
`steer', only for the tool that runs."
  (interactive)
  (let* ((text (pi-compose--text))
         (command (pi-compose-command text)))
    (if command
        (progn (pi-compose--clear)
               (call-interactively command))
      (pi-module-call
       (lambda ()
         (let ((session (pi-compose--session)))
           (pi-compose-send-text session text delivery)
           (pi-compose--clear)
           (pi-compose-show session)))))))

(defun pi-compose-show (session)
  "Show the transcript of SESSION, and select no window."
  (display-buffer (pi-session-buffer session)))

(defun pi-compose-steer ()
  "Send the prompt in this buffer to the agent at work, after its current tool."
  (interactive)
  (pi-compose-send 'steer))

(defun pi-compose-preview ()
  "Show what will be sent."
  (interactive)
  (let* ((text (pi-compose--text))
         (session (pi-compose--session))
         (final (pi-compose-final session text))
         (images (pi-context-images text (pi-session-directory session))))
    (with-help-window "*pi-preview*"
      (princ final)
      (dolist (image images)
        (princ (format "\n\n[image: %s]" image))))))

;;; What comes back

(defun pi-compose--on-queue (session event)
  "Put what EVENT took from the queue of SESSION back into its buffer for prompts."
  (let ((dropped (plist-get event :dropped)))
    (when dropped
      (with-current-buffer (pi-compose-buffer (pi-session-directory session) session)
        (save-excursion
          (goto-char (point-max))
          (unless (or (bobp) (bolp)) (insert "\n"))
          (insert (string-join dropped "\n\n") "\n")))
      (pi-render-in session
        (pi-render-remark (format "%s not sent; the text is back in the buffer for prompts"
                                  (if (cdr dropped)
                                      (format "%d messages were" (length dropped))
                                    "A message was")))))))

(pi-session-on "queue_update" #'pi-compose--on-queue)

;;; History

(defun pi-compose-previous (&optional n)
  "Replace the text by the prompt before it in the history, the Nth."
  (interactive "p")
  (let* ((index (+ (or pi-compose--history-index -1) (or n 1))))
    (cond ((>= index (length pi-prompt-history))
           (user-error "This is the first prompt"))
          ((< index -1) (user-error "This is the last prompt")))
    (unless pi-compose--history-index
      (setq pi-compose--draft (buffer-string)))
    (erase-buffer)
    (insert (if (= index -1) (or pi-compose--draft "") (nth index pi-prompt-history)))
    (setq pi-compose--history-index (and (>= index 0) index))))

(defun pi-compose-next (&optional n)
  "Replace the text by the prompt after it in the history, the Nth."
  (interactive "p")
  (pi-compose-previous (- (or n 1))))

(defun pi-compose-search (text)
  "Replace the text by TEXT, a prompt of the history."
  (interactive
   (list (completing-read "Prompt of the past: "
                          (or pi-prompt-history (user-error "There is none yet"))
                          nil t)))
  (pi-compose-previous (- (seq-position pi-prompt-history text)
                          (or pi-compose--history-index -1))))

;;; Completion

(defun pi-compose-complete ()
  "Complete what an at sign or a slash begins, for `completion-at-point-functions'."
  (let ((end (point))
        (directory default-directory))
    (save-excursion
      (skip-chars-backward "^ \t\n@/" (line-beginning-position))
      (skip-chars-backward "^ \t\n@" (line-beginning-position))
      (cond ((eq (char-before) ?@)
             (list (point) end
                   (pi-compose--table directory)
                   :exit-function #'pi-compose--quote
                   :company-kind (lambda (_) 'file)))
            ((eq (char-after) ?/)
             (and (= (point) (pi-compose--start))
                  (list (1+ (point)) end (mapcar #'car pi-compose-commands)
                        :exclusive 'no)))))))

(defun pi-compose--quote (name status)
  "Quote NAME, which was just completed with STATUS, if it needs that."
  (when (and (memq status '(finished sole))
             (not (equal (pi-context-quote name) (concat "@" name))))
    (delete-char (- (1+ (length name))))
    (insert (pi-context-quote name))))

(defun pi-compose--table (directory)
  "A completion table of what may stand behind an at sign in DIRECTORY."
  (lambda (string predicate action)
    (if (eq action 'metadata)
        ;; Any part of a name finds it.
        '(metadata (category . project-file))
      (complete-with-action action (pi-context-candidates directory) string predicate))))

(defun pi-compose--start ()
  "Where the prompt in the current buffer begins."
  (if (minibufferp) (minibuffer-prompt-end) (point-min)))

;;; Images

(defun pi-compose-yank (&optional arg)
  "Yank as `yank' with ARG; an image or a file of the clipboard becomes its name."
  (interactive "*P")
  (let ((name (pi-compose--clipboard-file)))
    (if name
        (insert (pi-context-quote name) " ")
      (setq this-command 'yank)
      (yank arg))))

(defun pi-compose--clipboard-file ()
  "A file for what the clipboard holds, if that is an image or a file, or nil."
  (when (display-graphic-p)
    (let ((targets (append (gui-get-selection 'CLIPBOARD 'TARGETS) nil)))
      (cond ((memq 'text/uri-list targets)
             (let ((list (gui-get-selection 'CLIPBOARD 'text/uri-list)))
               (and list (string-match "\\`file://\\([^\r\n]+\\)" list)
                    (progn (require 'url-util) (url-unhex-string (match-string 1 list))))))
            ((and (memq 'image/png targets)
                  (not (memq 'UTF8_STRING targets)))
             (let ((data (gui-get-selection 'CLIPBOARD 'image/png))
                   (file (make-temp-file "pi-clipboard-" nil ".png"))
                   (coding-system-for-write 'binary))
               (when data
                 (write-region data nil file nil 'silent)
                 file)))))))

;;; The minibuffer

(defvar pi-compose-minibuffer-map
  (let ((map (make-sparse-keymap)))
    (set-keymap-parent map minibuffer-local-map)
    (define-key map (kbd "TAB") #'completion-at-point)
    (define-key map (kbd "M-RET") #'pi-compose-from-minibuffer)
    (define-key map (kbd "C-c '") #'pi-compose-from-minibuffer)
    map)
  "Keys while a prompt is read in the minibuffer.")

(defvar pi-compose--moved nil
  "Non-nil when the prompt shall be written in a buffer instead.")

(defun pi-compose-from-minibuffer ()
  "Go on with this prompt in a buffer of its own."
  (interactive)
  (setq pi-compose--moved t)
  (exit-minibuffer))

(defun pi-compose-read (prompt directory &optional initial)
  "Read a prompt for a session in DIRECTORY, showing PROMPT and INITIAL.
Return it as a string, or as (compose . TEXT) if it shall be written in a
buffer."
  (let* ((pi-compose--moved nil)
         (history-add-new-input nil)
         (text (minibuffer-with-setup-hook
                   (lambda ()
                     (setq default-directory directory)
                     (setq-local completion-at-point-functions '(pi-compose-complete)))
                 (read-from-minibuffer prompt initial pi-compose-minibuffer-map nil
                                       'pi-prompt-history nil t))))
    (if pi-compose--moved
        (cons 'compose text)
      text)))

(provide 'pi-compose)
;;; pi-compose.el ends here
