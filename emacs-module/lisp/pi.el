;;; pi.el --- A coding agent  -*- lexical-binding: t; -*-

;; Author: The pi authors
;; Maintainer: The pi authors
;; URL: https://pi.invalid/
;; Version: 0.1.0
;; Package-Requires: ((emacs "28.1"))
;; Keywords: tools, convenience, processes
;; SPDX-License-Identifier: MIT

;;; Commentary:

;; M-x pi-prompt asks for a text and sends it to the agent of the current project.  The
;; conversation is shown in a buffer that is displayed and not selected; files that are
;; open in Emacs are read from and changed in their buffers.
;;
;; No global key is bound; `pi-command-map' is there for a prefix of your choice:
;;
;;   (global-set-key (kbd "C-c a") 'pi-command-map)

;;; Code:

(require 'pi-compose)
(require 'pi-auth)
(require 'pi-output)
(require 'pi-review)
(require 'pi-save)
(require 'pi-session)
(require 'pi-tool)
(require 'pi-transcript)
(require 'project)
(require 'subr-x)

(autoload 'pi-list-sessions "pi-list" nil t)
(autoload 'pi-resume "pi-list" nil t)

(declare-function bookmark-prop-get "bookmark" (bookmark prop))
(declare-function pi-menu-show "pi-menu" t t)
(declare-function pi-list-open "pi-list" (file directory))
(declare-function pi-module--version "ext:pi-module" ())

(defcustom pi-model nil
  "The model to talk to, for instance \"replay:FILE\"; nil means the default."
  :type '(choice (const :tag "Default" nil) string)
  :group 'pi
  :package-version '(pi . "0.1.0"))

(defcustom pi-provider nil
  "The provider whose models are used; nil means any."
  :type '(choice (const :tag "Any" nil) string)
  :group 'pi
  :package-version '(pi . "0.1.0"))

(defconst pi--levels '("off" "minimal" "low" "medium" "high" "xhigh")
  "The levels of thinking.")

(defcustom pi-thinking nil
  "How much the model thinks; nil means what the settings say."
  :type `(choice (const :tag "As the settings say" nil)
                 ,@(mapcar (lambda (level) `(const ,level)) pi--levels))
  :group 'pi
  :package-version '(pi . "0.1.0"))

(defcustom pi-tools nil
  "The tools of the agent: coding, read-only, all, or names with commas between."
  :type '(choice (const :tag "Default" nil) string)
  :group 'pi
  :package-version '(pi . "0.1.0"))

(defcustom pi-system-prompt nil
  "A text or a file that replaces the system prompt; nil means the usual one."
  :type '(choice (const :tag "Usual" nil) string)
  :group 'pi
  :package-version '(pi . "0.1.0"))

(defcustom pi-append-system-prompt nil
  "Texts or files that are added to the system prompt."
  :type '(repeat string)
  :group 'pi
  :package-version '(pi . "0.1.0"))

(defcustom pi-yolo nil
  "Non-nil means that tools run without asking."
  :type 'boolean
  :group 'pi
  :package-version '(pi . "0.1.0"))

(defcustom pi-restrict nil
  "Non-nil means that only files below the project may be read and changed."
  :type 'boolean
  :group 'pi
  :package-version '(pi . "0.1.0"))

(defcustom pi-keep-sessions t
  "Non-nil means that conversations are kept in files."
  :type 'boolean
  :group 'pi
  :package-version '(pi . "0.1.0"))

;;; Sessions

(defun pi--options (directory)
  "What a new session in DIRECTORY is made with, beside the directory."
  (append
   (list :model pi-model :provider pi-provider :thinking pi-thinking :tools pi-tools
         :system-prompt pi-system-prompt
         :append-system-prompt pi-append-system-prompt
         :yolo pi-yolo
         :restrict (and pi-restrict (directory-file-name directory))
         :no-session (not pi-keep-sessions)
         ;; What `setenv' says counts, and the module does not see that.
         :agent-dir (pi-session-agent-directory))
   (list :keys (mapcan (lambda (pair) (list (car pair) (cdr pair))) (pi-auth-keys)))))

(defun pi--new-session (directory &rest more)
  "Start a session in DIRECTORY with MORE options."
  (pi-session-create directory (append more (pi--options directory))))

(defun pi--session-here ()
  "The session of the current buffer or project, or a new one."
  (or (pi-session-nearest t)
      (pi--new-session (pi-session-directory-here))))

(defun pi--note-origin (session)
  "Remember the current buffer as the one from which SESSION was spoken to."
  (unless (pi-session-own-buffer-p)
    (setf (pi-session-origin session) (current-buffer))))

;;;###autoload
(defun pi (&optional new)
  "Go to the conversation of the current project.
With prefix argument NEW begin another one."
  (interactive "P")
  (pi-module-call
   (lambda ()
     (pop-to-buffer (pi-session-buffer
                     (if new (pi--new-session (pi-session-directory-here))
                       (pi--session-here))))
     (when (= (point-min) (point-max))
       (message "%s" (substitute-command-keys
                      "\\[pi-compose] writes a prompt, \\[pi-menu] shows the commands"))))))

(defun pi-new ()
  "Begin another conversation in the current project."
  (interactive)
  (pi t))

;;; Prompts

(defun pi--read-prompt (prompt)
  "Read a prompt in the minibuffer, showing PROMPT."
  (pi-compose-read prompt (if pi-session--current
                              (pi-session-directory pi-session--current)
                            (pi-session-directory-here))))

(defun pi--region-reference ()
  "How a prompt names the region, if there is one in a buffer that is not ours."
  (and (use-region-p)
       (not (pi-session-own-buffer-p))
       (pi-context-quote
        (pi-context-region-name (pi-session-directory-here)))))

(defun pi--with-region (text region)
  "TEXT with the REGION, as prompts name it, or as it is if that is nil."
  (if region (concat text "\n\n" region) text))

;;;###autoload
(defun pi-prompt (text &optional new)
  "Send TEXT to the agent of the current project and show the conversation.
No window is selected and point stays.  While the agent works, the text
waits until that is done.  The region, if active, goes along.

With \\[universal-argument] write the text in a buffer of its own; with
\\[universal-argument] \\[universal-argument] begin a NEW conversation."
  (interactive
   (if (equal current-prefix-arg '(4))
       '(compose)
     (list (pi--read-prompt (if current-prefix-arg "New conversation: " "Prompt: "))
           (equal current-prefix-arg '(16)))))
  (let ((region (pi--region-reference)))
    (pcase text
      ('compose (pi-compose region))
      (`(compose . ,draft) (pi-compose (pi--with-region draft region)))
      ("" (user-error "There is nothing to send"))
      (_ (let ((command (and (not new) (pi-compose-command text))))
           (if command
               (call-interactively command)
             (pi--send (pi--with-region text region) nil new)))))))

(defun pi--keep (text)
  "Keep TEXT, which could not be sent, in the buffer for prompts."
  (unless noninteractive
    (save-window-excursion (pi-compose text))))

(defun pi--send (text delivery new)
  "Send TEXT by DELIVERY, in a NEW session if non-nil, and return the session.
When there can be no session, the text is kept.  While the module is
being built, the text waits for that, and the value is nil."
  ;; A build may fail later.
  (add-to-history 'pi-prompt-history text)
  (condition-case err
      (pi-module-call (lambda () (pi--send-now text delivery new)))
    (pi-module-missing
     (pi--keep text)
     (signal (car err) (cdr err)))))

(defun pi--send-now (text delivery new)
  "Do what `pi--send' does with TEXT, DELIVERY and NEW, with the module there."
  (let ((session (condition-case err
                     (if new (pi--new-session (pi-session-directory-here))
                       (pi--session-here))
                   ((user-error pi-error)
                    (pi--keep text)
                    (signal (car err) (cdr err))))))
    (pi--note-origin session)
    (pi-compose-send-text session text delivery)
    (pi-compose-show session)
    session))

;;;###autoload
(defun pi-prompt-region (begin end text)
  "Send TEXT, which is about the text between BEGIN and END, to the agent."
  (interactive
   (list (region-beginning) (region-end) (pi--read-prompt "Prompt for the region: ")))
  (let ((region (save-mark-and-excursion
                  (goto-char begin)
                  (push-mark end t t)
                  (pi-context-quote
                   (pi-context-region-name (pi-session-directory-here))))))
    (deactivate-mark)
    (if (consp text)
        (pi-compose (pi--with-region (cdr text) region))
      (pi--send (pi--with-region text region) nil nil))))

(defun pi-steer (text)
  "Send TEXT to the agent at work; it reads it after its current tool."
  (interactive (list (pi--read-prompt "Steer: ")))
  (if (consp text)
      (pi-compose (cdr text))
    (pi--send text 'steer nil)))

(defun pi-clear-queue ()
  "Drop what waits to be sent."
  (interactive)
  (pi-session-command (pi-transcript-session) 'clear-queue))

(defun pi-continue ()
  "Let the agent go on, for instance after an error."
  (interactive)
  (pi-session-command (pi-transcript-session) 'continue))

;;; Context

(defun pi--context-choices (directory)
  "What can be added to a prompt of DIRECTORY: (LABEL . FUNCTION), best first."
  (let ((source (if (derived-mode-p 'pi-compose-mode 'pi-session-mode)
                    (and pi-session--current
                         (pi-session-origin pi-session--current))
                  (current-buffer))))
    (append
     (when (buffer-live-p source)
       (with-current-buffer source
         (append
          (when (and mark-active (mark) (/= (mark) (point)))
            (let ((name (pi-context-region-name directory)))
              (list (cons (concat "region " name) name))))
          (let ((name (pi-context-buffer-name directory)))
            (list (cons (concat "buffer " (buffer-name)) name)
                  (cons (concat "diagnostics of " (buffer-name))
                        (concat "diagnostics:" (buffer-name))))))))
     (list '("diagnostics of the project" . "diagnostics")
           '("file" . file) '("another buffer" . buffer)))))

(defun pi-add-context (name)
  "Add NAME, a file, a buffer, a region or diagnostics, to the next prompt."
  (interactive
   (let* ((directory (if (derived-mode-p 'pi-compose-mode) default-directory
                       (pi-session-directory-here)))
          (choices (pi--context-choices directory))
          (choice (cdr (assoc (completing-read (format-prompt "Add" (caar choices))
                                               choices nil t nil nil (caar choices))
                              choices))))
     (list (pcase choice
             ('file (completing-read "File: " (pi-context-files directory)))
             ('buffer (concat "buffer:" (read-buffer "Buffer: " nil t)))
             (_ choice)))))
  (let ((reference (concat (pi-context-quote name) " ")))
    (if (derived-mode-p 'pi-compose-mode)
        (insert (if (or (bobp) (memq (char-before) '(?\s ?\n))) "" " ") reference)
      (pi-compose reference))))

;;; Settings of a session

(defun pi--wait-for (session type)
  "The next event of TYPE of SESSION; an error when it does not come soon.
\\[keyboard-quit] ends the wait."
  (let* ((found nil)
         (pi-session-event-functions
          (cons (lambda (of event)
                  (when (and (eq of session) (equal (plist-get event :type) type))
                    (setq found event)))
                pi-session-event-functions))
         (end (+ (float-time) 5)))
    (while (and (not found) (< (float-time) end))
      (accept-process-output nil 0.05))
    (or found (user-error "The agent does not answer"))))

(defun pi--model-choices (models)
  "MODELS of a list as (NAME . MODEL), those that can be asked first."
  (mapcar (lambda (model)
            (cons (format "%s/%s" (plist-get model :provider) (plist-get model :id))
                  model))
          (append (seq-filter (lambda (model) (plist-get model :available)) models)
                  (seq-remove (lambda (model) (plist-get model :available)) models))))

(defun pi--model-annotation (model)
  "What completion shows beside MODEL."
  (format "  %s%s%s" (or (plist-get model :name) "")
          (if (> (or (plist-get model :contextWindow) 0) 0)
              (format ", %dk" (/ (plist-get model :contextWindow) 1000))
            "")
          (if (plist-get model :available) "" ", no key")))

(defun pi-select-model (name)
  "Let the model NAME, PROVIDER/ID, answer from the next request on."
  (interactive
   (let ((session (pi--session-here)))
     (pi-session-command session 'list-models)
     (let* ((models (plist-get (pi--wait-for session "model_list") :models))
            (choices (pi--model-choices models))
            (completion-extra-properties
             (list :annotation-function
                   (lambda (name)
                     (pi--model-annotation (cdr (assoc name choices)))))))
       (list (completing-read
              "Model: "
              (lambda (string predicate action)
                (if (eq action 'metadata)
                    '(metadata (display-sort-function . identity))
                  (complete-with-action action choices string predicate)))
              nil nil)))))
  (let ((session (pi--session-here))
        (slash (string-search "/" name)))
    (if (or (not slash) (string-prefix-p "replay:" name))
        (pi-session-command session 'set-model :model name)
      (pi-session-command session 'set-model :provider (substring name 0 slash)
                          :model (substring name (1+ slash))))))

(defun pi-select-thinking (level)
  "Let the model think as much as LEVEL says, from the next request on."
  (interactive
   (let* ((session (pi--session-here))
          (map (plist-get (pi-session-model session) :thinkingLevelMap))
          (levels (seq-filter (lambda (level)
                                (let ((key (intern (concat ":" level))))
                                  (or (not (plist-member map key))
                                      (plist-get map key))))
                              pi--levels)))
     (list (completing-read (format "Thinking (now %s): "
                                    (or (pi-session-thinking session) "the default"))
                            levels nil t))))
  (pi-session-command (pi--session-here) 'set-thinking :level level))

(defun pi-rename-session (name)
  "Give the conversation a NAME for lists; an empty one takes it away."
  (interactive
   (list (read-string "Name of the conversation: "
                      (pi-session-title (pi-transcript-session)))))
  (let ((session (pi-transcript-session)))
    (pi-session-command session 'session-name :text name)
    (setf (pi-session-title session) (and (not (equal name "")) name))
    (pi-header-update session)))

;;; Help

;;;###autoload
(defun pi-report ()
  "Show what a report of a problem should tell; there are no keys in it."
  (interactive)
  (let ((session (pi-session-nearest)))
    (with-help-window "*pi-report*"
      (princ (format "pi %s, module %s (interface %s)\n%s\n" pi-version
                     (if (fboundp 'pi-module--version) (pi-module--version)
                       "not loaded")
                     (if (fboundp 'pi-module--abi) (pi-module--abi) "-")
                     (emacs-version)))
      (princ (format "window system: %s, %dx%d\n" (or window-system "terminal")
                     (frame-width) (frame-height)))
      (when session
        (princ (format "model: %s/%s, thinking %s\nstate: %s\nsession: %s\n"
                       (plist-get (pi-session-model session) :provider)
                       (plist-get (pi-session-model session) :id)
                       (pi-session-thinking session)
                       (pi-header-state session)
                       (and (pi-session-agent session)
                            (pi-session-info session 'session-path)))))
      (when (get-buffer " *pi-log*")
        (princ "\nlast problems:\n")
        (princ (with-current-buffer " *pi-log*"
                 (save-excursion
                   (goto-char (point-max))
                   (forward-line -20)
                   (buffer-substring (point) (point-max)))))))))

(defun pi-transcript-bookmark-jump (bookmark)
  "Go to the conversation of BOOKMARK, resuming it if needed."
  (let ((directory (bookmark-prop-get bookmark 'directory))
        (file (bookmark-prop-get bookmark 'session)))
    (require 'pi-list)
    (set-buffer (pi-session-buffer
                 (if (and file (file-exists-p file))
                     (pi-list-open file directory)
                   (let ((default-directory directory))
                     (pi--session-here)))))))

(defvar pi-command-map
  (let ((map (make-sparse-keymap)))
    (pcase-dolist (`(,key . ,command)
                   '(("p" . pi-prompt) ("i" . pi) ("c" . pi-compose)
                     ("r" . pi-prompt-region) ("s" . pi-steer) ("k" . pi-abort)
                     ("y" . pi-answer) ("d" . pi-changes) ("a" . pi-add-context)
                     ("l" . pi-list-sessions) ("m" . pi-select-model)
                     ("t" . pi-select-thinking) ("n" . pi-new) ("?" . pi-menu)))
      (define-key map (kbd key) command))
    map)
  "Commands of pi, for a prefix key of your choice.")
;;;###autoload (autoload 'pi-command-map "pi" "Commands of pi." t 'keymap)
(fset 'pi-command-map pi-command-map)

;;;###autoload
(defun pi-menu ()
  "Show the commands of pi in a menu."
  (interactive)
  (require 'pi-menu)
  (call-interactively #'pi-menu-show))

(provide 'pi)
;;; pi.el ends here
