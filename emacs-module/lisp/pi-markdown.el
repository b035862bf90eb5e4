;;; pi-markdown.el --- Faces for Markdown  -*- lexical-binding: t; -*-

;; SPDX-License-Identifier: MIT

;;; Commentary:

;; Gives a complete block of text its faces, once.  What takes longer than a few
;; milliseconds, and code, which needs the mode of its language, is left to idle timers.
;; The text stays as it is, but for tables, whose columns are aligned.

;;; Code:

(require 'cl-lib)
(require 'subr-x)

(defface pi-heading '((t :inherit bold))
  "Headings in what the model says."
  :group 'pi)
(defface pi-code '((t :inherit font-lock-constant-face))
  "Code in what the model says."
  :group 'pi)

(defconst pi-markdown--seconds 0.01
  "How long faces may be given at once.")

(defconst pi-markdown--code-max 20000
  "How many characters of code get the faces of their mode.")

(defconst pi-markdown--line-max 4000
  "Longer lines stay plain.")

(defun pi-markdown-block (begin end)
  "Give the text from BEGIN to END its faces, now or soon."
  (pi-markdown--run (copy-marker begin) (copy-marker end)))

(defun pi-markdown--run (begin end)
  "Work from the marker BEGIN to the marker END until the time is over."
  (let ((limit (+ (float-time) pi-markdown--seconds))
        (inhibit-read-only t))
    (save-excursion
      (with-silent-modifications
        (goto-char begin)
        (while (and (< (point) end) (< (float-time) limit))
          (pi-markdown--line end)
          (set-marker begin (point)))))
    (if (< begin end)
        (pi-markdown--later 0.1 #'pi-markdown--run begin end)
      (set-marker begin nil)
      (set-marker end nil))))

(defun pi-markdown--later (seconds function begin end &rest more)
  "Call FUNCTION with BEGIN, END and MORE when Emacs was idle for SECONDS."
  (run-with-idle-timer
   seconds nil
   (lambda ()
     (when (buffer-live-p (marker-buffer begin))
       (with-current-buffer (marker-buffer begin)
         (save-match-data
           (apply function begin end more)))))))

(defun pi-markdown--line (end)
  "Give the line at point its faces and go to the next one; END is a marker."
  (let ((begin (point))
        (eol (min end (line-end-position))))
    (cond ((looking-at "[ \t]*\\(```+\\|~~~+\\)[ \t]*\\([^`\n]*\\)$")
           (pi-markdown--fence begin end))
          ((> (- eol begin) pi-markdown--line-max) (forward-line 1))
          ((looking-at "[ \t]*|.*|[ \t]*\n[ \t]*|[-:| \t]+|[ \t]*$")
           (pi-markdown--table end))
          (t
           (cond ((looking-at "#+ .*") (pi-markdown--face begin eol 'pi-heading))
                 ((looking-at "[ \t]*>+ ?")
                  (pi-markdown--hang (match-string-no-properties 0) begin eol)
                  (pi-markdown--face begin eol 'italic))
                 ((looking-at "[ \t]*\\([-*+]\\|[0-9]+[.)]\\) ")
                  (pi-markdown--face (match-beginning 1) (match-end 1)
                                     'font-lock-builtin-face)
                  (pi-markdown--hang
                   (make-string (string-width (match-string-no-properties 0)) ?\s)
                   begin eol)))
           (pi-markdown--inline begin eol)
           (goto-char eol)
           (forward-line 1)))
    (when (> (point) end) (goto-char end))
    ;; The last line has no end.
    (when (= (point) begin) (goto-char end))))

(defun pi-markdown--face (begin end face)
  "Add FACE to the text from BEGIN to END."
  (add-face-text-property begin end face))

(defun pi-markdown--hang (prefix begin end)
  "Let what is wrapped of the text from BEGIN to END begin with PREFIX."
  (when (< (length prefix) 20)
    (put-text-property begin end 'wrap-prefix prefix)))

(defun pi-markdown--inline (begin end)
  "Give what stands in the line from BEGIN to END its faces."
  (goto-char begin)
  (while (re-search-forward
          (concat "\\(`+\\)[^`\n]+\\1"
                  "\\|\\(\\*\\*\\|__\\)[^*_ \n][^*\n]*?\\2"
                  "\\|\\(\\*\\)[^* \n][^*\n]*?\\*"
                  "\\|\\[\\([^]\n]+\\)\\](\\([^) \n]+\\))")
          end t)
    (cond ((match-beginning 1)
           (pi-markdown--face (match-beginning 0) (match-end 0) 'pi-code))
          ((match-beginning 2)
           (pi-markdown--face (match-beginning 0) (match-end 0) 'bold))
          ((match-beginning 3)
           (pi-markdown--face (match-beginning 0) (match-end 0) 'italic))
          (t (pi-markdown--link)))))

(defun pi-markdown--link ()
  "Make the link that was just matched a button."
  (let ((target (match-string-no-properties 5)))
    (when (string-match-p "\\`\\(?:https?\\|mailto\\|file\\):" target)
      (add-text-properties (match-beginning 4) (match-end 4)
                           (list 'button '(t) 'category 'default-button
                                 'follow-link t 'help-echo target
                                 'action (lambda (_) (browse-url target)))))))

;;; Code

(defun pi-markdown--fence (begin end)
  "Give the code block that begins at BEGIN its faces; END is a marker."
  (let* ((fence (match-string-no-properties 1))
         (language (string-trim (match-string-no-properties 2)))
         (from (min end (1+ (line-end-position)))))
    (goto-char from)
    (let ((to (if (re-search-forward (concat "^[ \t]*" (regexp-quote fence) "[ \t]*$")
                                     end t)
                  (match-beginning 0)
                end)))
      (pi-markdown--face begin from 'shadow)
      (when (< to end)
        (pi-markdown--face to (min end (line-end-position)) 'shadow))
      (if (and (< from to) (<= (- to from) pi-markdown--code-max)
               (pi-markdown--mode language))
          (pi-markdown--later 0.2 #'pi-markdown--code (copy-marker from)
                              (copy-marker to) (pi-markdown--mode language))
        (pi-markdown--face from to 'pi-code))
      (goto-char (min end (save-excursion (goto-char to) (forward-line 1) (point)))))))

(defconst pi-markdown--modes
  '(("c++" . c++-mode) ("cpp" . c++-mode) ("sh" . sh-mode) ("bash" . sh-mode)
    ("shell" . sh-mode) ("console" . sh-mode) ("elisp" . emacs-lisp-mode)
    ("emacs-lisp" . emacs-lisp-mode) ("js" . js-mode) ("javascript" . js-mode)
    ("json" . js-mode) ("py" . python-mode) ("html" . html-mode) ("diff" . diff-mode)
    ("patch" . diff-mode) ("make" . makefile-mode) ("makefile" . makefile-mode))
  "Languages whose mode has another name.")

(defun pi-markdown--mode (language)
  "The mode for LANGUAGE, or nil."
  (let* ((name (downcase (car (split-string (concat language " ")))))
         (mode (or (cdr (assoc name pi-markdown--modes))
                   (and (not (equal name "")) (intern-soft (concat name "-mode"))))))
    (and mode (fboundp mode) mode)))

(defun pi-markdown--code (begin end mode)
  "Give the code from the marker BEGIN to the marker END the faces of MODE."
  (let* ((text (buffer-substring-no-properties begin end))
         (faces (ignore-errors (pi-markdown--font-lock text mode)))
         (inhibit-read-only t))
    (with-silent-modifications
      (pcase-dolist (`(,from ,to ,face) faces)
        (put-text-property (+ begin from) (+ begin to) 'face face)))
    (set-marker begin nil)
    (set-marker end nil)))

(defun pi-markdown--font-lock (text mode)
  "The faces that MODE gives TEXT: a list of (BEGIN END FACE), from 0."
  (with-temp-buffer
    (insert text)
    (let ((inhibit-message t)
          (enable-local-variables nil))
      (delay-mode-hooks (funcall mode))
      (font-lock-ensure))
    (let ((at (point-min)) faces)
      (while (< at (point-max))
        (let ((next (next-single-property-change at 'face nil (point-max)))
              (face (get-text-property at 'face)))
          (when face
            (push (list (1- at) (1- next) face) faces))
          (setq at next)))
      faces)))

;;; Tables

(defun pi-markdown--table (end)
  "Align the columns of the table at point, and go behind it; END is a marker."
  (let ((begin (point)) rows)
    (while (and (< (point) end) (looking-at "[ \t]*|\\(.*\\)|[ \t]*$"))
      (push (mapcar #'string-trim (split-string (match-string 1) "|")) rows)
      (forward-line 1)
      (when (eobp) (goto-char end)))
    (when (> (point) end) (goto-char end))
    (setq rows (nreverse rows))
    (let ((last (bolp))
          (widths (pi-markdown--widths rows)))
      (when (< (apply #'+ widths) 300)
        (let ((block (get-text-property begin 'pi-block)))
          (delete-region begin (point))
          (insert (propertize
                   (mapconcat (lambda (row) (pi-markdown--row row widths)) rows "\n")
                   'pi-block block 'face 'pi-assistant))
          (when last (insert (propertize "\n" 'pi-block block)))))
      (pi-markdown--face begin (save-excursion (goto-char begin) (line-end-position))
                         'bold))))

(defun pi-markdown--widths (rows)
  "The widths of the columns of ROWS."
  (let ((n (apply #'max (mapcar #'length rows))))
    (mapcar (lambda (i)
              (apply #'max 3 (mapcar (lambda (row)
                                       (let ((cell (or (nth i row) "")))
                                         (if (string-match-p "\\`:?-+:?\\'" cell) 3
                                           (string-width cell))))
                                     rows)))
            (number-sequence 0 (1- n)))))

(defun pi-markdown--row (row widths)
  "ROW of a table as text, its cells of WIDTHS."
  (concat "|"
          (mapconcat (lambda (width)
                       (let ((cell (or (pop row) "")))
                         (if (string-match-p "\\`:?-+:?\\'" cell)
                             (concat " " (make-string width ?-) " ")
                           (concat " " cell
                                   (make-string (- width (string-width cell)) ?\s)
                                   " "))))
                     widths "|")
          "|"))

(provide 'pi-markdown)
;;; pi-markdown.el ends here
