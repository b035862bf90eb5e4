;;; pi-save.el --- Buffers before and after a command  -*- lexical-binding: t; -*-

;; SPDX-License-Identifier: MIT

;;; Commentary:

;; Commands of the agent see the disk.  Before one runs, what the user changed may be
;; saved (`pi-save-before-bash'); the question about it stands in the transcript and the
;; command waits.  Afterwards buffers without changes are read again where their files
;; changed (`pi-revert-after-bash'), a few at a time.

;;; Code:

(require 'cl-lib)
(require 'pi-buffer)
(require 'pi-questions)
(require 'pi-render)
(require 'pi-session)

(defcustom pi-save-before-bash 'ask
  "Whether buffers are saved before the agent runs a command.
That is, those of files in the session's directory.  `ask' asks in the
transcript."
  :type '(choice (const :tag "Ask" ask)
                 (const :tag "Save" t)
                 (const :tag "Do not save" nil))
  :group 'pi
  :package-version '(pi . "0.1.0"))

(defcustom pi-revert-after-bash t
  "Non-nil means to read files again that a command of the agent changed.
That is, files in the session's directory whose buffers have no unsaved
changes."
  :type 'boolean
  :group 'pi
  :package-version '(pi . "0.1.0"))

(defvar pi-save--policies (make-hash-table :test #'eq :weakness 'key)
  "Session -> (ANSWER . TICKS): what the user said, and about which state.")

(defvar pi-save--questions (make-hash-table :test #'equal)
  "(SESSION-NUMBER DIRECTORY . REQUEST) -> id of the question about it.")

;;; Before a command

(defun pi-save--buffers (session)
  "The buffers of files in the directory of SESSION."
  (let ((directory (file-truename (pi-session-directory session))))
    (seq-filter (lambda (buffer)
                  (let ((file (buffer-local-value 'buffer-file-truename buffer)))
                    (and file
                         (not (buffer-base-buffer buffer))
                         (not (file-remote-p file))
                         (string-prefix-p directory (expand-file-name file)))))
                (buffer-list))))

(defun pi-save--ticks (buffers)
  "What tells whether BUFFERS are as they were."
  (mapcar (lambda (buffer) (cons buffer (buffer-chars-modified-tick buffer))) buffers))

(defun pi-save--save (buffers)
  "Save BUFFERS without a question; the user is told which could not be saved."
  (dolist (buffer buffers)
    (when (buffer-live-p buffer)
      (with-current-buffer buffer
        (let ((inhibit-interaction t)
              (inhibit-message t)
              (pi-edit-save 'always))
          (pi-buffer-save t))))))

(defun pi-save--key (session request)
  "The key of REQUEST of SESSION among the questions."
  (cons (pi-session-number session) (cons (pi-session-directory session) request)))

(defun pi-save--ask (session request buffers)
  "Ask whether BUFFERS should be saved before REQUEST of SESSION goes on."
  (let ((key (pi-save--key session request)))
    (puthash
     key
     (pi-question-add
      session
      :lines (cons "Save these before the command runs?"
                   (mapcar (lambda (buffer)
                             (file-relative-name
                              (expand-file-name
                               (buffer-local-value 'buffer-file-truename buffer))
                              (file-truename (pi-session-directory session))))
                           (seq-take buffers 20)))
      :answers '(once session deny)
      :means "for this session"
      :function
      (lambda (answer _reason)
        (remhash key pi-save--questions)
        (puthash session (cons answer (pi-save--ticks buffers)) pi-save--policies)
        (let ((pi-buffer-session session))
          (unless (eq answer 'deny)
            (pi-save--save buffers)))
        (pi-session-answer session request 'ok)))
     pi-save--questions)
    nil))

(defun pi-save-before-command (session request _command _directory)
  "Save what REQUEST of SESSION, a command about to run, should see.
Return an answer, or nil when the user is asked first."
  (let* ((buffers (seq-filter #'buffer-modified-p (pi-save--buffers session)))
         (said (gethash session pi-save--policies))
         (pi-buffer-session session))
    (cond ((or (null buffers) (null pi-save-before-bash)) (list 'ok))
          ((or (eq pi-save-before-bash t) (eq (car said) 'session))
           (pi-save--save buffers)
           (list 'ok))
          ;; "No" holds until something changes.
          ((and (eq (car said) 'deny) (equal (cdr said) (pi-save--ticks buffers)))
           (list 'ok))
          (t (pi-save--ask session request buffers)))))

(defun pi-save--withdrawn (session request)
  "SESSION no longer waits for REQUEST."
  (let* ((key (pi-save--key session request))
         (question (gethash key pi-save--questions)))
    (when question
      (remhash key pi-save--questions)
      (pi-question-withdraw session question))))

;;; After a command

(define-minor-mode pi-save-deleted-mode
  "Say in the mode line that the file of this buffer was deleted."
  :lighter " Deleted"
  (dolist (hook '(after-save-hook after-revert-hook))
    (if pi-save-deleted-mode
        (add-hook hook #'pi-save--back nil t)
      (remove-hook hook #'pi-save--back t))))

(defun pi-save--back ()
  "The file of the current buffer is there again."
  (when pi-save-deleted-mode
    (pi-save-deleted-mode -1)))

(defvar pi-save--queue nil
  "(SESSION . BUFFER) to be looked at, oldest first.")

(defvar pi-save--timer nil
  "The timer that will look at more of `pi-save--queue'.")

(defconst pi-save--seconds 0.03
  "How long buffers are read again before keys are served.")

(defvar-local pi-save--told nil
  "The time of the file of which the user was told that it changed.")

(defun pi-save--look (session)
  "Look at the current buffer after a command of SESSION."
  (let ((file buffer-file-name))
    (cond ((verify-visited-file-modtime (current-buffer))
           (when pi-save-deleted-mode (pi-save--back)))
          ((not (file-exists-p file))
           (unless pi-save-deleted-mode
             (pi-save-deleted-mode 1)
             (pi-save--say session "%s was deleted; its buffer stays" file)))
          ((not (buffer-modified-p))
           (pi-save--back)
           (pi-buffer-refresh (current-buffer)))
          (t
           (let ((time (file-attribute-modification-time (file-attributes file))))
             (unless (equal time pi-save--told)
               (setq pi-save--told time)
               (pi-save--say session "A command changed %s, which has unsaved changes"
                             file)))))))

(defun pi-save--say (session format file)
  "Tell the user of SESSION what FORMAT says of FILE."
  (run-hook-with-args 'pi-buffer-trouble-functions session
                      (format format (abbreviate-file-name file))))

(defun pi-save--work ()
  "Look at some of the buffers that wait."
  (setq pi-save--timer nil)
  (let ((end (+ (float-time) pi-save--seconds)))
    (unless (or this-command pi-session--serving)
      (while (and pi-save--queue (< (float-time) end))
        (pcase-let ((`(,session . ,buffer) (pop pi-save--queue)))
          (when (buffer-live-p buffer)
            (let ((pi-session--serving t))
              (with-current-buffer buffer
                (with-demoted-errors "Pi: %S"
                  (pi-save--look session)))))))))
  (when pi-save--queue
    (pi-save--later 0.05)))

(defun pi-save--later (seconds)
  "Look at the buffers that wait in SECONDS."
  (unless pi-save--timer
    (setq pi-save--timer (run-at-time seconds nil #'pi-save--work))))

(defun pi-save--after (session event)
  "Read again what the command of SESSION that ended with EVENT changed."
  (when (and pi-revert-after-bash (equal (plist-get event :toolName) "bash"))
    (dolist (buffer (pi-save--buffers session))
      (unless (rassq buffer pi-save--queue)
        (setq pi-save--queue (nconc pi-save--queue (list (cons session buffer))))))
    (when pi-save--queue
      (pi-save--later 0))))

(pi-session-on "tool_execution_end" #'pi-save--after)
(add-hook 'pi-session-withdraw-functions #'pi-save--withdrawn)

(provide 'pi-save)
;;; pi-save.el ends here
