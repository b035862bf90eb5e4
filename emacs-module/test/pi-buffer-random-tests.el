;;; pi-buffer-random-tests.el --- Agent and user in one buffer  -*- lexical-binding: t; -*-

;; SPDX-License-Identifier: MIT

;;; Commentary:

;; Edits of the agent between typing, saving, reverting and narrowing, against a model of
;; what should come of it: no byte is lost, each edit is one step of undo, and what stands
;; outside an edit stays where it was.

;;; Code:

(require 'ert)
(require 'cl-lib)
(require 'pi-buffer)

(setq make-backup-files nil
      create-lockfiles nil
      mode-require-final-newline nil)

(defvar pi-random--text nil
  "What should be in the buffer.")

(defvar pi-random--saved nil
  "What should be on disk, as text.")

(defvar pi-random--encode nil
  "Function from text to the bytes of the file.")

(defvar pi-random--extra nil
  "Characters that the file can hold beside ASCII.")

(defun pi-random--string (longest)
  "Up to LONGEST characters."
  (let ((alphabet (concat "abc \n" pi-random--extra)))
    (apply #'string (cl-loop repeat (random (1+ longest))
                             collect (aref alphabet (random (length alphabet)))))))

(defun pi-random--disk ()
  "The bytes of the file of the current buffer."
  (let ((file buffer-file-name))
    (with-temp-buffer
      (set-buffer-multibyte nil)
      (insert-file-contents-literally file)
      (buffer-string))))

(defun pi-random--check ()
  "Compare the buffer and its file with what should be there."
  (save-restriction
    (widen)
    (should (equal pi-random--text (buffer-substring-no-properties 1 (point-max)))))
  (should (equal (funcall pi-random--encode pi-random--saved) (pi-random--disk)))
  (should (eq (buffer-modified-p) (not (equal pi-random--text pi-random--saved)))))

(defun pi-random--change (begin end text)
  "Replace what is at BEGIN to END of the model by TEXT, positions from 0."
  (setq pi-random--text (concat (substring pi-random--text 0 begin) text
                                (substring pi-random--text end))))

;;; The user

(defun pi-random--type ()
  "Type something somewhere."
  (save-restriction
    (widen)
    (let ((at (random (1+ (length pi-random--text))))
          (text (concat "u" (pi-random--string 4))))
      (goto-char (1+ at))
      (insert text)
      (undo-boundary)
      (pi-random--change at at text))))

(defun pi-random--save ()
  "Save the buffer."
  (let ((save-silently t))
    (save-buffer))
  (setq pi-random--saved pi-random--text))

(defun pi-random--revert ()
  "Read the file again."
  (revert-buffer t t)
  (setq pi-random--text pi-random--saved))

(defun pi-random--narrow ()
  "Narrow to something, or widen."
  (widen)
  (when (= 0 (random 2))
    (narrow-to-region (1+ (random (1+ (length pi-random--text))))
                      (1+ (random (1+ (length pi-random--text))))))
  (goto-char (+ (point-min) (random (1+ (- (point-max) (point-min)))))))

(defun pi-random--act ()
  "Do something as a user."
  (funcall (seq-random-elt '(pi-random--type pi-random--type pi-random--save
                                             pi-random--revert pi-random--narrow))))

;;; The agent

(defun pi-random--serve (op &optional version changes)
  "The answer to OP, its fields as a plist behind its status."
  (let ((answer (pi-buffer-serve op (encode-coding-string buffer-file-name 'utf-8)
                                 version changes)))
    (cons (car answer) (append (cdr answer) nil))))

(defun pi-random--ranges ()
  "Some places of the model, (BEGIN END TEXT) in order, from 0, not touching."
  (let ((at 0)
        ranges)
    (dotimes (_ (1+ (random 3)))
      (when (< at (length pi-random--text))
        (let* ((begin (+ at (random (1+ (- (length pi-random--text) at)))))
               (end (+ begin (random (1+ (min 5 (- (length pi-random--text) begin)))))))
          (push (list begin end (pi-random--string 6)) ranges)
          (setq at (1+ end)))))
    (nreverse ranges)))

(defun pi-random--bytes (text)
  "How many bytes TEXT has as UTF-8."
  (string-bytes (encode-coding-string text 'utf-8-unix)))

(defun pi-random--changes (ranges)
  "RANGES as the agent sends them."
  (mapcar (pcase-lambda (`(,begin ,end ,text))
            (list (pi-random--bytes (substring pi-random--text 0 begin))
                  (pi-random--bytes (substring pi-random--text begin end))
                  (encode-coding-string text 'utf-8-unix)))
          ranges))

(defun pi-random--moved (at ranges)
  "Where AT is, from 0, after RANGES, as (LEAST . MOST)."
  (let ((shift 0)
        inside)
    (pcase-dolist (`(,begin ,end ,text) ranges)
      (cond ((and (< begin at) (< at end))
             (setq inside (cons (+ begin shift) (+ begin shift (length text)))))
            ((and (<= end at) (< begin at))
             (setq shift (+ shift (- (length text) (- end begin)))))))
    (or inside (cons (+ at shift) (+ at shift)))))

(defun pi-random--undoable (before)
  "Check that one step back leads to BEFORE, and one forward again."
  (let ((after pi-random--text)
        (inhibit-message t))
    (save-excursion
      (save-restriction
        (widen)
        (let ((last-command nil)) (undo))
        (undo-boundary)
        (should (equal before (buffer-substring-no-properties 1 (point-max))))
        (undo-redo 1)
        (undo-boundary)
        (should (equal after (buffer-substring-no-properties 1 (point-max))))))))

(defun pi-random--apply (version ranges)
  "Make RANGES at VERSION, which still holds, and look at everything."
  (let* ((clean (not (buffer-modified-p)))
         (before pi-random--text)
         (changes (pi-random--changes ranges))
         (marks (cl-loop repeat 5
                         for at = (random (1+ (length before)))
                         collect (cons (copy-marker (1+ at)) at)))
         (narrowed (and (buffer-narrowed-p) (list (copy-marker (point-min))
                                                  (copy-marker (point-max)))))
         (answer (pi-random--serve 'apply version changes)))
    (should (eq 'ok (car answer)))
    (pcase-dolist (`(,begin ,end ,text) (reverse ranges))
      (pi-random--change begin end text))
    (pcase-dolist (`(,marker . ,at) marks)
      (pcase-let ((`(,least . ,most) (pi-random--moved at ranges)))
        (should (<= (1+ least) marker (1+ most))))
      (set-marker marker nil))
    (should (eq (and narrowed t) (and (buffer-narrowed-p) t)))
    (when clean
      (should (plist-get (cdr answer) :saved))
      (setq pi-random--saved pi-random--text))
    (should (equal (plist-get (cdr answer) :version) (buffer-chars-modified-tick)))
    (pi-random--check)
    (unless (equal before pi-random--text)
      (pi-random--undoable before)
      ;; That was the tests' doing; bring the file along.
      (if clean (pi-random--save)
        (set-buffer-modified-p (not (equal pi-random--text pi-random--saved)))))))

(defun pi-random--edit ()
  "Edit something as the agent does; the user may be quicker."
  (let* ((snapshot (pi-random--serve 'snapshot))
         (version (plist-get (cdr snapshot) :version)))
    (should (eq 'ok (car snapshot)))
    (should (equal (decode-coding-string (plist-get (cdr snapshot) :text) 'utf-8-unix)
                   pi-random--text))
    (should (eq (and (plist-get (cdr snapshot) :unsaved) t)
                (and (buffer-modified-p) t)))
    (if (/= 0 (random 5))
        (pi-random--apply version (pi-random--ranges))
      (let ((changes (pi-random--changes (pi-random--ranges))))
        (pi-random--type)
        (should (equal '(stale) (pi-random--serve 'apply version changes)))))))

(defun pi-random--session (edits extra encode)
  "Make EDITS among the user's work, in a file of ASCII and EXTRA as ENCODE encodes it."
  (let* ((pi-random--extra extra)
         (pi-random--encode encode)
         (pi-random--text (concat "first line\n" extra "\nsecond line\nthird\n"))
         (pi-random--saved pi-random--text)
         (file (file-truename (make-temp-file "pi-random" nil ".txt"))))
    (let ((coding-system-for-write 'binary))
      (write-region (funcall encode pi-random--text) nil file nil 'silent))
    (with-current-buffer (find-file-noselect file)
      (buffer-enable-undo)
      (unwind-protect
          (dotimes (_ edits)
            (dotimes (_ (random 3))
              (pi-random--act)
              (pi-random--check))
            (pi-random--edit)
            (pi-random--check))
        (set-buffer-modified-p nil)
        (kill-buffer)
        (delete-file file)))))

(ert-deftest pi-random-utf-8 ()
  (random "utf-8")
  (pi-random--session 80 "äß日本🌷é" (lambda (text) (encode-coding-string text 'utf-8-unix))))

(ert-deftest pi-random-dos ()
  (random "dos")
  (pi-random--session 40 "äß🌷" (lambda (text) (encode-coding-string text 'utf-8-dos))))

(ert-deftest pi-random-bom ()
  (random "bom")
  (pi-random--session 30 "äß🌷" (lambda (text)
                                  (encode-coding-string
                                   text 'utf-8-with-signature-unix))))

(ert-deftest pi-random-latin-1 ()
  (random "latin-1")
  (pi-random--session 30 "äßéü" (lambda (text)
                                  (encode-coding-string text 'iso-8859-1-unix))))

(ert-deftest pi-random-mixed-line-ends ()
  "LF and CR LF in one file: Emacs shows the CR, and the agent leaves it alone."
  (random "mixed")
  (pi-random--session 40 "ä\r🌷" (lambda (text) (encode-coding-string text 'utf-8-unix))))

(provide 'pi-buffer-random-tests)
;;; pi-buffer-random-tests.el ends here
