;;; pi-edits.el --- What the agent changed  -*- lexical-binding: t; -*-

;; SPDX-License-Identifier: MIT

;;; Commentary:

;; The changes of a session that the user has not reviewed yet, as hunks: whole lines
;; before and after.  They come from the buffers that were changed (`pi-buffer-apply') and,
;; for files that no buffer visits, from the patches in the results of tools.  No file is
;; visited for this, and no old version of a file is kept.
;;
;; A change of lines that an earlier change made joins its hunk.  In a buffer a hunk has an
;; overlay (pi-marks.el).  Where no buffer is, it has the number of its line and is looked
;; for near it.

;;; Code:

(require 'cl-lib)
(require 'subr-x)

(defconst pi-edits--too-long 2000000
  "Characters of a change above which it is listed without its text.")

(cl-defstruct (pi-edits (:constructor pi-edits--make) (:copier nil))
  "The changes of a session."
  directory                             ; of the session
  (turn 0)                              ; counts the runs
  files                                 ; pi-edits-file structs, oldest first
  served                                ; files whose buffer was changed by a call
  touched                               ; files that were changed in this run
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

(provide 'pi-edits)
;;; pi-edits.el ends here
