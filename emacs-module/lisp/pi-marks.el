;;; pi-marks.el --- Mark in buffers what the agent changed  -*- lexical-binding: t; -*-

;; SPDX-License-Identifier: MIT

;;; Commentary:

;; In a buffer each hunk of pi-edits.el has an overlay, which the user's own changes move
;; along.  It highlights what is new until the next command and marks its lines until they
;; were reviewed.  Looking at the text under it tells whether the user took the change
;; back, by undo or otherwise, or changed it further; the mark goes with what was taken
;; back.

;;; Code:

(require 'cl-lib)
(require 'pi-buffer)
(require 'pi-edits)

(defcustom pi-review-marks t
  "Whether changes that were not reviewed are marked beside their lines.
The mark is in the fringe or, on a terminal, in the margin."
  :type 'boolean
  :group 'pi
  :package-version '(pi . "0.1.0"))

(defface pi-edited '((t :inherit diff-added))
  "What the agent has just changed, until the next command."
  :group 'pi)

(defface pi-edited-mark '((t :inherit success))
  "The mark beside lines that the agent changed."
  :group 'pi)

;;; Overlays

(defvar pi-marks--fresh nil
  "Overlays that are highlighted until the next command.")

(defun pi-marks--fade ()
  "Take the highlight from what the agent changed."
  (remove-hook 'pre-command-hook #'pi-marks--fade)
  (dolist (overlay pi-marks--fresh)
    (overlay-put overlay 'face nil))
  (setq pi-marks--fresh nil))

(defun pi-marks--highlight (overlay)
  "Highlight OVERLAY until the next command."
  (overlay-put overlay 'face 'pi-edited)
  (push overlay pi-marks--fresh)
  (add-hook 'pre-command-hook #'pi-marks--fade))

(defun pi-marks--mark (hunk)
  "The sign beside the lines of HUNK."
  (let ((sign (if (equal (pi-edits-hunk-new hunk) "") "_" "+")))
    (if (display-graphic-p)
        (propertize " " 'display '(left-fringe vertical-bar pi-edited-mark))
      (propertize " " 'display
                  (list '(margin left-margin)
                        (propertize sign 'face 'pi-edited-mark))))))

(defun pi-marks--cover (hunk begin end)
  "Let the overlay of HUNK go from BEGIN to END of the current buffer."
  (let ((overlay (pi-edits-hunk-overlay hunk))
        (standing (null (pi-edits-hunk-state hunk))))
    (pi-edits--drop-overlay hunk)
    ;; What is typed at the edges is outside; but where lines were deleted, what comes
    ;; back is inside.
    (setq overlay (make-overlay begin end nil (< begin end) (= begin end)))
    (overlay-put overlay 'pi-edits-hunk hunk)
    (overlay-put overlay 'help-echo "Changed by pi, not reviewed yet")
    (dolist (hook '(modification-hooks insert-in-front-hooks insert-behind-hooks))
      (overlay-put overlay hook '(pi-marks--touch)))
    (when (and standing pi-review-marks)
      (overlay-put overlay 'before-string (pi-marks--mark hunk)))
    (setf (pi-edits-hunk-overlay hunk) overlay)))

(defvar-local pi-marks--margin nil
  "The width of the left margin before the marks came, as a list.")

(defun pi-marks--show-margin (wanted)
  "Make room for the marks beside the current buffer, or end that, as WANTED says."
  (unless (or (display-graphic-p) (eq (and wanted t) (and pi-marks--margin t)))
    (if wanted
        (setq pi-marks--margin (list left-margin-width)
              left-margin-width (max 1 (or left-margin-width 0)))
      (setq left-margin-width (car pi-marks--margin)
            pi-marks--margin nil))
    (dolist (window (get-buffer-window-list nil nil t))
      (set-window-margins window (and (< 0 (or left-margin-width 0)) left-margin-width)
                          (cdr (window-margins window))))))

(defun pi-marks--buffer-hunks ()
  "The hunks that have an overlay in the current buffer."
  (let (hunks)
    (maphash (lambda (_session edits)
               (dolist (file (pi-edits-files edits))
                 (dolist (hunk (pi-edits-file-hunks file))
                   (when (and (pi-edits-hunk-overlay hunk)
                              (eq (overlay-buffer (pi-edits-hunk-overlay hunk))
                                  (current-buffer)))
                     (push hunk hunks)))))
             pi-edits--all)
    hunks))

(defun pi-marks-place (file &optional fresh)
  "Put overlays on the hunks of FILE in the current buffer.
FRESH is a list of hunks to highlight."
  (save-excursion
    (save-restriction
      (widen)
      (pi-edits--without-cr file)
      (dolist (hunk (pi-edits-file-hunks file))
        (unless (and (pi-edits-hunk-overlay hunk)
                     (overlay-buffer (pi-edits-hunk-overlay hunk)))
          (let ((place (pi-edits-find hunk)))
            (when (eq (pi-edits-hunk-state hunk) 'lost)
              (setf (pi-edits-hunk-state hunk) nil))
            (if (not place)
                (setf (pi-edits-hunk-state hunk) 'lost)
              (pi-marks--cover hunk (car place) (cdr place))
              (when (memq hunk fresh)
                (pi-marks--highlight (pi-edits-hunk-overlay hunk)))))))
      (add-hook 'kill-buffer-hook #'pi-marks--leave nil t)
      (add-hook 'before-revert-hook #'pi-marks--leave nil t)
      (add-hook 'after-revert-hook #'pi-marks--arrive nil t)
      (pi-marks--show-margin (and pi-review-marks (pi-marks--buffer-hunks))))))

(defun pi-marks--files-here ()
  "The changed files that the current buffer visits."
  (let (files)
    (when (and buffer-file-name (not (file-remote-p buffer-file-name)))
      (maphash (lambda (_session edits)
                 (dolist (file (pi-edits-files edits))
                   (when (member (pi-edits-file-path file)
                                 (list buffer-file-name buffer-file-truename
                                       (expand-file-name buffer-file-truename)))
                     (push file files))))
               pi-edits--all))
    files))

(defun pi-marks--leave ()
  "The current buffer goes or is read again: its hunks remember their lines."
  (mapc #'pi-marks-sync (pi-marks--files-here))
  (mapc #'pi-edits--drop-overlay (pi-marks--buffer-hunks)))

(defun pi-marks--arrive ()
  "The current buffer has the text of its file: mark the hunks."
  (mapc #'pi-marks-place (pi-marks--files-here)))

;;; What the user did

(defun pi-marks--bounds (overlay)
  "The whole lines of OVERLAY as (BEGIN . END)."
  (save-excursion
    (goto-char (overlay-start overlay))
    (let ((begin (if (= (overlay-start overlay) (overlay-end overlay))
                     (point)
                   (line-beginning-position))))
      (goto-char (overlay-end overlay))
      (cons begin (if (or (bolp) (= begin (point)))
                      (point)
                    (min (point-max) (1+ (line-end-position))))))))

(defun pi-marks--beside (text at)
  "Where the lines TEXT stand beside AT, as (BEGIN . END), or nil."
  (let ((before (- at (length text))))
    (cond ((equal text "") nil)
          ((pi-edits--at-p text at) (cons at (+ at (length text))))
          ((and (>= before (point-min)) (pi-edits--at-p text before)) (cons before at)))))

(defun pi-marks--within (text begin end)
  "Where the lines TEXT are among those of BEGIN to END, as (BEGIN . END), or nil."
  (save-excursion
    (goto-char begin)
    (let ((limit (min (point-max) (+ end (length text))))
          (case-fold-search nil)
          found)
      (while (and (not found) (not (equal text ""))
                  (search-forward text limit t))
        (goto-char (match-beginning 0))
        (if (and (bolp) (pi-edits--at-p text (point)))
            (setq found (cons (point) (+ (point) (length text))))
          (forward-char 1)))
      found)))

(defun pi-marks--whereabouts (hunk begin end)
  "What became of HUNK, whose overlay has the lines of BEGIN to END.
Return (KIND BEGIN . END), where KIND is `new' or `old' for the text that
is there, or nil for another one."
  (let* ((text (buffer-substring-no-properties begin end))
         (old (pi-edits-hunk-old hunk))
         (new (pi-edits-hunk-new hunk))
         (state (pi-edits-hunk-state hunk))
         ;; Lines that were replaced may have come back outside of the overlay.  Where
         ;; lines were deleted they come inside, and equal ones may stand beside.
         (gone (and (equal text "") (not (equal text (pi-edits-now hunk)))))
         place)
    (cond ((and gone state (setq place (pi-marks--beside new begin)))
           (cons 'new place))
          ((and gone (setq place (pi-marks--beside old begin)))
           (cons 'old place))
          ((string= text new) (cons 'new (cons begin end)))
          ((string= text old) (cons 'old (cons begin end)))
          ;; Undoing may leave an overlay with a line too many.
          ((and (not (equal text "")) (setq place (pi-marks--within new begin end)))
           (cons 'new place))
          ((and (not (equal text "")) (setq place (pi-marks--within old begin end)))
           (cons 'old place))
          (t (cons nil (cons begin end))))))

(defun pi-marks--judge (hunk begin end)
  "Find out what the user did with HUNK, whose lines are BEGIN to END.
Return where it begins."
  (pcase-let ((`(,kind ,from . ,to) (pi-marks--whereabouts hunk begin end))
              (state (pi-edits-hunk-state hunk)))
    (pcase kind
      ('new (setf (pi-edits-hunk-state hunk) nil))
      ('old (unless state (setf (pi-edits-hunk-state hunk) 'reverted)))
      (_ (setf (pi-edits-hunk-new hunk) (buffer-substring-no-properties from to)
               (pi-edits-hunk-state hunk) nil
               (pi-edits-hunk-mixed hunk) t)))
    (unless (and (eq state (pi-edits-hunk-state hunk))
                 (= from (overlay-start (pi-edits-hunk-overlay hunk)))
                 (= to (overlay-end (pi-edits-hunk-overlay hunk))))
      (pi-marks--cover hunk from to))
    from))

(defconst pi-marks--quick 100000
  "Characters up to which a hunk is looked at after each command that changes it.")

(defvar pi-marks--touched nil
  "Overlays whose text has changed since the last command.")

(defun pi-marks--touch (overlay after &rest _)
  "See to OVERLAY when this command is done, AFTER its text has changed."
  (when after
    (cl-pushnew overlay pi-marks--touched)
    (add-hook 'post-command-hook #'pi-marks--settle)))

(defun pi-marks--settle ()
  "Let marks go with changes that this command took back, and come again.
What is neither the old text nor the new one may become that when the user
goes on, so it is left alone here."
  (remove-hook 'post-command-hook #'pi-marks--settle)
  (let ((overlays pi-marks--touched)
        (changed nil))
    (setq pi-marks--touched nil)
    (dolist (overlay overlays)
      (when (overlay-buffer overlay)
        (with-current-buffer (overlay-buffer overlay)
          (save-excursion
            (save-restriction
              (widen)
              (when (pi-marks--settle-1 overlay)
                (setq changed t)))))))
    (when changed
      (run-hooks 'pi-edits-changed-hook))))

(defun pi-marks--settle-1 (overlay)
  "Judge the hunk of OVERLAY if it was taken back or restored, and return whether."
  (pcase-let* ((hunk (overlay-get overlay 'pi-edits-hunk))
               (`(,begin . ,end) (pi-marks--bounds overlay))
               (kind (and (< (- end begin) pi-marks--quick)
                          (car (pi-marks--whereabouts hunk begin end)))))
    (when (and kind (eq (eq kind 'old) (null (pi-edits-hunk-state hunk))))
      (pi-marks--judge hunk begin end)
      t)))

(defun pi-marks-sync (file)
  "Let the hunks of FILE know where they are and what the user did with them.
The current buffer visits it."
  (save-excursion
    (save-restriction
      (widen)
      (let ((line 1)
            (at (point-min))
            (placed (cl-remove-if-not
                     (lambda (hunk)
                       (let ((overlay (pi-edits-hunk-overlay hunk)))
                         (and overlay (eq (overlay-buffer overlay) (current-buffer)))))
                     (pi-edits-file-hunks file))))
        (dolist (hunk (cl-sort placed #'< :key (lambda (hunk)
                                                 (overlay-start
                                                  (pi-edits-hunk-overlay hunk)))))
          (pcase-let* ((`(,begin . ,end) (pi-marks--bounds (pi-edits-hunk-overlay hunk)))
                       (begin (pi-marks--judge hunk begin end)))
            (when (< begin at)
              (setq line 1 at (point-min)))
            (setq line (+ line (count-lines at begin))
                  at begin)
            (setf (pi-edits-hunk-line hunk) line)))
        (setf (pi-edits-file-hunks file)
              (sort (pi-edits-file-hunks file) #'pi-edits--before-p))))))

(defun pi-marks-sync-all (edits)
  "Look at the buffers of all files of EDITS."
  (dolist (file (pi-edits-files edits))
    (let ((buffer (pi-buffer-visiting (pi-edits-file-path file))))
      (when buffer
        (with-current-buffer buffer
          (pi-marks-sync file))))))

(defun pi-marks-forget (edits hunk)
  "HUNK of EDITS was reviewed."
  (let* ((file (pi-edits-hunk-file hunk))
         (overlay (pi-edits-hunk-overlay hunk))
         (buffer (and overlay (overlay-buffer overlay))))
    (setf (pi-edits-file-hunks file) (delq hunk (pi-edits-file-hunks file)))
    (pi-edits--drop-overlay hunk)
    (when buffer
      (with-current-buffer buffer
        (pi-marks--show-margin (pi-marks--buffer-hunks))))
    (pi-edits--tidy edits)))

(provide 'pi-marks)
;;; pi-marks.el ends here
