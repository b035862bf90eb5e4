;;; pi-track.el --- Follow what the agent changes  -*- lexical-binding: t; -*-

;; SPDX-License-Identifier: MIT

;;; Commentary:

;; Changes of buffers come from `pi-buffer-apply', those of files that no buffer visits from
;; the patches in the results of tools.  What the user does with them the model is told
;; with the next request.

;;; Code:

(require 'cl-lib)
(require 'pi-buffer)
(require 'pi-edits)
(require 'pi-marks)
(require 'pi-session)
(require 'subr-x)

(defcustom pi-review-edits 'after
  "When the user sees changes of files.
`after' makes them at once and lists them for `pi-changes'; `before' asks
first, with the difference in the transcript; nil does not list them."
  :type '(choice (const :tag "After they were made" after)
                 (const :tag "Before they are made" before)
                 (const :tag "Not at all" nil))
  :set (lambda (symbol value)
         (set-default symbol value)
         (when (fboundp 'pi-track--set-policy)
           (mapc #'pi-track--set-policy pi-session--all)))
  :group 'pi
  :package-version '(pi . "0.1.0"))

;;; Where changes come from

(defun pi-track--changing (session)
  "The current buffer is about to be changed for SESSION."
  (when (and session pi-review-edits)
    (mapc #'pi-marks-sync (pi-marks--files-here))))

(defun pi-track--changed (session changes)
  "The current buffer was changed for SESSION by CHANGES."
  (when (and session pi-review-edits (listp changes))
    (let* ((edits (pi-edits-of session))
           (path (expand-file-name buffer-file-truename))
           (file (pi-edits-file-of edits path))
           (known (copy-sequence (pi-edits-file-hunks file))))
      (push path (pi-edits-served edits))
      (pi-edits-add session path changes)
      (pi-marks-place file (cl-set-difference (pi-edits-file-hunks file) known)))))

(defun pi-track--start (session event)
  "Remember what the call of EVENT in SESSION is going to write."
  (when (and pi-review-edits (equal (plist-get event :toolName) "write"))
    (push (cons (plist-get event :toolCallId)
                (plist-get (plist-get event :args) :path))
          (pi-edits-written (pi-edits-of session)))))

(defun pi-track--file (session event)
  "Note that SESSION changed the file of EVENT."
  (push (plist-get event :path) (pi-edits-touched (pi-edits-of session))))

(defun pi-track--from-result (edits event)
  "What the result of EVENT tells of a file of EDITS, as (PATH . CHANGES).
CHANGES is t for a new file and nil when its lines are not known."
  (let* ((details (plist-get (plist-get event :result) :details))
         (patch (plist-get details :patch))
         (id (plist-get event :toolCallId))
         (written (cdr (assoc id (pi-edits-written edits)))))
    (setf (pi-edits-written edits)
          (cl-remove id (pi-edits-written edits) :key #'car :test #'equal))
    (cond (patch (cons (pi-edits--patch-path edits patch) (pi-edits-parse patch)))
          (written (cons (expand-file-name written (pi-edits-directory edits))
                         (plist-get details :created))))))

(defun pi-track--created (path)
  "The change that made the file PATH."
  (if (> (or (file-attribute-size (file-attributes path)) 0) pi-edits--too-long)
      nil
    (with-temp-buffer
      (insert-file-contents path)
      (list (list 1 "" (buffer-string))))))

(defun pi-track--end-of-call (session event)
  "Note what the call of EVENT in SESSION changed on disk."
  (let* ((edits (pi-edits-of session))
         (found (pi-track--from-result edits event))
         (path (and (car found) (ignore-errors (file-truename (car found))))))
    (cond ((or (not path) (null pi-review-edits) (plist-get event :isError)) nil)
          ((member path (pi-edits-served edits))
           (setf (pi-edits-served edits)
                 (cl-remove path (pi-edits-served edits) :test #'equal :count 1)))
          ;; It had this content before.
          ((and (null (cdr found)) (not (member path (pi-edits-touched edits)))) nil)
          (t (pi-track--note session path (cdr found))))))

(defun pi-track--note (session path changes)
  "SESSION made CHANGES of PATH: a list, t for a new file, nil if nobody knows."
  (let* ((edits (pi-edits-of session))
         (file (pi-edits-file-of edits path))
         (buffer (pi-buffer-visiting path))
         (created (eq changes t)))
    (when created
      (setf (pi-edits-file-created file) t)
      (setq changes (pi-track--created path)))
    (unless changes
      (setf (pi-edits-file-opaque file) (pi-edits-turn edits)
            (pi-edits-file-turn file) (pi-edits-turn edits)))
    (pi-edits-add session path changes)
    (when buffer
      (with-current-buffer buffer (pi-marks-place file)))))

;;; Telling the model

(defun pi-track-name (session file)
  "The name of FILE in the directory of SESSION."
  (let ((path (pi-edits-file-path file))
        (directory (pi-edits-directory (pi-edits-of session))))
    (if (and directory (file-in-directory-p path directory))
        (file-relative-name path directory)
      path)))

(defun pi-track--news (session file hunk)
  "A line about what the user did with HUNK in FILE of SESSION, or nil."
  (let ((state (pi-edits-hunk-state hunk))
        (place (format "%s:L%d" (pi-track-name session file) (pi-edits-hunk-line hunk))))
    (unless (or (eq state (pi-edits-hunk-told hunk)) (eq state 'lost))
      (setf (pi-edits-hunk-told hunk) state)
      (pcase state
        ('rejected (format "The user rejected your edit in %s." place))
        ('reverted (format "The user reverted your edit in %s." place))
        (_ (format "The user restored your edit in %s." place))))))

(defun pi-track-news (session)
  "What the model of SESSION should know of the user's reviewing; nil if nothing."
  (let* ((edits (pi-edits-of session))
         (lines nil))
    (pi-marks-sync-all edits)
    (dolist (file (pi-edits-files edits))
      (dolist (hunk (pi-edits-file-hunks file))
        (let ((line (pi-track--news session file hunk)))
          (when line (push line lines)))))
    (and lines
         (concat (string-join (nreverse lines) "\n")
                 "\nLeave it so unless the user asks for something else."))))

;;; Sessions

(defun pi-track--set-policy (session)
  "Let SESSION ask before changes, or not, as `pi-review-edits' says."
  (condition-case err
      (pi-session-command session 'set-review :before (eq pi-review-edits 'before))
    (error (pi-session-log "set-review: %s" (error-message-string err)))))

(defun pi-track--tell (session)
  "Tell the model of SESSION what the user did with its edits."
  (let ((news (and (pi-session-agent session) (pi-track-news session))))
    (when news
      (pi-session-command session 'add-note :text news))))

(defun pi-track--begin (session)
  "SESSION is new."
  (setf (pi-edits-directory (pi-edits-of session)) (pi-session-directory session))
  ;; Files that are visited later show their marks, too.
  (add-hook 'find-file-hook #'pi-marks--arrive)
  (when (eq pi-review-edits 'before)
    (pi-track--set-policy session)))

(defun pi-track--turn (session _event)
  "A run of SESSION begins."
  (cl-incf (pi-edits-turn (pi-edits-of session))))

(defun pi-track--turn-end (session _event)
  "A run of SESSION has ended."
  (let ((edits (pi-edits-of session)))
    (setf (pi-edits-served edits) nil
          (pi-edits-written edits) nil
          (pi-edits-touched edits) nil)))

(defun pi-track--turn-of-model (session _event)
  "SESSION's model is about to be asked again, perhaps."
  (pi-track--tell session))

(add-hook 'pi-session-start-functions #'pi-track--begin)
(add-hook 'pi-session-send-functions #'pi-track--tell)
(add-hook 'pi-buffer-changing-functions #'pi-track--changing)
(add-hook 'pi-buffer-changed-functions #'pi-track--changed)
(pi-session-on "agent_start" #'pi-track--turn)
(pi-session-on "agent_end" #'pi-track--turn-end)
(pi-session-on "turn_end" #'pi-track--turn-of-model)
(pi-session-on "file_changed" #'pi-track--file)
(pi-session-on "tool_execution_start" #'pi-track--start)
(pi-session-on "tool_execution_end" #'pi-track--end-of-call)

(provide 'pi-track)
;;; pi-track.el ends here
