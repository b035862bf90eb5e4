;;; pi-output.el --- The full output of a tool  -*- lexical-binding: t; -*-

;; SPDX-License-Identifier: MIT

;;; Commentary:

;; The buffer *pi-output: NAME:N* shows all that call N of a session printed: from the log
;; of a command where there is one, else from the result that the model got.  Of a long
;; log the end is shown first, `+' shows more.  `next-error' walks the places that the
;; output names, as in `compilation-mode'.

;;; Code:

(require 'cl-lib)
(require 'compile)
(require 'pi-render)
(require 'pi-session)

(defcustom pi-output-bytes 1000000
  "How much of a long output is shown at first, its end."
  :type 'natnum
  :group 'pi
  :package-version '(pi . "0.1.0"))

(defconst pi-output--columns 4000
  "Where lines are broken: long lines are slow to display.")

(defconst pi-output--calls-kept 300
  "Of how many calls the output is remembered.")

(cl-defstruct (pi-output-call (:constructor pi-output--call-make) (:copier nil))
  "A call of a tool."
  id number title
  text                                  ; what the model got; while it runs, what came
  pieces (size 0)                       ; and came since, newest first; of both
  file                                  ; the log, or nil
  running)

(defvar pi-output--all (make-hash-table :test #'eq :weakness 'key)
  "Session -> calls, newest first.")

(defvar-local pi-output--call nil
  "The call whose output this buffer shows.")

(defvar-local pi-output--limit nil
  "How many bytes of the output this buffer shows.")

;;; Remembering

(defun pi-output--find (session id)
  "The call ID of SESSION, or nil."
  (cl-find id (gethash session pi-output--all) :key #'pi-output-call-id :test #'equal))

(defun pi-output--add (session id title)
  "Remember a call ID with TITLE of SESSION and return it."
  (let* ((calls (gethash session pi-output--all))
         (call (pi-output--call-make
                :id id :title title :text "" :running t
                :number (1+ (if calls (pi-output-call-number (car calls)) 0)))))
    (puthash session (cons call (seq-take calls (1- pi-output--calls-kept)))
             pi-output--all)
    call))

(defun pi-output--join (call)
  "The text of CALL, of one that runs the end of what came."
  (when (pi-output-call-pieces call)
    (let ((all (apply #'concat (pi-output-call-text call)
                      (nreverse (pi-output-call-pieces call)))))
      (setf (pi-output-call-text call)
            (substring all (max 0 (- (length all) pi-output-bytes)))
            (pi-output-call-pieces call) nil
            (pi-output-call-size call) (length (pi-output-call-text call)))))
  (pi-output-call-text call))

(defun pi-output--end (session id result)
  "The call ID of SESSION has ended with RESULT."
  (let ((call (pi-output--find session id)))
    (when call
      (setf (pi-output-call-running call) nil
            (pi-output-call-pieces call) nil
            (pi-output-call-text call) (pi-render-text (plist-get result :content))
            (pi-output-call-file call) (plist-get (plist-get result :details)
                                                  :fullOutputPath))
      (pi-output--redraw call))))

(defun pi-output--more (session id text)
  "The call ID of SESSION printed TEXT."
  (let ((call (pi-output--find session id)))
    (when call
      ;; Pieces, as joining all of it each time would be work for the collector.
      (push text (pi-output-call-pieces call))
      (when (> (cl-incf (pi-output-call-size call) (length text)) (* 2 pi-output-bytes))
        (pi-output--join call))
      (pi-output--append call text))))

(defun pi-output--past (session messages)
  "Remember the calls in MESSAGES of SESSION."
  (dolist (message messages)
    (pcase (plist-get message :role)
      ("assistant"
       (dolist (block (plist-get message :content))
         (when (equal (plist-get block :type) "toolCall")
           (pi-output--add session (plist-get block :id)
                           (pi-render--title (plist-get block :name)
                                             (plist-get block :arguments))))))
      ("toolResult"
       (pi-output--end session (plist-get message :toolCallId) message)))))

;;; The buffer

(defvar pi-output-mode-map
  (let ((map (make-sparse-keymap)))
    (define-key map (kbd "g") #'pi-output-refresh)
    (define-key map (kbd "+") #'pi-output-show-more)
    (define-key map (kbd "C-c C-k") #'pi-session-abort)
    map)
  "Keys of `pi-output-mode'.")

(define-derived-mode pi-output-mode compilation-mode "Pi-Output"
  "All that a tool printed.
\\{pi-output-mode-map}"
  (buffer-disable-undo)
  (setq bidi-paragraph-direction 'left-to-right)
  (setq-local bidi-inhibit-bpa t
              truncate-lines t
              header-line-format '(:eval (pi-output--header))))

(defun pi-output--header ()
  "The header line of the current buffer."
  (concat " " (replace-regexp-in-string
               "%" "%%" (pi-render--one-line (pi-output-call-title pi-output--call)))
          (if (pi-output-call-running pi-output--call) "  [running]" "")))

(defun pi-output--clean (begin end)
  "Make what is between BEGIN and END readable, and return its end.
Colours become faces; of a line that was written over the last version
stays; lines that are too long are broken."
  (save-excursion
    (save-restriction
      (narrow-to-region begin end)
      (goto-char (point-min))
      (while (re-search-forward "\r+$" nil t)
        (replace-match ""))
      (goto-char (point-min))
      (while (re-search-forward "^.*\r" nil t)
        (replace-match ""))
      (pi-render-escapes (point-min) (point-max) 'font-lock-face)
      (pi-output--break)
      (point-max))))

(defun pi-output--break ()
  "Break the lines of the current buffer that are too long."
  (goto-char (point-min))
  (while (not (eobp))
    (let ((end (+ (point) pi-output--columns)))
      (end-of-line)
      (if (<= (point) end)
          (forward-line 1)
        (goto-char end)
        (insert "\n")))))

(defun pi-output--insert-file (file limit)
  "Insert the last LIMIT bytes of FILE, and say what was left out."
  (let* ((size (file-attribute-size (file-attributes file)))
         (from (max 0 (- size limit)))
         (coding-system-for-read 'utf-8-unix))
    (insert-file-contents file nil from size)
    (goto-char (point-min))
    (when (> from 0)
      ;; Not in the middle of a line.
      (let ((cut (search-forward "\n" (min (point-max) (+ (point-min) 10000)) t)))
        (delete-region (point-min) (or cut (point-min))))
      (goto-char (point-min))
      (insert (format "[%s of %s are shown, the end of %s; + shows more]\n"
                      (file-size-human-readable (- size from))
                      (file-size-human-readable size) file)))))

(defun pi-output--draw ()
  "Draw the output in the current buffer."
  (let* ((inhibit-read-only t)
         (call pi-output--call)
         (file (pi-output-call-file call)))
    (erase-buffer)
    (compilation-forget-errors)
    (cond ((and file (file-readable-p file))
           (pi-output--insert-file file pi-output--limit))
          (t
           (when file
             (insert (format "[The log %s is gone; this is what the model got]\n" file)))
           (insert (pi-output--join call))))
    (unless (bolp)
      (insert "\n"))
    (pi-output--clean (point-min) (point-max))
    (when (= (point-min) (point-max))
      (insert (if (pi-output-call-running call)
                  "Nothing was printed so far.\n"
                "Nothing was printed.\n")))))

(defun pi-output--buffers (call)
  "The buffers that show CALL."
  (cl-remove-if-not (lambda (buffer)
                      (eq call (buffer-local-value 'pi-output--call buffer)))
                    (buffer-list)))

(defun pi-output--redraw (call)
  "Draw CALL again where it is shown."
  (dolist (buffer (pi-output--buffers call))
    (with-current-buffer buffer
      (pi-output-refresh))))

(defun pi-output--append (call text)
  "Append TEXT where CALL is shown; windows at the end stay there."
  (dolist (buffer (pi-output--buffers call))
    (with-current-buffer buffer
      (let ((followers (cl-remove-if-not
                        (lambda (window) (= (window-point window) (point-max)))
                        (get-buffer-window-list nil nil t)))
            (inhibit-read-only t)
            (begin (point-max)))
        (if (> (buffer-size) (* 2 pi-output--limit))
            (pi-output--draw)
          (save-excursion
            (goto-char begin)
            (insert text)
            (pi-output--clean begin (point-max))))
        (dolist (window followers)
          (set-window-point window (point-max)))))))

(defun pi-output-refresh ()
  "Show the output again."
  (interactive)
  (let ((line (line-number-at-pos))
        (end (eobp)))
    (pi-output--draw)
    (if end
        (goto-char (point-max))
      (goto-char (point-min))
      (forward-line (1- line)))))

(defun pi-output-show-more ()
  "Show ten times as much of a long output."
  (interactive)
  (setq pi-output--limit (* 10 pi-output--limit))
  (pi-output-refresh))

(defun pi-output-show (session id)
  "Show all output of call ID of SESSION in another window."
  (let* ((call (or (pi-output--find session id)
                   (user-error "The output of this call is not known any more")))
         (buffer (get-buffer-create (format "*pi-output: %s:%d*" (pi-session-name session)
                                            (pi-output-call-number call)))))
    (with-current-buffer buffer
      (unless (eq pi-output--call call)
        (pi-output-mode)
        (setq pi-output--call call
              pi-output--limit pi-output-bytes
              pi-session--current session
              default-directory (pi-session-directory session)))
      (pi-output--draw)
      (goto-char (if (pi-output-call-running call) (point-max) (point-min))))
    (pop-to-buffer buffer)))

;;; Events

(pi-session-on "tool_execution_start"
               (lambda (session event)
                 (pi-output--add session (plist-get event :toolCallId)
                                 (pi-render-event-title event))))
(pi-session-on "tool_execution_update"
               (lambda (session event)
                 (let ((skipped (or (plist-get event :skippedBytes) 0)))
                   (pi-output--more session (plist-get event :toolCallId)
                                    (concat (and (> skipped 0)
                                                 (format "\n[%d bytes will be here when it \
is done]\n" skipped))
                                            (plist-get event :delta))))))
(pi-session-on "tool_execution_end"
               (lambda (session event)
                 (pi-output--end session (plist-get event :toolCallId)
                                 (plist-get event :result))))
(pi-session-on "transcript"
               (lambda (session event)
                 (pi-output--past session (plist-get event :messages))))

(provide 'pi-output)
;;; pi-output.el ends here
