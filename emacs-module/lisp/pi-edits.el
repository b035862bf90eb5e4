;;; pi-edits.el --- What the agent changed  -*- lexical-binding: t; -*-

;; SPDX-License-Identifier: MIT

;;; Commentary:

;; The changes of a session that the user has not reviewed yet, as hunks: whole lines
;; before and after.  They come from the buffers that were changed (`pi-buffer-apply') and,
;; for files that no buffer visits, from the patches in the results of tools.  No file is
;; visited for this, and no old version of a file is kept.
;;
;; A change of lines that an earlier change made joins its hunk.  In a buffer a hunk has an
;; overlay, which the user's own changes move along; that is also how taking a change
;; back is noticed.  Where no buffer is, a hunk has the number of its line and is looked
;; for near it.

;;; Code:

(require 'cl-lib)
(require 'subr-x)
(require 'pi-buffer)

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

(defconst pi-edits--too-long 2000000
  "Characters of a change above which it is listed without its text.")

(cl-defstruct (pi-edits (:constructor pi-edits--make) (:copier nil))
  "The changes of a session."
  directory                             ; of the session
  (turn 0)                              ; counts the runs
  files                                 ; pi-edits-file structs, oldest first
  served                                ; files whose buffer was changed by a call
  written)                              ; toolCallId -> path of calls of write that run

(cl-defstruct (pi-edits-file (:constructor pi-edits--file-make) (:copier nil))
  "A file that was changed."
  path
  hunks                                 ; in the order of their lines
  created                               ; by the agent
  opaque                                ; the turn of a change that has no text
  turn)                                 ; of the last change

(cl-defstruct (pi-edits-hunk (:constructor pi-edits--hunk-make) (:copier nil))
  "Some lines that were changed."
  file
  line                                  ; of the first one, as the file is now
  old new                               ; whole lines
  turn                                  ; of the last change
  state                                 ; see `pi-edits--states'
  mixed                                 ; the user changed these lines, too
  told                                  ; the state that the model knows
  overlay)                              ; in the buffer of the file

(defconst pi-edits--states '(nil rejected reverted lost)
  "The change stands; it was rejected; it was undone; its lines are gone.")

(defvar pi-edits--all (make-hash-table :test #'eq :weakness 'key)
  "Session -> `pi-edits'.")

(defun pi-edits-of (session)
  "The changes of SESSION."
  (or (gethash session pi-edits--all)
      (puthash session (pi-edits--make) pi-edits--all)))

(defun pi-edits-file-of (edits path)
  "The file PATH of EDITS, added when it is not there."
  (or (cl-find path (pi-edits-files edits) :key #'pi-edits-file-path :test #'equal)
      (let ((file (pi-edits--file-make :path path)))
        (setf (pi-edits-files edits) (append (pi-edits-files edits) (list file)))
        file)))

;;; Lines

(defun pi-edits--lines (text)
  "The lines of TEXT, each with its end."
  (let ((start 0)
        lines)
    (while (string-match "\n" text start)
      (push (substring text start (match-end 0)) lines)
      (setq start (match-end 0)))
    (when (< start (length text))
      (push (substring text start) lines))
    (nreverse lines)))

(defun pi-edits-count (text)
  "How many lines TEXT has."
  (+ (cl-count ?\n text)
     (if (or (equal text "") (string-suffix-p "\n" text)) 0 1)))

(defun pi-edits-now (hunk)
  "The text that is in the file where HUNK is."
  (if (memq (pi-edits-hunk-state hunk) '(rejected reverted))
      (pi-edits-hunk-old hunk)
    (pi-edits-hunk-new hunk)))

(defun pi-edits--end (hunk)
  "The number of the line behind HUNK."
  (+ (pi-edits-hunk-line hunk) (pi-edits-count (pi-edits-now hunk))))

(defvar pi-edits-changed-hook nil
  "Hook run when the changes of some session are others than before.")

;;; Adding a change

(defun pi-edits--before-p (a b)
  "Whether hunk A is before B; what has no lines is before what stands there."
  (let ((line-a (pi-edits-hunk-line a))
        (line-b (pi-edits-hunk-line b)))
    (or (< line-a line-b)
        (and (= line-a line-b)
             (< (pi-edits--end a) (pi-edits--end b))))))

(defun pi-edits--touch-p (hunk first last)
  "Whether HUNK shares lines with FIRST up to LAST, exclusive.
What has no lines touches what it stands beside."
  (let ((from (pi-edits-hunk-line hunk))
        (to (pi-edits--end hunk)))
    (if (or (= from to) (= first last))
        (and (<= from last) (>= to first))
      (and (< from last) (> to first)))))

(defun pi-edits--slice (lines from to)
  "LINES from number FROM to TO, exclusive, as a text."
  (let* ((from (min (max 0 from) (length lines)))
         (to (max from (min to (length lines)))))
    (apply #'concat (cl-subseq lines from to))))

(defun pi-edits--before (hunks first old)
  "What was there before HUNKS, and before the lines OLD at FIRST changed."
  (let ((lines (pi-edits--lines old))
        (at first)
        parts)
    (dolist (hunk hunks)
      (push (pi-edits--slice lines (- at first) (- (pi-edits-hunk-line hunk) first)) parts)
      (push (pi-edits-hunk-old hunk) parts)
      (setq at (max at (pi-edits--end hunk))))
    (push (pi-edits--slice lines (- at first) (length lines)) parts)
    (apply #'concat (nreverse parts))))

(defun pi-edits--after (hunks first last new)
  "What is there when the lines FIRST up to LAST, among HUNKS, become NEW."
  (let ((head (car hunks))
        (tail (car (last hunks))))
    (concat (and head (< (pi-edits-hunk-line head) first)
                 (pi-edits--slice (pi-edits--lines (pi-edits-hunk-new head))
                                  0 (- first (pi-edits-hunk-line head))))
            new
            (and tail (> (pi-edits--end tail) last)
                 (let ((lines (pi-edits--lines (pi-edits-hunk-new tail))))
                   (pi-edits--slice lines (- last (pi-edits-hunk-line tail))
                                    (length lines)))))))

(defun pi-edits--trimmed (line old new)
  "LINE, OLD and NEW as a list, without the lines that are equal at the ends."
  (let ((olds (pi-edits--lines old))
        (news (pi-edits--lines new)))
    (while (and olds news (equal (car olds) (car news)))
      (setq olds (cdr olds) news (cdr news) line (1+ line)))
    (setq olds (nreverse olds) news (nreverse news))
    (while (and olds news (equal (car olds) (car news)))
      (setq olds (cdr olds) news (cdr news)))
    (list line (apply #'concat (nreverse olds)) (apply #'concat (nreverse news)))))

(defun pi-edits--drop-overlay (hunk)
  "Forget the overlay of HUNK."
  (when (pi-edits-hunk-overlay hunk)
    (delete-overlay (pi-edits-hunk-overlay hunk))
    (setf (pi-edits-hunk-overlay hunk) nil)))

(defun pi-edits--add (file line old new turn)
  "In TURN the lines OLD at LINE of FILE became NEW."
  (let* ((last (+ line (pi-edits-count old)))
         (shift (- (pi-edits-count new) (pi-edits-count old)))
         (all (pi-edits-file-hunks file))
         (touched (cl-remove-if-not (lambda (hunk) (pi-edits--touch-p hunk line last)) all))
         (joined (cl-remove-if #'pi-edits-hunk-state touched))
         (rest (cl-remove-if (lambda (hunk) (memq hunk touched)) all)))
    (mapc #'pi-edits--drop-overlay touched)
    (dolist (hunk rest)
      (when (>= (pi-edits-hunk-line hunk) last)
        (cl-incf (pi-edits-hunk-line hunk) shift)))
    (pcase-let ((`(,first ,before ,after)
                 (pi-edits--trimmed
                  (min line (if joined (pi-edits-hunk-line (car joined)) line))
                  (pi-edits--before joined line old)
                  (pi-edits--after joined line last new))))
      (unless (equal before after)
        (push (pi-edits--hunk-make :file file :line first :old before :new after
                                   :turn turn
                                   :mixed (cl-some #'pi-edits-hunk-mixed joined))
              rest)))
    (setf (pi-edits-file-hunks file) (sort rest #'pi-edits--before-p)
          (pi-edits-file-turn file) turn)))

(defun pi-edits-add (session path changes)
  "Note that SESSION changed the file PATH by CHANGES.
They are a list of (LINE OLD NEW), made one after another."
  (let* ((edits (pi-edits-of session))
         (file (pi-edits-file-of edits path))
         (turn (pi-edits-turn edits)))
    (pcase-dolist (`(,line ,old ,new) changes)
      (if (> (+ (length old) (length new)) pi-edits--too-long)
          (setf (pi-edits-file-opaque file) turn
                (pi-edits-file-turn file) turn)
        (pi-edits--add file line old new turn)))
    (pi-edits--tidy edits)
    (run-hooks 'pi-edits-changed-hook)))

(defun pi-edits--tidy (edits)
  "Forget the files of EDITS in which nothing is changed any more."
  (setf (pi-edits-files edits)
        (cl-remove-if-not (lambda (file)
                            (or (pi-edits-file-hunks file) (pi-edits-file-opaque file)))
                          (pi-edits-files edits))))

;;; Patches

(defun pi-edits--patch-run (lines)
  "Take the changed lines at the start of LINES, of a patch.
Return (OLD NEW . REST)."
  (let (old new into)
    (while (and lines (string-match-p "\\`[-+\\]" (car lines)))
      (pcase (aref (car lines) 0)
        (?- (push (substring (car lines) 1) old) (setq into 'old))
        (?+ (push (substring (car lines) 1) new) (setq into 'new))
        ;; "\ No newline at end of file"
        (_ (let ((list (if (eq into 'old) old new)))
             (when list
               (setcar list (string-remove-suffix "\n" (car list)))))))
      (setq lines (cdr lines)))
    (cons (apply #'concat (nreverse old))
          (cons (apply #'concat (nreverse new)) lines))))

(defun pi-edits--patch-hunk (header lines)
  "The changes of a patch's hunk with HEADER and LINES.
Return (CHANGES . REST)."
  (let ((line (string-to-number (match-string 1 header)))
        changes)
    (when (equal (match-string 2 header) "0")
      (setq line (1+ line)))
    (while (and lines (string-match-p "\\`[-+ \\]" (car lines)))
      (if (string-prefix-p " " (car lines))
          (setq line (1+ line) lines (cdr lines))
        (pcase-let ((`(,old ,new . ,rest) (pi-edits--patch-run lines)))
          (push (list line old new) changes)
          (setq line (+ line (pi-edits-count new))
                lines rest))))
    (cons (nreverse changes) lines)))

(defun pi-edits-parse (patch)
  "The changes (LINE OLD NEW) in PATCH, a unified diff of one file."
  (let ((lines (pi-edits--lines patch))
        changes)
    (while lines
      (let ((header (pop lines)))
        (when (string-match "\\`@@ -[0-9,]+ \\+\\([0-9]+\\)\\(?:,\\([0-9]+\\)\\)? @@" header)
          (pcase-let ((`(,more . ,rest) (pi-edits--patch-hunk header lines)))
            (setq changes (append changes more)
                  lines rest)))))
    changes))

(defun pi-edits--patch-path (edits patch)
  "The file that PATCH is about, in the directory of EDITS."
  (when (string-match "^\\+\\+\\+ b/\\([^\t\n]+\\)" patch)
    (expand-file-name (match-string 1 patch) (pi-edits-directory edits))))

;;; Places

(defun pi-edits--at-p (text position)
  "Whether whole lines TEXT are at POSITION of the current buffer."
  (let ((end (+ position (length text))))
    (and (<= end (point-max))
         (string= text (buffer-substring-no-properties position end))
         (or (equal text "") (string-suffix-p "\n" text) (= end (point-max))))))

(defun pi-edits--search (text near forward)
  "The first place of the lines TEXT behind NEAR, or nil.
Before NEAR unless FORWARD."
  (let ((case-fold-search nil)
        found)
    (goto-char near)
    (while (and (not found)
                (if forward
                    (search-forward text nil t)
                  (search-backward text nil t)))
      (goto-char (match-beginning 0))
      (if (and (bolp) (pi-edits--at-p text (point)))
          (setq found (point))
        (when forward
          (forward-char 1))))
    found))

(defun pi-edits--nearest (text near)
  "The place of the lines TEXT that is nearest to NEAR, or nil."
  (let ((after (pi-edits--search text near t))
        (before (pi-edits--search text near nil)))
    (if (and after before (< (- near before) (- after near)))
        before
      (or after before))))

(defun pi-edits-find (hunk)
  "Where HUNK is in the current, widened buffer, as (BEGIN . END); nil if gone."
  (save-excursion
    (let ((text (pi-edits-now hunk))
          at)
      (goto-char (point-min))
      (forward-line (1- (pi-edits-hunk-line hunk)))
      (setq at (if (pi-edits--at-p text (point))
                   (point)
                 (and (not (equal text "")) (pi-edits--nearest text (point)))))
      (when at
        (cons at (+ at (length text)))))))

(defun pi-edits--without-cr (file)
  "Let the hunks of FILE have line ends as the current buffer has."
  (when (eql 1 (coding-system-eol-type (or buffer-file-coding-system 'undecided)))
    (dolist (hunk (pi-edits-file-hunks file))
      (setf (pi-edits-hunk-old hunk)
            (string-replace "\r\n" "\n" (pi-edits-hunk-old hunk))
            (pi-edits-hunk-new hunk)
            (string-replace "\r\n" "\n" (pi-edits-hunk-new hunk))))))

;;; Overlays

(defvar pi-edits--fresh nil
  "Overlays that are highlighted until the next command.")

(defun pi-edits--fade ()
  "Take the highlight from what the agent changed."
  (remove-hook 'pre-command-hook #'pi-edits--fade)
  (dolist (overlay pi-edits--fresh)
    (overlay-put overlay 'face nil))
  (setq pi-edits--fresh nil))

(defun pi-edits--highlight (overlay)
  "Highlight OVERLAY until the next command."
  (overlay-put overlay 'face 'pi-edited)
  (push overlay pi-edits--fresh)
  (add-hook 'pre-command-hook #'pi-edits--fade))

(defun pi-edits--mark (hunk)
  "The sign beside the lines of HUNK."
  (let ((sign (if (equal (pi-edits-hunk-new hunk) "") "_" "+")))
    (if (display-graphic-p)
        (propertize " " 'display '(left-fringe vertical-bar pi-edited-mark))
      (propertize " " 'display
                  (list '(margin left-margin)
                        (propertize sign 'face 'pi-edited-mark))))))

(defun pi-edits--cover (hunk begin end)
  "Let the overlay of HUNK go from BEGIN to END of the current buffer."
  (let ((overlay (pi-edits-hunk-overlay hunk))
        (standing (null (pi-edits-hunk-state hunk))))
    (pi-edits--drop-overlay hunk)
    ;; What is typed at the edges is outside; but where lines were deleted, what comes
    ;; back is inside.
    (setq overlay (make-overlay begin end nil (< begin end) (= begin end)))
    (overlay-put overlay 'pi-edits-hunk hunk)
    (overlay-put overlay 'help-echo "Changed by pi, not reviewed yet")
    (when (and standing pi-review-marks)
      (overlay-put overlay 'before-string (pi-edits--mark hunk)))
    (setf (pi-edits-hunk-overlay hunk) overlay)))

(defvar-local pi-edits--margin nil
  "The width of the left margin before the marks came, as a list.")

(defun pi-edits--show-margin (wanted)
  "Make room for the marks beside the current buffer, or end that, as WANTED says."
  (unless (or (display-graphic-p) (eq (and wanted t) (and pi-edits--margin t)))
    (if wanted
        (setq pi-edits--margin (list left-margin-width)
              left-margin-width (max 1 (or left-margin-width 0)))
      (setq left-margin-width (car pi-edits--margin)
            pi-edits--margin nil))
    (dolist (window (get-buffer-window-list nil nil t))
      (set-window-margins window (and (< 0 (or left-margin-width 0)) left-margin-width)
                          (cdr (window-margins window))))))

(defun pi-edits--buffer-hunks ()
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

(defun pi-edits-place (file &optional fresh)
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
              (pi-edits--cover hunk (car place) (cdr place))
              (when (memq hunk fresh)
                (pi-edits--highlight (pi-edits-hunk-overlay hunk)))))))
      (add-hook 'kill-buffer-hook #'pi-edits--leave nil t)
      (add-hook 'before-revert-hook #'pi-edits--leave nil t)
      (add-hook 'after-revert-hook #'pi-edits--arrive nil t)
      (pi-edits--show-margin (and pi-review-marks (pi-edits--buffer-hunks))))))

(defun pi-edits--files-here ()
  "The changed files that the current buffer visits."
  (let (files)
    (when buffer-file-name
      (maphash (lambda (_session edits)
                 (dolist (file (pi-edits-files edits))
                   (when (member (pi-edits-file-path file)
                                 (list buffer-file-name buffer-file-truename
                                       (expand-file-name buffer-file-truename)))
                     (push file files))))
               pi-edits--all))
    files))

(defun pi-edits--leave ()
  "The current buffer goes or is read again: its hunks remember their lines."
  (mapc #'pi-edits-sync (pi-edits--files-here))
  (mapc #'pi-edits--drop-overlay (pi-edits--buffer-hunks)))

(defun pi-edits--arrive ()
  "The current buffer has the text of its file: mark the hunks."
  (mapc #'pi-edits-place (pi-edits--files-here)))

;;; What the user did

(defun pi-edits--bounds (overlay)
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

(defun pi-edits--returned (hunk at)
  "Where the old text of HUNK stands beside AT, as (BEGIN . END), or nil."
  (let* ((old (pi-edits-hunk-old hunk))
         (before (- at (length old))))
    (cond ((equal old "") nil)
          ((pi-edits--at-p old at) (cons at (+ at (length old))))
          ((and (>= before (point-min)) (pi-edits--at-p old before)) (cons before at)))))

(defun pi-edits--within (text begin end)
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

(defun pi-edits--whereabouts (hunk begin end)
  "What became of HUNK, whose overlay has the lines of BEGIN to END.
Return (KIND BEGIN . END), where KIND is `new' or `old' for the text that
is there, or nil for another one."
  (let* ((text (buffer-substring-no-properties begin end))
         (old (pi-edits-hunk-old hunk))
         (new (pi-edits-hunk-new hunk))
         (returned (and (equal text "")
                        ;; Where lines were deleted, equal ones may stand beside.
                        (or (pi-edits-hunk-state hunk) (not (equal new "")))
                        (pi-edits--returned hunk begin)))
         place)
    (cond (returned (cons 'old returned))
          ((string= text new) (cons 'new (cons begin end)))
          ((string= text old) (cons 'old (cons begin end)))
          ;; Undoing may leave an overlay with a line too many.
          ((and (not (equal text "")) (setq place (pi-edits--within new begin end)))
           (cons 'new place))
          ((and (not (equal text "")) (setq place (pi-edits--within old begin end)))
           (cons 'old place))
          (t (cons nil (cons begin end))))))

(defun pi-edits--judge (hunk begin end)
  "Find out what the user did with HUNK, whose lines are BEGIN to END.
Return where it begins."
  (pcase-let ((`(,kind ,from . ,to) (pi-edits--whereabouts hunk begin end))
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
      (pi-edits--cover hunk from to))
    from))

(defun pi-edits-sync (file)
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
          (pcase-let* ((`(,begin . ,end) (pi-edits--bounds (pi-edits-hunk-overlay hunk)))
                       (begin (pi-edits--judge hunk begin end)))
            (when (< begin at)
              (setq line 1 at (point-min)))
            (setq line (+ line (count-lines at begin))
                  at begin)
            (setf (pi-edits-hunk-line hunk) line)))
        (setf (pi-edits-file-hunks file)
              (sort (pi-edits-file-hunks file) #'pi-edits--before-p))))))

(defun pi-edits-sync-all (edits)
  "Look at the buffers of all files of EDITS."
  (dolist (file (pi-edits-files edits))
    (let ((buffer (pi-buffer-visiting (pi-edits-file-path file))))
      (when buffer
        (with-current-buffer buffer
          (pi-edits-sync file))))))

(defun pi-edits-forget (edits hunk)
  "HUNK of EDITS was reviewed."
  (let* ((file (pi-edits-hunk-file hunk))
         (overlay (pi-edits-hunk-overlay hunk))
         (buffer (and overlay (overlay-buffer overlay))))
    (setf (pi-edits-file-hunks file) (delq hunk (pi-edits-file-hunks file)))
    (pi-edits--drop-overlay hunk)
    (when buffer
      (with-current-buffer buffer
        (pi-edits--show-margin (pi-edits--buffer-hunks))))
    (pi-edits--tidy edits)))

;;; Telling the model

(defun pi-edits--name (edits file)
  "The name of FILE for the model, in the directory of EDITS."
  (let ((path (pi-edits-file-path file))
        (directory (pi-edits-directory edits)))
    (if (and directory (file-in-directory-p path directory))
        (file-relative-name path directory)
      path)))

(defun pi-edits--news (edits file hunk)
  "A line about what the user did with HUNK in FILE of EDITS, or nil."
  (let ((state (pi-edits-hunk-state hunk))
        (place (format "%s:L%d" (pi-edits--name edits file) (pi-edits-hunk-line hunk))))
    (unless (or (eq state (pi-edits-hunk-told hunk)) (eq state 'lost))
      (setf (pi-edits-hunk-told hunk) state)
      (pcase state
        ('rejected (format "The user rejected your edit in %s." place))
        ('reverted (format "The user reverted your edit in %s." place))
        (_ (format "The user restored your edit in %s." place))))))

(defun pi-edits-news (session)
  "What the model of SESSION should know of the user's reviewing; nil if nothing."
  (let* ((edits (pi-edits-of session))
         (lines nil))
    (pi-edits-sync-all edits)
    (dolist (file (pi-edits-files edits))
      (dolist (hunk (pi-edits-file-hunks file))
        (let ((line (pi-edits--news edits file hunk)))
          (when line (push line lines)))))
    (and lines
         (concat (string-join (nreverse lines) "\n")
                 "\nDo not make these edits again unless the user asks for them."))))

;;; Where changes come from

(defun pi-edits--changing (session)
  "The current buffer is about to be changed for SESSION."
  (when session
    (mapc #'pi-edits-sync (pi-edits--files-here))))

(defun pi-edits--changed (session changes)
  "The current buffer was changed for SESSION by CHANGES."
  (when (and session (listp changes))
    (let* ((edits (pi-edits-of session))
           (path (expand-file-name buffer-file-truename))
           (file (pi-edits-file-of edits path))
           (known (copy-sequence (pi-edits-file-hunks file))))
      (push path (pi-edits-served edits))
      (pi-edits-add session path changes)
      (pi-edits-place file (cl-set-difference (pi-edits-file-hunks file) known)))))

(defun pi-edits--start (session event)
  "Remember what the call of EVENT in SESSION is going to write."
  (when (equal (plist-get event :toolName) "write")
    (push (cons (plist-get event :toolCallId)
                (plist-get (plist-get event :args) :path))
          (pi-edits-written (pi-edits-of session)))))

(defun pi-edits--from-result (edits event)
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

(defun pi-edits--created (path)
  "The change that made the file PATH."
  (if (> (or (file-attribute-size (file-attributes path)) 0) pi-edits--too-long)
      nil
    (with-temp-buffer
      (insert-file-contents path)
      (list (list 1 "" (buffer-string))))))

(defun pi-edits--end-of-call (session event)
  "Note what the call of EVENT in SESSION changed on disk."
  (let* ((edits (pi-edits-of session))
         (found (pi-edits--from-result edits event))
         (path (and (car found) (ignore-errors (file-truename (car found))))))
    (cond ((or (not path) (plist-get event :isError)) nil)
          ((member path (pi-edits-served edits))
           (setf (pi-edits-served edits) (delete path (pi-edits-served edits))))
          (t (pi-edits--note session path (cdr found))))))

(defun pi-edits--note (session path changes)
  "SESSION made CHANGES of PATH: a list, t for a new file, nil if nobody knows."
  (let* ((edits (pi-edits-of session))
         (file (pi-edits-file-of edits path))
         (buffer (pi-buffer-visiting path))
         (created (eq changes t)))
    (when created
      (setf (pi-edits-file-created file) t)
      (setq changes (pi-edits--created path)))
    (unless changes
      (setf (pi-edits-file-opaque file) (pi-edits-turn edits)
            (pi-edits-file-turn file) (pi-edits-turn edits)))
    (pi-edits-add session path changes)
    (when buffer
      (with-current-buffer buffer (pi-edits-place file)))))

(provide 'pi-edits)
;;; pi-edits.el ends here
