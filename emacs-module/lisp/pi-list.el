;;; pi-list.el --- The conversations of a project  -*- lexical-binding: t; -*-

;; SPDX-License-Identifier: MIT

;;; Commentary:

;; A table of the conversations that were kept, and the ways back into them.

;;; Code:

(require 'cl-lib)
(require 'pi)
(require 'pi-session)
(require 'pi-transcript)
(require 'subr-x)
(require 'tabulated-list)

(declare-function pi-module--sessions "ext:pi-module" (options &optional wanted))

(defun pi-list--sessions (directory)
  "The kept conversations of DIRECTORY as plists, newest first."
  (pi-module-load)
  (pi-session--parse
   (pi-module--sessions
    (pi-session--fields (list :cwd (directory-file-name (expand-file-name directory))
                              :agent-dir (pi-session-agent-directory))))))

(defun pi-list--label (kept)
  "A line that tells KEPT, a conversation, from others."
  (let ((text (or (plist-get kept :name) (plist-get kept :firstMessage) "")))
    (truncate-string-to-width
     (string-trim (replace-regexp-in-string "[[:space:]]+" " " text)) 200 nil nil "…")))

(defun pi-list--live (file)
  "The session that has FILE open, or nil."
  (seq-find (lambda (session)
              (and (pi-session-agent session)
                   (equal (pi-session-info session 'session-path) file)))
            pi-session--all))

(defun pi-list--state (kept)
  "What the conversation KEPT does at present, in a word."
  (let ((session (pi-list--live (plist-get kept :path))))
    (if session (pi-header-state session) "")))

(defun pi-list--time (kept)
  "When KEPT was written to last."
  (format-time-string "%F %H:%M" (/ (or (plist-get kept :modified) 0) 1000)))

(defun pi-list--entries (directory)
  "The rows of the table for DIRECTORY."
  (mapcar (lambda (kept)
            (list kept (vector (pi-list--time kept)
                               (format "%d" (or (plist-get kept :messages) 0))
                               (pi-list--state kept)
                               (pi-list--label kept))))
          (pi-list--sessions directory)))

(defvar pi-list-mode-map
  (let ((map (make-sparse-keymap)))
    (define-key map (kbd "RET") #'pi-list-resume)
    (define-key map (kbd "c") #'pi-new)
    (define-key map (kbd "R") #'pi-list-rename)
    map)
  "Keys of `pi-list-mode'.")

(define-derived-mode pi-list-mode tabulated-list-mode "Pi-Sessions"
  "The conversations of a project.  \\[pi-list-resume] goes on with one.

\\{pi-list-mode-map}"
  (pi-session--evil 'pi-list-mode 'motion pi-list-mode-map '("RET" "R"))
  (setq tabulated-list-format [("Last used" 17 t)
                               ("Messages" 8 pi-list--fewer :right-align t)
                               ("State" 10 t)
                               ("Name or first message" 0 t)]
        tabulated-list-padding 1
        truncate-lines t)
  (setq tabulated-list-entries (lambda () (pi-list--entries default-directory)))
  (tabulated-list-init-header))


(defun pi-list--fewer (a b)
  "Whether row A has fewer messages than row B."
  (< (or (plist-get (car a) :messages) 0) (or (plist-get (car b) :messages) 0)))

;;;###autoload
(defun pi-list-sessions ()
  "List the kept conversations of the current project."
  (interactive)
  (let ((directory (if pi-session--current (pi-session-directory pi-session--current)
                     (pi-session-directory-here)))
        (buffer (get-buffer-create "*pi-sessions*")))
    (with-current-buffer buffer
      (pi-list-mode)
      (setq default-directory directory)
      (tabulated-list-print)
      (goto-char (point-min))
      (when (eobp)
        (message "No conversation was kept in %s" (abbreviate-file-name directory))))
    (pop-to-buffer buffer)))

(defun pi-list-open (file directory)
  "The session of FILE, which goes on in DIRECTORY."
  (or (pi-list--live file)
      (let* ((directory (file-name-as-directory directory))
             (session (pi--new-session directory :session file)))
        (pi-transcript-show session)
        session)))

(defun pi-list--resume (kept)
  "Go on with the conversation KEPT."
  (let ((session (pi-list-open (plist-get kept :path)
                               (or (plist-get kept :cwd) default-directory))))
    (setf (pi-session-title session) (plist-get kept :name))
    (pop-to-buffer (pi-session-buffer session))))

(defun pi-list-resume ()
  "Go on with the conversation at point."
  (interactive)
  (pi-list--resume (or (tabulated-list-get-id) (user-error "No conversation here"))))

(defun pi-list--live-at-point ()
  "The session of the conversation at point, which must be open."
  (let ((kept (or (tabulated-list-get-id) (user-error "No conversation here"))))
    (or (pi-list--live (plist-get kept :path))
        (user-error "Only a conversation that is open gets a name: RET opens it"))))

(defun pi-list-rename (name)
  "Give the conversation at point a NAME."
  (interactive
   (progn (pi-list--live-at-point)
          (list (read-string "Name: " (plist-get (tabulated-list-get-id) :name)))))
  (let ((session (pi-list--live-at-point))
        (kept (tabulated-list-get-id)))
    (with-current-buffer (pi-session-buffer session)
      (pi-rename-session name))
    ;; The file has it a moment later.
    (plist-put kept :name (pi-session-title session))
    (tabulated-list-set-col 3 (pi-list--label kept) t)))

(defun pi-list--read (choices)
  "Read which of CHOICES, newest first, is meant."
  (completing-read "Go on with: "
                   (lambda (string predicate action)
                     (if (eq action 'metadata)
                         '(metadata (display-sort-function . identity))
                       (complete-with-action action choices string predicate)))
                   nil t))

;;;###autoload
(defun pi-resume (kept)
  "Go on with KEPT, a conversation of the current project.
With a prefix argument that is the one used last."
  (interactive
   (let* ((number 0)
          (choices (mapcar (lambda (kept)
                             (cons (format "%s  %s  (%d)" (pi-list--time kept)
                                           (pi-list--label kept) (cl-incf number))
                                   kept))
                           (or (pi-list--sessions (pi-session-directory-here))
                               (user-error "No conversation was kept here")))))
     (list (if current-prefix-arg
               (cdar choices)
             (cdr (assoc (pi-list--read choices) choices))))))
  (pi-list--resume kept))

(provide 'pi-list)
;;; pi-list.el ends here
