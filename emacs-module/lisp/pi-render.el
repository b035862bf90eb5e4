;;; pi-render.el --- Draw a conversation  -*- lexical-binding: t; -*-

;; SPDX-License-Identifier: MIT

;;; Commentary:

;; The transcript grows at its end and nowhere else, but for the output of calls that run
;; and for questions that are answered.  It is made of blocks, each with the text
;; property `pi-block': what the user said, text and thoughts of the model, calls of
;; tools, questions and remarks.  Text is plain while it arrives and gets its faces once,
;; when its block is complete.  Of a tool's output a few short lines are shown.
;;
;; Functions here draw in the current buffer, inside `pi-render-in'.

;;; Code:

(require 'ansi-color)
(require 'cl-lib)
(require 'pi-session)
(require 'subr-x)

(declare-function pi-markdown-block "pi-markdown" (begin end))
(declare-function pi-show-output "pi-transcript" ())
(declare-function pi-earlier-turns "pi-transcript" ())

(defcustom pi-output-lines 10
  "How many lines of a tool's output are shown."
  :type 'natnum
  :group 'pi
  :package-version '(pi . "0.1.0"))

(defcustom pi-output-columns 500
  "Where lines of output are cut: long lines are slow to display."
  :type 'natnum
  :group 'pi
  :package-version '(pi . "0.1.0"))

(defcustom pi-fold-thinking t
  "Non-nil means to fold the model's thoughts when they are complete."
  :type 'boolean
  :group 'pi
  :package-version '(pi . "0.1.0"))

(defcustom pi-transcript-max-bytes 2000000
  "How large a transcript may grow before its oldest part is dropped.
The conversation itself keeps everything."
  :type 'natnum
  :group 'pi
  :package-version '(pi . "0.1.0"))

(defface pi-user '((t :inherit font-lock-keyword-face))
  "What the user said."
  :group 'pi)
(defface pi-assistant '((t))
  "What the model says."
  :group 'pi)
(defface pi-thinking '((t :inherit shadow))
  "What the model thought."
  :group 'pi)
(defface pi-tool-name '((t :inherit font-lock-function-name-face))
  "The title of a tool call."
  :group 'pi)
(defface pi-tool-running '((t :inherit warning))
  "The state of a tool call that runs."
  :group 'pi)
(defface pi-tool-ok '((t :inherit success))
  "The state of a tool call that went well."
  :group 'pi)
(defface pi-tool-error '((t :inherit error))
  "The state of a tool call that failed."
  :group 'pi)
(defface pi-meta '((t :inherit shadow))
  "Remarks about the conversation."
  :group 'pi)
(defface pi-error '((t :inherit error))
  "What went wrong."
  :group 'pi)
(defface pi-question '((t :inherit warning))
  "A question that waits for the user."
  :group 'pi)

(cl-defstruct (pi-render-block (:constructor pi-render-block-make) (:copier nil))
  "Something in a transcript."
  kind                                  ; user, text, thinking, tool, question, meta
  id                                    ; toolCallId, or that of a question
  tool args title
  since                                 ; when a call started
  line                                  ; where it changed its file first
  ;; Markers while a call runs: the place of its state, the end of the title, of the body.
  state body end
  tail)                                 ; the last lines of the output

(cl-defstruct (pi-render-view (:constructor pi-render-view-make) (:copier nil))
  "What a buffer that shows a conversation knows of itself."
  open                                  ; the block that grows at the end, or nil
  start                                 ; marker: where its text begins
  waiting                               ; (TEXT . FACE) of remarks to come behind it
  (calls (make-hash-table :test #'equal))) ; toolCallId -> block that runs

(defvar-local pi-render--view nil
  "The `pi-render-view' of this buffer.")

;;; Following

(defun pi-render--followers ()
  "The windows that show the end of the current buffer, and t if point is there.
None where the user selects or searches."
  (unless (and (or (bound-and-true-p isearch-mode) mark-active)
               (eq (window-buffer) (current-buffer)))
    (append (and (eobp) (list t))
            (seq-filter (lambda (window) (= (window-point window) (point-max)))
                        (get-buffer-window-list nil nil t)))))

(defmacro pi-render-in (session &rest body)
  "Run BODY, which draws, in the buffer of SESSION.
Point goes along where it was at the end, and stays elsewhere."
  (declare (indent 1) (debug t))
  `(pi-render--call ,session (lambda () ,@body)))

(defun pi-render--call (session function)
  "Call FUNCTION, which draws, in the buffer of SESSION."
  (when (buffer-live-p (pi-session-buffer session))
    (with-current-buffer (pi-session-buffer session)
      (let ((followers (pi-render--followers)))
        (pi-render--drawing function)
        (dolist (window followers)
          (if (windowp window)
              (set-window-point window (point-max))
            (goto-char (point-max))))))))

(defun pi-render--drawing (function)
  "Call FUNCTION, which draws in the current buffer."
  (unless pi-render--view
    (setq pi-render--view (pi-render-view-make)))
  (let ((inhibit-read-only t)
        (inhibit-modification-hooks t)
        (deactivate-mark nil)
        (buffer-undo-list t))
    (save-excursion
      (save-restriction
        (widen)
        (save-match-data
          (funcall function))))))

;;; Blocks

(defun pi-render--close ()
  "The block that grows is complete."
  (let* ((view pi-render--view)
         (block (pi-render-view-open view)))
    (when block
      (setf (pi-render-view-open view) nil)
      (let ((start (marker-position (pi-render-view-start view))))
        (set-marker (pi-render-view-start view) nil)
        (pi-render--closed block start (point-max)))
      (let ((waiting (nreverse (pi-render-view-waiting view))))
        (setf (pi-render-view-waiting view) nil)
        (pcase-dolist (`(,text . ,face) waiting)
          (pi-render-remark text face))))))

(defun pi-render--closed (block start end)
  "Give BLOCK, whose text is from START to END, its last form."
  (pcase (pi-render-block-kind block)
    ('text (require 'pi-markdown)
           (pi-markdown-block start end))
    ('thinking (when pi-fold-thinking
                 (pi-render-fold start end t)))))

(defun pi-render--separate ()
  "Begin something new at the end of the buffer."
  (pi-render--close)
  (goto-char (point-max))
  (unless (bobp)
    (unless (bolp) (insert "\n"))
    (insert "\n")))

(defun pi-render-insert (block text &optional face &rest properties)
  "Insert TEXT of BLOCK in FACE with PROPERTIES at point."
  (insert (apply #'propertize text 'pi-block block
                 (append (and face (list 'face face)) properties))))

(defun pi-render-append (block text &optional face &rest properties)
  "Append TEXT as something new, BLOCK, in FACE with PROPERTIES."
  (pi-render--separate)
  (apply #'pi-render-insert block text face properties))

(defun pi-render-remark (text &optional face)
  "Append TEXT, a remark about the conversation, in FACE.
It does not come between two pieces of what the model says."
  (if (pi-render-view-open pi-render--view)
      (push (cons text face) (pi-render-view-waiting pi-render--view))
    (pi-render-append (pi-render-block-make :kind 'meta) text (or face 'pi-meta))))

(defun pi-render-fold (begin end folded)
  "Hide the text from BEGIN to END if FOLDED is non-nil, else show it."
  (let ((inhibit-read-only t))
    (with-silent-modifications
      (put-text-property begin end 'invisible (and folded 'pi-fold)))))

;;; What user and model say

(defun pi-render-text (blocks)
  "The text in BLOCKS, the content of a message or result."
  (if (cdr blocks)
      (mapconcat (lambda (block) (or (plist-get block :text) "")) blocks "")
    (or (plist-get (car blocks) :text) "")))

(defun pi-render--images (blocks)
  "A word for each image in BLOCKS."
  (mapconcat (lambda (block)
               (if (equal (plist-get block :type) "image")
                   (format "[image, %s]" (plist-get block :mimeType))
                 ""))
             blocks ""))

(defun pi-render-user (content)
  "Draw a message of the user with CONTENT."
  (let ((block (pi-render-block-make :kind 'user))
        (images (pi-render--images content)))
    (pi-render-append block "> " 'pi-user 'pi-turn t)
    (let ((begin (point)))
      (pi-render-insert block (pi-render--clip-lines (pi-render-text content)) 'pi-user)
      (unless (equal images "")
        (pi-render-insert block (concat " " images) 'pi-meta))
      (let ((body (pi-render-user-body begin (point))))
        (when body
          (pi-render-fold (car body) (cdr body) t))))
    (goto-char (point-max))))

(defconst pi-render--user-lines 12
  "Longer messages of the user are folded behind so many lines.")

(defun pi-render-user-body (begin end)
  "The part (BEGIN . END) of a message from BEGIN to END that folds, or nil."
  (save-excursion
    (goto-char begin)
    (and (zerop (forward-line pi-render--user-lines))
         (< (point) end)
         (cons (1- (point)) end))))

(defun pi-render--clip-lines (text)
  "TEXT with lines that do not slow down the display."
  (if (< (length text) 4000)
      text
    (pi-render--cut text most-positive-fixnum 4000 nil)))

(defun pi-render--grow (kind text face)
  "Append TEXT in FACE to the block of KIND that grows, or begin one."
  (let* ((view pi-render--view)
         (block (pi-render-view-open view)))
    (unless (and block (eq (pi-render-block-kind block) kind))
      (setq block (pi-render-block-make :kind kind)
            text (string-trim-left text "\n+"))
      (unless (equal text "")
        (pi-render--separate)
        (when (eq kind 'thinking)
          (pi-render-insert block "Thinking" 'pi-thinking))
        (setf (pi-render-view-open view) block
              (pi-render-view-start view) (point-marker))
        (when (eq kind 'thinking)
          (pi-render-insert block "\n" 'pi-thinking))))
    (unless (equal text "")
      (goto-char (point-max))
      (pi-render-insert block text face)
      (pi-render--break-line))))

(defun pi-render--break-line ()
  "Break the last line if it is so long that it slows down the display."
  (let ((begin (line-beginning-position)))
    (when (> (- (point) begin) 10000)
      (goto-char begin)
      (while (< (+ (point) 4000) (line-end-position))
        (forward-char 4000)
        (insert-and-inherit "\n"))
      (goto-char (point-max)))))

(defun pi-render-delta (event)
  "Draw a piece of the model's answer, EVENT of a message_update."
  (pcase (plist-get event :type)
    ("text_delta" (pi-render--grow 'text (plist-get event :delta) 'pi-assistant))
    ("thinking_delta" (pi-render--grow 'thinking (plist-get event :delta) 'pi-thinking))
    ;; Two blocks of one kind are two paragraphs.
    ((or "text_end" "thinking_end") (pi-render--close))))

(defun pi-render-message-end (message)
  "Draw what of a finished MESSAGE has not been seen in pieces."
  (pcase (plist-get message :role)
    ("user" (pi-render-user (plist-get message :content)))
    ("assistant"
     (pi-render--close)
     (when (plist-get message :errorMessage)
       (pi-render-remark (plist-get message :errorMessage)
                         (if (equal (plist-get message :stopReason) "aborted")
                             'pi-meta
                           'pi-error))))))

;;; Calls of tools

(defun pi-render-event-title (event)
  "The title of the call that begins with EVENT.
What the model called may have none, or one that lacks an argument."
  (let ((title (string-trim (or (plist-get event :title) ""))))
    (if (equal title "") (plist-get event :toolName) title)))

(defun pi-render-call-start (event)
  "Draw the title of the call in EVENT; its output will come below it."
  (let ((block (pi-render-block-make
                :kind 'tool :id (plist-get event :toolCallId)
                :tool (plist-get event :toolName) :args (plist-get event :args)
                :title (pi-render-event-title event)
                :since (float-time) :tail "")))
    (pi-render-append block "* " 'pi-meta 'pi-call t)
    (pi-render-insert block (pi-render--one-line (pi-render-block-title block))
                      'pi-tool-name 'wrap-prefix "  ")
    (setf (pi-render-block-state block) (point-marker))
    (pi-render-insert block "  [running]" 'pi-tool-running 'wrap-prefix "  ")
    (setf (pi-render-block-body block) (point-marker)
          (pi-render-block-end block) (point-marker))
    (puthash (pi-render-block-id block) block (pi-render-view-calls pi-render--view))
    block))

(defvar-local pi-render--dots nil
  "An ellipsis, found out once for each transcript.")

(defun pi-render-dots ()
  "An ellipsis, as this terminal can show it."
  (or pi-render--dots
      (setq pi-render--dots (if (or noninteractive (char-displayable-p ?…)) "…" "..."))))

(defun pi-render--one-line (text)
  "The first line of TEXT, not too long, and whether there is more."
  (let* ((end (or (string-search "\n" text) (length text)))
         (line (substring text 0 (min end 300))))
    (if (< (length line) (length text))
        (concat line " " (pi-render-dots))
      line)))

(defun pi-render--work ()
  "A hidden buffer to work in, empty."
  (let ((buffer (get-buffer-create " *pi-work*")))
    (with-current-buffer buffer
      (setq buffer-undo-list t)
      (erase-buffer))
    buffer))

(defun pi-render--cut (text lines columns tail &optional more)
  "TEXT up to LINES lines, the last ones if TAIL, each up to COLUMNS characters.
MORE is text that follows TEXT."
  (with-current-buffer (pi-render--work)
    (insert text)
    (when more (insert more))
    (if tail
        (progn
          (when (and (bolp) (not (bobp))) (forward-char -1))
          (forward-line (- 1 lines))
          (delete-region (point-min) (point)))
      (goto-char (point-min))
      (forward-line lines)
      (delete-region (point) (point-max)))
    (goto-char (point-min))
    (while (not (eobp))
      (pi-render--cut-line columns)
      (forward-line 1))
    (buffer-substring (point-min) (point-max))))

(defun pi-render--cut-line (columns)
  "Leave COLUMNS characters of the line after point, as a terminal shows it."
  (let ((begin (point))
        (end (line-end-position)))
    (when (eq (char-before end) ?\r)
      (delete-region (1- end) end)
      (setq end (1- end)))
    (goto-char end)
    (when (search-backward "\r" begin t)
      (delete-region begin (1+ (point))))
    (goto-char (min (+ begin columns) (line-end-position)))
    (when (< (point) (line-end-position))
      (delete-region (point) (line-end-position))
      (insert (pi-render-dots)))))

(defun pi-render--body (block text &optional note)
  "Make TEXT the body of BLOCK.
NOTE is (WHERE . LINE) beside it, a button."
  (let ((text (string-trim-right text "\n+")))
    (delete-region (pi-render-block-body block) (pi-render-block-end block))
    (goto-char (pi-render-block-body block))
    (when (eq (car note) 'before)
      (pi-render--note block (cdr note)))
    (unless (equal text "")
      (let ((begin (point)))
        (pi-render-insert block (concat "\n" text) nil 'pi-body t
                          'line-prefix "  " 'wrap-prefix "  ")
        (goto-char (pi-render-escapes begin (point) 'face))))
    (when (eq (car note) 'after)
      (pi-render--note block (cdr note)))
    (set-marker (pi-render-block-end block) (point))))

(defun pi-render-escapes (begin end property)
  "Turn escape sequences from BEGIN to END into faces, the text property PROPERTY.
Other sequences go.  Return the new end."
  (save-excursion
    (save-restriction
      (narrow-to-region begin end)
      (goto-char (point-min))
      (when (search-forward "\e" nil t)
        (let ((ansi-color-apply-face-function
               (lambda (from to face)
                 (when face (put-text-property from to property face))))
              (ansi-color-context-region nil))
          (ansi-color-apply-on-region (point-min) (point-max)))
        (goto-char (point-min))
        (while (re-search-forward "\e\\(?:\\][^\a]*\a\\|[[(][0-9;?]*[A-Za-z]\\|.\\)?" nil t)
          (replace-match "")))
      (point-max))))

(defun pi-render--note (block text)
  "Insert TEXT, which stands for output of BLOCK that is not shown."
  (pi-render-insert block "\n" nil 'pi-body t)
  (insert (propertize text 'face 'pi-meta 'pi-block block 'pi-body t
                      'button '(t) 'category 'default-button 'follow-link t
                      'action (lambda (_) (call-interactively #'pi-show-output))
                      'line-prefix "  " 'help-echo "RET or o: the full output")))

(defun pi-render-call-output (event)
  "Draw the new output of a call in EVENT."
  (let ((block (gethash (plist-get event :toolCallId)
                        (pi-render-view-calls pi-render--view))))
    (when block
      (setf (pi-render-block-tail block)
            (pi-render--cut (pi-render-block-tail block) pi-output-lines
                            pi-output-columns t (plist-get event :delta)))
      (pi-render--body block (pi-render-block-tail block)))))

(defun pi-render--lines (text)
  "How many lines TEXT has, empty ones at its end not counted."
  (with-current-buffer (pi-render--work)
    (insert text)
    (skip-chars-backward "\n")
    (count-lines (point-min) (point))))

(defun pi-render--preview (block text tail)
  "Make a part of TEXT the body of BLOCK, its last lines if TAIL."
  (let* ((more (- (pi-render--lines text) pi-output-lines))
         (lines (if (= more 1) (1+ pi-output-lines) pi-output-lines)))
    (pi-render--body block (pi-render--cut text lines pi-output-columns tail)
                     (and (> more 1)
                          (if tail
                              (cons 'before (format "%s %d earlier lines"
                                                    (pi-render-dots) more))
                            (cons 'after (format "%s %d more lines"
                                                 (pi-render-dots) more)))))))

(defun pi-render--diff (block diff)
  "Make DIFF, lines with numbers, the body of BLOCK."
  (pi-render--preview block diff nil)
  (goto-char (pi-render-block-body block))
  (while (re-search-forward "^\\([-+]\\).*" (pi-render-block-end block) t)
    (put-text-property (match-beginning 0) (match-end 0) 'face
                       (if (equal (match-string 1) "+") 'diff-added 'diff-removed))))

(defun pi-render-call-end (event)
  "Draw how the call in EVENT ended."
  (let ((block (gethash (plist-get event :toolCallId)
                        (pi-render-view-calls pi-render--view)))
        (failed (plist-get event :isError)))
    (when block
      (remhash (pi-render-block-id block) (pi-render-view-calls pi-render--view))
      (pi-render--state block failed)
      (pi-render--result block (plist-get event :result) failed)
      (dolist (marker (list (pi-render-block-state block) (pi-render-block-body block)
                            (pi-render-block-end block)))
        (set-marker marker nil))
      (setf (pi-render-block-tail block) nil))))

(defun pi-render--state (block failed)
  "Write behind the title of BLOCK how it ended, FAILED or well."
  (let ((seconds (- (float-time) (pi-render-block-since block)))
        (begin (pi-render-block-state block))
        (body (pi-render-block-body block)))
    (goto-char body)
    ;; In front of the marker of the body, which stays in front of the body.
    (pi-render-insert block (format "  [%s%s]" (if failed "failed" "ok")
                                    (if (>= seconds 1) (format ", %.1f s" seconds) ""))
                      (if failed 'pi-tool-error 'pi-tool-ok) 'wrap-prefix "  ")
    (when (= (pi-render-block-end block) body)
      (set-marker (pi-render-block-end block) (point)))
    (set-marker body (point))
    (delete-region begin (+ begin (length "  [running]")))))

(defun pi-render--result (block result failed)
  "Draw RESULT of the call BLOCK, which FAILED or not."
  (let* ((content (plist-get result :content))
         (images (pi-render--images content))
         (text (pi-render-text content))
         (details (plist-get result :details))
         (diff (plist-get details :diff)))
    (setf (pi-render-block-line block) (plist-get details :firstChangedLine))
    (cond ((and diff (not failed)) (pi-render--diff block diff))
          ((and (equal (pi-render-block-tool block) "write") (not failed))
           (pi-render--body block ""))
          (t (pi-render--preview block (if (equal images "") text (concat text images))
                                 (or failed
                                     (equal (pi-render-block-tool block) "bash")))))))

;;; Trimming

(defun pi-render--turn-from (position)
  "Where the first turn behind POSITION begins, else the next line."
  (or (next-single-property-change position 'pi-turn)
      (save-excursion (goto-char position) (forward-line 1) (point))))

(defun pi-render--read-p (end)
  "Whether the user reads what stands before END."
  (seq-some (lambda (window) (< (window-point window) end))
            (get-buffer-window-list nil nil t)))

(defun pi-render-trim ()
  "Drop the oldest turns when the transcript is too large.
What the user reads stays as long as possible."
  (when (> (buffer-size) pi-transcript-max-bytes)
    (let ((end (pi-render--turn-from
                (- (point-max) (/ (* 3 pi-transcript-max-bytes) 4)))))
      (when (or (not (pi-render--read-p end))
                (> (buffer-size) (* 2 pi-transcript-max-bytes)))
        (delete-region (point-min) end)
        (goto-char (point-min))
        (insert-text-button (concat "earlier turns" (pi-render-dots)) 'face 'pi-meta 'follow-link t
                            'action (lambda (_)
                                      (call-interactively #'pi-earlier-turns))
                            'help-echo "The whole conversation in a buffer of its own")
        (insert "\n\n")))))

;;; Messages of the past

(defun pi-render-messages (messages omitted)
  "Draw MESSAGES of a conversation; OMITTED earlier ones are not among them."
  (when (and omitted (> omitted 0))
    (pi-render-remark (format "%d earlier messages are not shown" omitted)))
  (dolist (message messages)
    (pcase (plist-get message :role)
      ("user" (pi-render-user (plist-get message :content)))
      ("assistant" (mapc #'pi-render--past-block (plist-get message :content))
       (pi-render-message-end message))
      ("toolResult"
       (pi-render-call-end (list :toolCallId (plist-get message :toolCallId)
                                 :isError (plist-get message :isError)
                                 :result message)))))
  (pi-render--close))

(defun pi-render--past-block (block)
  "Draw BLOCK of an answer that is complete."
  (pcase (plist-get block :type)
    ("text" (pi-render--grow 'text (plist-get block :text) 'pi-assistant)
     (pi-render--close))
    ("thinking" (pi-render--grow 'thinking (plist-get block :thinking) 'pi-thinking)
     (pi-render--close))
    ("toolCall"
     (let ((args (plist-get block :arguments)))
       (pi-render-call-start
        (list :toolCallId (plist-get block :id) :toolName (plist-get block :name)
              :args args :title (pi-render--title (plist-get block :name) args)))))))

(defun pi-render--title (tool args)
  "A title for a call of TOOL with ARGS."
  (cond ((plist-get args :command) (concat "$ " (plist-get args :command)))
        ((plist-get args :pattern)
         (string-trim (format "%s %s %s" tool (plist-get args :pattern)
                              (or (plist-get args :path) ""))))
        ((plist-get args :path) (concat tool " " (plist-get args :path)))
        (t tool)))

;;; Events

(defun pi-render--notice (event)
  "Draw the notice EVENT."
  (pi-render-remark (plist-get event :message)
                    (if (equal (plist-get event :level) "error") 'pi-error 'pi-meta)))

(defun pi-render--on (type function)
  "Let FUNCTION draw events of TYPE."
  (pi-session-on type (lambda (session event)
                        (pi-render-in session (funcall function event)))))

(pi-render--on "message_update"
               (lambda (event) (pi-render-delta (plist-get event :assistantMessageEvent))))
(pi-render--on "message_end"
               (lambda (event) (pi-render-message-end (plist-get event :message))))
(pi-render--on "tool_execution_start" #'pi-render-call-start)
(pi-render--on "tool_execution_update" #'pi-render-call-output)
(pi-render--on "tool_execution_end" #'pi-render-call-end)
(pi-render--on "auto_retry_start"
               (lambda (event) (pi-render-remark (plist-get event :message))))
(pi-render--on "notice" #'pi-render--notice)
(pi-render--on "turn_end" (lambda (_) (pi-render-trim)))
(pi-render--on "agent_end" (lambda (_) (pi-render--close) (pi-render-trim)))

(provide 'pi-render)
;;; pi-render.el ends here
