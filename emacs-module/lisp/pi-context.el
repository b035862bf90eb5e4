;;; pi-context.el --- What goes along with a prompt  -*- lexical-binding: t; -*-

;; SPDX-License-Identifier: MIT

;;; Commentary:

;; A prompt may name things with an at sign:
;;
;;   @src/main.c            a file, which the agent reads when it wants to
;;   @src/main.c:L10-L20    lines of it, sent along as they are in Emacs
;;   @buffer:NAME           the text of a buffer
;;   @diagnostics           what Flymake or Flycheck say about buffers of the project
;;   @diagnostics:NAME      the same of one buffer
;;   @picture.png           an image, sent along
;;
;; Names with spaces stand in quotes: @"a b.c".  `pi-context-expand' adds the texts, and
;; `pi-context-images' finds the images.

;;; Code:

(require 'cl-lib)
(require 'pi-session)
(require 'project)
(require 'subr-x)

(declare-function flymake-diagnostics "flymake" (&optional beg end))
(declare-function flymake-diagnostic-beg "flymake" t t)
(declare-function flymake-diagnostic-type "flymake" t t)
(declare-function flymake-diagnostic-text "flymake" t t)
(declare-function flycheck-error-line "ext:flycheck" (err))
(declare-function flycheck-error-level "ext:flycheck" (err))
(declare-function flycheck-error-message "ext:flycheck" (err))
(defvar flycheck-current-errors)

(defcustom pi-context-functions nil
  "Functions that add context to a prompt.
Each is called with the session and the prompt, and returns a string to be
sent along, or nil."
  :type 'hook
  :group 'pi
  :package-version '(pi . "0.1.0"))

(defcustom pi-context-max-bytes 60000
  "How much of one buffer is sent along."
  :type 'natnum
  :group 'pi
  :package-version '(pi . "0.1.0"))

(defconst pi-context--regexp
  "\\(?:^\\|[[:space:](]\\)@\\(?:\"\\([^\"\n]+\\)\"\\|\\([^[:space:]\"]*[^[:space:]\".,;:!?)]\\)\\)"
  "Something that a prompt names.")

(defconst pi-context--image-types '("png" "jpg" "jpeg" "gif" "webp")
  "Files that are sent as images.")

(defun pi-context-names (text)
  "What TEXT names with an at sign, each once, in order."
  (let ((at 0) names)
    (while (string-match pi-context--regexp text at)
      (setq at (match-end 0))
      (cl-pushnew (or (match-string 1 text) (match-string 2 text)) names :test #'equal))
    (nreverse names)))

(defun pi-context-quote (name)
  "NAME as it stands in a prompt."
  (if (string-match-p "[[:space:].,;:!?)]\\'\\|[[:space:]\"]" name)
      (format "@\"%s\"" name)
    (concat "@" name)))

;;; Images

(defun pi-context-images (text directory)
  "The files of images that TEXT names, relative to DIRECTORY."
  (seq-filter (lambda (file)
                (and (member (downcase (or (file-name-extension file) ""))
                             pi-context--image-types)
                     (not (file-remote-p file))
                     (file-regular-p file)))
              (mapcar (lambda (name) (expand-file-name name directory))
                      (pi-context-names text))))

(defun pi-context-load-images (session files function &optional images problems)
  "Load the images FILES for SESSION, then call FUNCTION with them.
Its arguments are a list of (TYPE . BASE64) and a list of messages about
what could not be loaded.  IMAGES and PROBLEMS are those so far, newest
first.  The agent's own read does it, and Emacs does not wait."
  (if (null files)
      (funcall function (nreverse images) (nreverse problems))
    (pi-session-call-tool
     session "read" (list :path (car files))
     (lambda (session event)
       (let* ((content (plist-get (plist-get event :result) :content))
              (image (seq-find (lambda (block) (equal (plist-get block :type) "image"))
                               content)))
         (if image
             (push (cons (plist-get image :mimeType) (plist-get image :data)) images)
           (push (format "%s was not sent as an image: %s" (car files)
                         (or (plist-get (car content) :text) "it is none"))
                 problems))
         (pi-context-load-images session (cdr files) function images problems))))))

;;; Texts

(defun pi-context--fenced (title text)
  "TEXT below TITLE, in a fence that it does not hold."
  (let ((fence "```"))
    (while (string-search fence text)
      (setq fence (concat fence "`")))
    (format "%s\n%s\n%s%s%s" title fence text
            (if (string-suffix-p "\n" text) "" "\n") fence)))

(defun pi-context--buffer-text (begin end)
  "The text between BEGIN and END of the current buffer, if it is not too long."
  (if (> (- end begin) pi-context-max-bytes)
      (concat (buffer-substring-no-properties begin (+ begin pi-context-max-bytes))
              (format "\n[%d more characters are not shown]"
                      (- end begin pi-context-max-bytes)))
    (buffer-substring-no-properties begin end)))

(defun pi-context--lines (name directory)
  "The text that NAME stands for, or nil.
NAME is FILE:L10-L20 or buffer:NAME:L10-L20, and FILE is below DIRECTORY."
  (when (string-match "\\`\\(.+\\):L\\([0-9]+\\)\\(?:-L?\\([0-9]+\\)\\)?\\'" name)
    (let* ((what (match-string 1 name))
           (first (string-to-number (match-string 2 name)))
           (last (string-to-number (or (match-string 3 name) (match-string 2 name))))
           (buffer (if (string-prefix-p "buffer:" what)
                       (get-buffer (substring what 7))
                     (find-buffer-visiting (expand-file-name what directory)))))
      (cond (buffer (with-current-buffer buffer
                      (pi-context--line-text name first last)))
            ((file-regular-p (expand-file-name what directory))
             (with-temp-buffer
               (insert-file-contents (expand-file-name what directory) nil 0 10000000)
               (pi-context--line-text name first last)))))))

(defun pi-context--line-text (title first last)
  "The lines FIRST to LAST of the current buffer, below TITLE."
  (save-excursion
    (save-restriction
      (widen)
      (goto-char (point-min))
      (forward-line (1- first))
      (let ((begin (point)))
        (forward-line (- last first))
        (pi-context--fenced title
                            (pi-context--buffer-text begin (line-end-position)))))))

(defun pi-context--whole-buffer (name)
  "The text of the buffer that NAME, buffer:NAME, stands for, or nil."
  (let ((buffer (and (string-prefix-p "buffer:" name)
                     (get-buffer (substring name 7)))))
    (when buffer
      (with-current-buffer buffer
        (save-restriction
          (widen)
          (pi-context--fenced
           (if buffer-file-name
               (format "Buffer %s (%s%s)" (buffer-name) buffer-file-name
                       (if (buffer-modified-p) ", not saved" ""))
             (format "Buffer %s" (buffer-name)))
           (pi-context--buffer-text (point-min) (point-max))))))))

;;; Diagnostics

(defun pi-context--diagnostics-of (buffer)
  "What Flymake and Flycheck say about BUFFER, as (LINE LEVEL TEXT)."
  (with-current-buffer buffer
    (append
     (and (bound-and-true-p flymake-mode)
          (mapcar (lambda (diagnostic)
                    (list (line-number-at-pos (flymake-diagnostic-beg diagnostic) t)
                          (string-remove-prefix
                           ":" (format "%s" (flymake-diagnostic-type diagnostic)))
                          (flymake-diagnostic-text diagnostic)))
                  (flymake-diagnostics)))
     (and (bound-and-true-p flycheck-mode)
          (mapcar (lambda (err)
                    (list (flycheck-error-line err)
                          (format "%s" (flycheck-error-level err))
                          (flycheck-error-message err)))
                  flycheck-current-errors)))))

(defun pi-context-diagnostics (buffers directory)
  "The diagnostics of BUFFERS as lines FILE:LINE: LEVEL: TEXT.
FILE is relative to DIRECTORY."
  (mapconcat
   (lambda (buffer)
     (let ((file (or (buffer-file-name buffer) (buffer-name buffer))))
       (mapconcat (pcase-lambda (`(,line ,level ,text))
                    (format "%s:%d: %s: %s\n"
                            (if (file-in-directory-p file directory)
                                (file-relative-name file directory)
                              file)
                            line level (string-replace "\n" " " (or text ""))))
                  (seq-sort-by #'car #'< (pi-context--diagnostics-of buffer))
                  "")))
   buffers ""))

(defun pi-context--diagnostics (name directory)
  "What NAME, diagnostics or diagnostics:BUFFER, stands for in DIRECTORY, or nil."
  (let ((buffers (cond ((equal name "diagnostics")
                        (seq-filter (lambda (buffer)
                                      (and (buffer-file-name buffer)
                                           (file-in-directory-p (buffer-file-name buffer)
                                                                directory)))
                                    (buffer-list)))
                       ((string-prefix-p "diagnostics:" name)
                        (let ((buffer (get-buffer (substring name 12))))
                          (and buffer (list buffer)))))))
    (when (or buffers (equal name "diagnostics"))
      (let ((lines (pi-context-diagnostics buffers directory)))
        (pi-context--fenced "Diagnostics in Emacs"
                            (if (equal lines "") "none\n" lines))))))

;;; All of it

(defun pi-context-expand (session text)
  "TEXT with what it names, for SESSION."
  (let ((directory (pi-session-directory session))
        parts)
    (dolist (name (pi-context-names text))
      (let ((part (or (pi-context--lines name directory)
                      (pi-context--whole-buffer name)
                      (pi-context--diagnostics name directory))))
        (when part (push part parts))))
    (run-hook-wrapped 'pi-context-functions
                      (lambda (function)
                        (let ((part (funcall function session text)))
                          (when part (push part parts)))
                        nil))
    (string-join (cons text (nreverse parts)) "\n\n")))

;;; What is here

(defun pi-context-buffer-name (directory)
  "How a prompt names the current buffer, relative to DIRECTORY."
  (cond ((not buffer-file-name) (concat "buffer:" (buffer-name)))
        ((file-in-directory-p buffer-file-name directory)
         (file-relative-name buffer-file-name directory))
        (t (abbreviate-file-name buffer-file-name))))

(defun pi-context-region-name (directory)
  "How a prompt names the region of the current buffer, relative to DIRECTORY."
  (let* ((begin (region-beginning))
         (end (region-end))
         ;; A region that ends where a line begins does not have that line.
         (end (if (and (> end begin)
                       (= end (save-excursion (goto-char end) (line-beginning-position))))
                  (1- end)
                end)))
    (let ((first (line-number-at-pos begin t))
          (last (line-number-at-pos end t)))
      (format (if (= first last) "%s:L%d" "%s:L%d-L%d")
              (pi-context-buffer-name directory) first last))))

(defun pi-context-files (directory)
  "The files of the project in DIRECTORY, relative to it."
  (let ((project (project-current nil directory)))
    (if project
        (mapcar (lambda (file) (file-relative-name file directory))
                (project-files project))
      (seq-filter (lambda (name) (file-regular-p (expand-file-name name directory)))
                  (directory-files directory nil directory-files-no-dot-files-regexp)))))

(defvar-local pi-context--files nil
  "(TIME DIRECTORY . FILES) that were listed last, for completion.")

(defun pi-context--cached-files (directory)
  "The files of the project in DIRECTORY, listed at most every ten seconds."
  (pcase pi-context--files
    (`(,time ,(pred (equal directory)) . ,files)
     (if (< (- (float-time) time) 10) files
       (setq pi-context--files nil)
       (pi-context--cached-files directory)))
    (_ (let ((files (pi-context-files directory)))
         (setq pi-context--files (cons (float-time) (cons directory files)))
         files))))

(defun pi-context-candidates (directory)
  "What may stand behind an at sign in a prompt of DIRECTORY."
  (append (pi-context--cached-files directory)
          '("diagnostics")
          (delq nil (mapcar (lambda (buffer)
                              (unless (string-prefix-p " " (buffer-name buffer))
                                (concat "buffer:" (buffer-name buffer))))
                            (buffer-list)))))

(provide 'pi-context)
;;; pi-context.el ends here
