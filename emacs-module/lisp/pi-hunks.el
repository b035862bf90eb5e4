;;; pi-hunks.el --- What else to do with a hunk  -*- lexical-binding: t; -*-

;; SPDX-License-Identifier: MIT

;;; Commentary:

;; Commands of the buffer that pi-review.el makes: quote a hunk in the next prompt, compare
;; its file with what it was, solve it by parts.  And the difference that a question in the
;; transcript is about, in a buffer of its own.

;;; Code:

(require 'cl-lib)
(require 'diff-mode)
(require 'pi-edits)
(require 'pi-marks)
(require 'pi-questions)
(require 'pi-review)
(require 'pi-session)
(require 'subr-x)

(declare-function pi-compose "pi-compose" (&optional text))

(defun pi-review-comment ()
  "Quote the hunk at point in the next prompt, to say something about it."
  (interactive)
  (let* ((hunk (pi-review--hunk))
         (text (format "%s:%d\n%s%s" (pi-track-name pi-review--session (pi-edits-hunk-file hunk))
                       (pi-edits-hunk-line hunk)
                       (pi-review--quoted "-" (pi-edits-hunk-old hunk))
                       (pi-review--quoted "+" (pi-edits-hunk-new hunk))))
         (quoted (concat (replace-regexp-in-string "^" "> " (string-trim-right text "\n+"))
                         "\n\n")))
    (pi-compose quoted)))

(defun pi-review--quoted (sign text)
  "The lines of TEXT behind SIGN, not too many of them."
  (let ((lines (pi-edits--lines text)))
    (concat (mapconcat (lambda (line)
                         (concat sign (string-trim-right line "\n") "\n"))
                       (seq-take lines 20) "")
            (and (nthcdr 20 lines) (format "%s…\n" sign)))))

(defun pi-review--before (file)
  "A buffer with the text of FILE before its hunks, in the same mode."
  (let ((text (buffer-substring-no-properties (point-min) (point-max)))
        (ranges (pi-review--ranges (cl-remove-if #'pi-edits-hunk-state
                                                 (pi-edits-file-hunks file))
                                   t))
        (mode major-mode)
        (name (buffer-name)))
    (with-current-buffer (generate-new-buffer (format "*pi-before: %s*" name))
      (insert text)
      (pcase-dolist (`(,begin ,end ,old) ranges)
        (goto-char begin)
        (delete-region begin end)
        (insert old))
      (delay-mode-hooks (funcall mode))
      (set-buffer-modified-p nil)
      (setq buffer-read-only t)
      (goto-char (point-min))
      (current-buffer))))

(defun pi-review-ediff ()
  "Compare the file at point with what it was, with Ediff."
  (interactive)
  (let ((file (pi-review--file))
        (windows (current-window-configuration)))
    (with-current-buffer (pi-review--visiting file)
      (widen)
      (pi-marks-place file)
      (pi-marks-sync file)
      (let ((before (pi-review--before file)))
        (ediff-buffers before (current-buffer)
                       (list (lambda ()
                               (add-hook 'ediff-quit-hook
                                         (lambda ()
                                           (kill-buffer before)
                                           (set-window-configuration windows))
                                         t t))))))))

(defun pi-review-smerge ()
  "Make a conflict of the hunk at point in its file, to be solved by parts."
  (interactive)
  (let* ((hunk (pi-review--hunk))
         (file (pi-edits-hunk-file hunk))
         (line (lambda (text)
                 (if (or (equal text "") (string-suffix-p "\n" text))
                     text
                   (concat text "\n")))))
    (when (pi-edits-hunk-state hunk)
      (user-error "This was taken back already"))
    (pop-to-buffer (pi-review--visiting file))
    (barf-if-buffer-read-only)
    (widen)
    (pi-marks-place file)
    (pi-marks-sync file)
    (pcase-let ((`((,begin ,end ,_)) (pi-review--ranges (list hunk) t))
                (text (concat "<<<<<<< before\n" (funcall line (pi-edits-hunk-old hunk))
                              "=======\n" (funcall line (pi-edits-hunk-new hunk))
                              ">>>>>>> pi\n")))
      (pi-buffer-change (list (list begin end text)))
      (pi-marks--cover hunk begin (+ begin (length text)))
      (goto-char begin))
    (smerge-start-session)))

(defun pi-review-show-diff (diff name directory)
  "Show DIFF, a unified one, in a buffer of NAME, its files being in DIRECTORY."
  (with-current-buffer (get-buffer-create name)
    (let ((inhibit-read-only t))
      (erase-buffer)
      (insert diff)
      (diff-mode)
      (setq default-directory directory
            buffer-read-only t)
      (goto-char (point-min))))
  (pop-to-buffer name))

(defun pi-review-question-diff ()
  "Show the whole difference that the question at point is about."
  (interactive)
  (let ((diff (pi-question-diff (or (pi-question-at-point)
                                    (user-error "No question here")))))
    (unless diff
      (user-error "This question is not about a change"))
    (pi-review-show-diff diff (format "*pi-question: %s*"
                                      (pi-session-name pi-session--current))
                         default-directory)))

(provide 'pi-hunks)
;;; pi-hunks.el ends here
