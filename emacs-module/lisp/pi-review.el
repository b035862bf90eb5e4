;;; pi-review.el --- Look at what the agent changed  -*- lexical-binding: t; -*-

;; SPDX-License-Identifier: MIT

;;; Commentary:

;; The buffer *pi-changes: NAME* shows the changes of a session as a diff, as they are now:
;; what the agent or the user changed again since is part of it.  A hunk is rejected and
;; restored in the file's own buffer, as one step of undo.  Files are read for this, but
;; only a command that changes one visits it.

;;; Code:

(require 'cl-lib)
(require 'diff-mode)
(require 'pi-edits)
(require 'pi-marks)
(require 'pi-render)
(require 'pi-session)
(require 'pi-track)
(require 'subr-x)

(autoload 'pi-review-comment "pi-hunks" nil t)
(autoload 'pi-review-ediff "pi-hunks" nil t)
(autoload 'pi-review-question-diff "pi-hunks" nil t)
(autoload 'pi-review-smerge "pi-hunks" nil t)

(defconst pi-review--context 3
  "Lines around a hunk.")

(defconst pi-review--columns 1000
  "Where lines of a hunk are cut: long lines are slow to display.")

(defconst pi-review--slow 3000
  "Lines from which on a diff is shown without the finer colours.")

(defconst pi-review--largest 20000000
  "Bytes of a file from which on hunks are shown without the lines around them.")

(defvar-local pi-review--session nil
  "The session whose changes this buffer shows.")

(defvar-local pi-review--whole nil
  "Non-nil means to show the changes of all turns.")

(defvar-local pi-review--rejected nil
  "The hunk that was rejected last.")

;;; Which changes

(defun pi-review--hunks (session file)
  "The hunks of FILE that the current buffer shows for SESSION."
  (let ((turn (pi-edits-turn (pi-edits-of session))))
    (cl-remove-if-not (lambda (hunk)
                        (or pi-review--whole (eql turn (pi-edits-hunk-turn hunk))))
                      (pi-edits-file-hunks file))))

(defun pi-review--files (session)
  "The files that the current buffer shows for SESSION."
  (let ((turn (pi-edits-turn (pi-edits-of session))))
    (cl-remove-if-not (lambda (file)
                        (or pi-review--whole (eql turn (pi-edits-file-turn file))))
                      (pi-edits-files (pi-edits-of session)))))

;;; Drawing

(defun pi-review--insert (sign text)
  "Insert the lines of TEXT, each behind SIGN."
  (dolist (line (pi-edits--lines text))
    (let* ((ended (string-suffix-p "\n" line))
           (line (if ended (substring line 0 -1) line)))
      (insert sign (if (> (length line) pi-review--columns)
                       (concat (substring line 0 pi-review--columns) "…")
                     line)
              "\n")
      (unless ended
        (insert "\\ No newline at end of file\n")))))

(defun pi-review--lines (place count limit)
  "The text of COUNT lines from PLACE on, before it if negative, up to LIMIT."
  (save-excursion
    (goto-char place)
    (forward-line count)
    (buffer-substring-no-properties
     place (if (> count 0) (min (point) limit) (max (point) limit)))))

(defun pi-review--surroundings (hunks)
  "The lines around HUNKS of the current, widened buffer.
A list of (HUNK LINE BEFORE AFTER); LINE is nil for what was not found."
  (let* ((places (mapcar (lambda (hunk) (pi-review--place hunk)) hunks))
         (limit (point-min))
         result)
    (cl-loop for hunk in hunks
             for (place . others) on places
             do (if (not place)
                    (push (list hunk nil "" "") result)
                  (push (list hunk
                              (line-number-at-pos (car place))
                              (pi-review--lines (car place) (- pi-review--context) limit)
                              (pi-review--lines
                               (cdr place) pi-review--context
                               (or (car (seq-find #'identity others)) (point-max))))
                        result)
                  (setq limit (cdr place))))
    (nreverse result)))

(defun pi-review--place (hunk)
  "Where HUNK is in the current, widened buffer, as (BEGIN . END), or nil."
  (let ((overlay (pi-edits-hunk-overlay hunk)))
    (cond ((and overlay (eq (overlay-buffer overlay) (current-buffer)))
           (cons (overlay-start overlay) (overlay-end overlay)))
          (t (pi-edits-find hunk)))))

(defun pi-review--look (file hunks)
  "The lines around HUNKS of FILE, as `pi-review--surroundings' says."
  (let ((buffer (pi-buffer-visiting (pi-edits-file-path file)))
        (path (pi-edits-file-path file)))
    (cond (buffer
           (with-current-buffer buffer
             (pi-marks-sync file)
             (save-restriction
               (widen)
               (pi-review--surroundings hunks))))
          ((or (not (file-readable-p path))
               (> (file-attribute-size (file-attributes path)) pi-review--largest))
           (mapcar (lambda (hunk) (list hunk nil "" "")) hunks))
          (t
           (with-temp-buffer
             (insert-file-contents path)
             (pi-edits--without-cr file)
             (pi-review--surroundings hunks))))))

(defun pi-review--label (hunk found)
  "What the header of HUNK says about it; FOUND is nil if its lines are gone."
  (cond ((eq (pi-edits-hunk-state hunk) 'rejected) " rejected")
        ((eq (pi-edits-hunk-state hunk) 'reverted) " undone by you")
        ((not found) " the file has changed here since")
        ((pi-edits-hunk-mixed hunk) " with changes of yours")
        (t "")))

(defun pi-review--draw-hunk (look shift)
  "Insert the hunk of LOOK, whose lines have moved by SHIFT."
  (pcase-let* ((`(,hunk ,line ,before ,after) look)
               (begin (point))
               (old (pi-edits-hunk-old hunk))
               (new (pi-edits-hunk-new hunk))
               (around (+ (pi-edits-count before) (pi-edits-count after)))
               (start (- (or line (pi-edits-hunk-line hunk)) (pi-edits-count before))))
    (insert (format "@@ -%d,%d +%d,%d @@%s\n"
                    (- start shift) (+ around (pi-edits-count old))
                    start (+ around (pi-edits-count new))
                    (pi-review--label hunk line)))
    (pi-review--insert " " before)
    (pi-review--insert "-" old)
    (pi-review--insert "+" new)
    (pi-review--insert " " after)
    (put-text-property begin (point) 'pi-hunk hunk)
    (when (pi-edits-hunk-state hunk)
      (overlay-put (make-overlay begin (point)) 'face 'shadow))))

(defun pi-review--draw-file (file hunks)
  "Insert FILE and its HUNKS."
  (let ((name (pi-track-name pi-review--session file))
        (begin (point))
        (shift 0))
    (insert "--- " (if (pi-edits-file-created file) "/dev/null" name) "\n+++ " name "\n")
    (when (pi-edits-file-opaque file)
      (insert "# Rewritten as a whole: too long, or no text that could be compared.\n"))
    (put-text-property begin (point) 'pi-file file)
    (dolist (look (pi-review--look file hunks))
      (let ((hunk (car look)))
        (pi-review--draw-hunk look shift)
        (unless (pi-edits-hunk-state hunk)
          (cl-incf shift (- (pi-edits-count (pi-edits-hunk-new hunk))
                            (pi-edits-count (pi-edits-hunk-old hunk)))))))))

(defun pi-review--draw ()
  "Draw the changes in the current buffer."
  (let ((inhibit-read-only t)
        (files (pi-review--files pi-review--session)))
    (erase-buffer)
    (remove-overlays)
    (unless files
      (insert (if (or pi-review--whole
                      (null (pi-edits-files (pi-edits-of pi-review--session))))
                  "No changes that wait for a review.\n"
                "No changes in this turn; t shows those of the session.\n")))
    (dolist (file files)
      (pi-review--draw-file file (pi-review--hunks pi-review--session file)))
    (let ((long (> (line-number-at-pos (point-max)) pi-review--slow)))
      (setq-local diff-refine (and (not long) (default-value 'diff-refine))
                  diff-font-lock-syntax
                  (and (not long) (default-value 'diff-font-lock-syntax))))
    (goto-char (point-min))))

(defun pi-review--redraw (&optional hunk)
  "Draw the changes again, with point on HUNK or about where it was."
  (let ((line (line-number-at-pos))
        (at nil))
    (pi-review--draw)
    (when hunk
      (setq at (text-property-any (point-min) (point-max) 'pi-hunk hunk)))
    (if at
        (goto-char at)
      (forward-line (1- line)))
    (dolist (window (get-buffer-window-list nil nil t))
      (set-window-point window (point)))))

(defun pi-review--header ()
  "The header line of the current buffer."
  (let ((files (pi-review--files pi-review--session))
        (hunks 0))
    (dolist (file files)
      (cl-incf hunks (length (pi-review--hunks pi-review--session file))))
    (format " %s: %d file%s, %d hunk%s   k reject  u restore  K file  A accept  c comment"
            (if pi-review--whole "Session" "Turn")
            (length files) (if (= 1 (length files)) "" "s")
            hunks (if (= 1 hunks) "" "s"))))

;;; The mode

(defvar pi-review-mode-map
  (let ((map (make-sparse-keymap)))
    (define-key map (kbd "k") #'pi-review-reject)
    (define-key map (kbd "u") #'pi-review-restore)
    (define-key map (kbd "K") #'pi-review-reject-file)
    (define-key map (kbd "A") #'pi-review-accept-all)
    (define-key map (kbd "c") #'pi-review-comment)
    (define-key map (kbd "e") #'pi-review-ediff)
    (define-key map (kbd "s") #'pi-review-smerge)
    (define-key map (kbd "t") #'pi-review-toggle-scope)
    (define-key map (kbd "g") #'pi-review-refresh)
    (define-key map (kbd "q") #'quit-window)
    map)
  "Keys of `pi-review-mode', on top of those of `diff-mode'.")

(define-minor-mode pi-review-mode
  "Review what an agent changed.
\\{pi-review-mode-map}"
  :lighter " Review"
  ;; A diff that is read-only has keys that come before those of minor modes.
  (setq-local minor-mode-overriding-map-alist
              (assq-delete-all 'pi-review-mode
                               (copy-sequence minor-mode-overriding-map-alist)))
  (when pi-review-mode
    (push (cons 'pi-review-mode pi-review-mode-map) minor-mode-overriding-map-alist)
    (setq-local header-line-format '(:eval (pi-review--header)))))

(defun pi-review--current-session ()
  "The session that the current buffer is about, or an error."
  (or pi-review--session
      pi-session--current
      (and (not (file-remote-p default-directory))
           (cl-find-if (lambda (session)
                         (file-in-directory-p default-directory
                                              (pi-session-directory session)))
                       pi-session--all))
      (car pi-session--all)
      (user-error "There is no session")))

(defun pi-review--buffer (session)
  "The buffer for the changes of SESSION."
  (let ((buffer (get-buffer-create
                 (format "*pi-changes: %s*" (pi-session-name session)))))
    (with-current-buffer buffer
      (unless (and pi-review-mode (eq pi-review--session session))
        (diff-mode)
        (setq default-directory (pi-session-directory session)
              pi-review--session session
              pi-session--current session)
        (let ((view-read-only nil))
          (read-only-mode 1))
        (buffer-disable-undo)
        (setq bidi-paragraph-direction 'left-to-right)
        (setq-local bidi-inhibit-bpa t
                    truncate-lines t)
        (pi-review-mode)))
    buffer))

(defun pi-changes (&optional whole)
  "Show what the agent changed since the last prompt.
With a prefix argument, WHOLE, all that was not reviewed yet."
  (interactive "P")
  (let* ((session (pi-review--current-session))
         (buffer (pi-review--buffer session)))
    (with-current-buffer buffer
      (setq pi-review--whole whole)
      (pi-review--draw)
      (when (bobp)
        (re-search-forward "^@@" nil t)
        (beginning-of-line)))
    (pop-to-buffer buffer)))

(defun pi-review-refresh ()
  "Look at the files again."
  (interactive)
  (pi-review--redraw (get-text-property (point) 'pi-hunk)))

(defun pi-review-toggle-scope ()
  "Show the changes of the session, or of the last turn only."
  (interactive)
  (setq pi-review--whole (not pi-review--whole))
  (pi-review--redraw (get-text-property (point) 'pi-hunk)))

(defun pi-review--hunk ()
  "The hunk at point, or an error."
  (or (get-text-property (point) 'pi-hunk)
      (user-error "No hunk here")))

(defun pi-review--file ()
  "The file at point, or an error."
  (let ((hunk (get-text-property (point) 'pi-hunk)))
    (or (if hunk
            (pi-edits-hunk-file hunk)
          (get-text-property (point) 'pi-file))
        (user-error "No file here"))))

;;; Rejecting

(defun pi-review--ranges (hunks rejected)
  "The ranges, last first, that take HUNKS back in the current, widened buffer.
Unless REJECTED, those that make them again."
  (let (ranges)
    (dolist (hunk hunks ranges)
      (let ((place (or (pi-review--place hunk)
                       (user-error "Line %d has changed since; change it by hand"
                                   (pi-edits-hunk-line hunk)))))
        (push (list (car place) (cdr place)
                    (if rejected (pi-edits-hunk-old hunk) (pi-edits-hunk-new hunk)))
              ranges)))))

(defun pi-review--visiting (file)
  "The buffer of FILE, which is visited if need be; an error if it is gone."
  (let ((path (pi-edits-file-path file)))
    (or (pi-buffer-visiting path)
        (and (file-exists-p path) (find-file-noselect path))
        (user-error "%s is gone" (abbreviate-file-name path)))))

(defun pi-review--swap (file hunks rejected)
  "Reject HUNKS of FILE if REJECTED, else restore them, in the file's buffer."
  (with-current-buffer (pi-review--visiting file)
    (barf-if-buffer-read-only)
    (save-excursion
      (save-restriction
        (widen)
        (pi-marks-place file)
        (pi-marks-sync file)
        (let* ((clean (not (buffer-modified-p)))
               (ranges (pi-review--ranges hunks rejected)))
          (pi-buffer-change ranges)
          (cl-loop for hunk in hunks
                   for (begin . end) in (reverse (pi-buffer--places ranges))
                   do (setf (pi-edits-hunk-state hunk) (and rejected 'rejected))
                   (pi-marks--cover hunk begin end))
          (pi-marks-sync file)
          (pi-buffer-save clean))))))

(defun pi-review--ask-about-mixed (hunks)
  "Ask whether HUNKS may go although the user changed some of them."
  (or (cl-notany #'pi-edits-hunk-mixed hunks)
      (y-or-n-p "You have changed these lines, too; take all of it back? ")
      (user-error "Nothing was changed")))

(defun pi-review--reject-created (file)
  "Delete FILE, which the agent made, if the user wants that."
  (let ((path (pi-edits-file-path file)))
    (unless (y-or-n-p (format "Delete %s, which is new? " (abbreviate-file-name path)))
      (user-error "Nothing was changed"))
    (delete-file path t)
    (pi-review--note (format "The user rejected the new file %s and deleted it."
                             (pi-track-name pi-review--session file)))
    (pi-review--forget file)))

(defun pi-review--note (text)
  "Let the model of the current buffer's session know TEXT with the next request."
  (when (pi-session-agent pi-review--session)
    (pi-session-command pi-review--session 'add-note :text text)))

(defun pi-review-reject ()
  "Take the hunk at point back, in the buffer of its file."
  (interactive)
  (let* ((hunk (pi-review--hunk))
         (file (pi-edits-hunk-file hunk))
         (next (ignore-errors (save-excursion (diff-hunk-next)
                                              (get-text-property (point) 'pi-hunk)))))
    (when (pi-edits-hunk-state hunk)
      (user-error "This was taken back already"))
    (if (and (pi-edits-file-created file) (equal "" (pi-edits-hunk-old hunk)))
        (pi-review--reject-created file)
      (pi-review--ask-about-mixed (list hunk))
      (pi-review--swap file (list hunk) t)
      (setq pi-review--rejected hunk))
    (pi-review--redraw (or next hunk))))

(defun pi-review-reject-file ()
  "Take all hunks of the file at point back, as one step of undo."
  (interactive)
  (let* ((file (pi-review--file))
         (hunks (cl-remove-if #'pi-edits-hunk-state
                              (pi-review--hunks pi-review--session file))))
    (unless hunks
      (user-error "Nothing to take back"))
    (if (pi-edits-file-created file)
        (pi-review--reject-created file)
      (pi-review--ask-about-mixed hunks)
      (pi-review--swap file hunks t)
      (setq pi-review--rejected (car hunks)))
    (pi-review--redraw)))

(defun pi-review-restore ()
  "Make the rejected change at point, or the one rejected last, again."
  (interactive)
  (let* ((here (get-text-property (point) 'pi-hunk))
         (hunk (if (and here (pi-edits-hunk-state here)) here pi-review--rejected)))
    (unless (and hunk (memq (pi-edits-hunk-state hunk) '(rejected reverted)))
      (user-error "Nothing was rejected here"))
    (pi-review--swap (pi-edits-hunk-file hunk) (list hunk) nil)
    (pi-review--redraw hunk)))

(defun pi-review--forget (file)
  "What is shown of FILE was reviewed."
  (let ((edits (pi-edits-of pi-review--session)))
    (setf (pi-edits-file-opaque file) nil)
    (dolist (hunk (pi-review--hunks pi-review--session file))
      (pi-marks-forget edits hunk))
    (pi-edits--tidy edits)))

(defun pi-review-accept-all ()
  "All that is shown is fine: take the marks away and bury the buffer."
  (interactive)
  (pi-track--tell pi-review--session)
  (mapc #'pi-review--forget (pi-review--files pi-review--session))
  (pi-review--draw)
  (quit-window))

;;; next-error

(defvar-local pi-review--at nil
  "Which edit of the last turn `next-error' went to, from 0; nil at first.")

(defun pi-review-next-error (n &optional reset)
  "Go N edits of the last turn on, from the first one if RESET."
  (let* ((session (pi-review--current-session))
         (pi-review--whole nil)
         (hunks (mapcan (lambda (file)
                          (copy-sequence (pi-review--hunks session file)))
                        (pi-review--files session)))
         (at (+ n (if (or reset (not pi-review--at)) (if (> n 0) -1 0) pi-review--at))))
    (unless (and (>= at 0) (nth at hunks))
      (user-error "No more edits"))
    (setq pi-review--at at)
    (pi-review--visit (nth at hunks))))

(defun pi-review--visit (hunk)
  "Go to HUNK in its file."
  (let ((file (pi-edits-hunk-file hunk)))
    (pop-to-buffer (pi-review--visiting file))
    (pi-marks-place file)
    (pi-marks-sync file)
    (let ((place (save-restriction (widen) (pi-review--place hunk))))
      (when place
        (unless (<= (point-min) (car place) (point-max))
          (widen))
        (goto-char (car place))))))

;;; What happens meanwhile

(defun pi-review--turn (session _event)
  "A run of SESSION begins: `next-error' will walk its edits."
  (when (buffer-live-p (pi-session-buffer session))
    (with-current-buffer (pi-session-buffer session)
      (setq pi-review--at nil)
      (unless next-error-function
        (setq next-error-function #'pi-review-next-error)))))

(defun pi-review--trouble (session text)
  "Show TEXT, which the user should know, in SESSION."
  (when session
    (pi-render-in session (pi-render-remark text 'pi-error))))

(defvar pi-review--timer nil
  "The timer that will draw the changes that are seen.")

(defun pi-review--later ()
  "Draw the changes again where they are seen, soon."
  (unless pi-review--timer
    (setq pi-review--timer (run-at-time 0.2 nil #'pi-review--redraw-seen))))

(defun pi-review--redraw-seen ()
  "Draw the changes again in the buffers that are seen."
  (setq pi-review--timer nil)
  (dolist (session pi-session--all)
    (let ((buffer (get-buffer (format "*pi-changes: %s*" (pi-session-name session)))))
      (when (and buffer (get-buffer-window buffer t))
        (with-current-buffer buffer
          (pi-review-refresh))))))

(add-hook 'pi-buffer-trouble-functions #'pi-review--trouble)
(add-hook 'pi-edits-changed-hook #'pi-review--later)
(pi-session-on "agent_start" #'pi-review--turn)

(provide 'pi-review)
;;; pi-review.el ends here
