;;; pi-buffer.el --- Files that are open in buffers  -*- lexical-binding: t; -*-

;; SPDX-License-Identifier: MIT

;;; Commentary:

;; What the agent may do with a file that a buffer visits: look at the text, take a
;; snapshot, and change it.  Each function here serves one request and returns
;; (STATUS . FIELDS) for `pi-module--answer-host'.  Nothing here asks the user anything.
;;
;; Text goes to the agent as UTF-8, and its offsets are bytes of that.  Emacs keeps the
;; characters of Unicode in the same bytes, so `byte-to-position' maps them back; a buffer
;; that holds other characters (raw bytes) is refused.
;;
;; A hook of the user's may do anything: ask, wait, change the text, kill the buffer.  A
;; question becomes an error, C-g ends a hook that hangs, and what was done is looked at
;; afterwards instead of being taken for granted.

;;; Code:

(require 'seq)

(defcustom pi-edit-save 'if-clean
  "Whether a buffer is saved after the agent changed it.
`if-clean' saves what had no unsaved changes before."
  :type '(choice (const :tag "If it was saved before" if-clean)
                 (const :tag "Always" always)
                 (const :tag "Never" never))
  :group 'pi
  :package-version '(pi . "0.1.0"))

(defcustom pi-before-edit-functions nil
  "Functions called before the agent changes a buffer, in that buffer.
The arguments are the file and a list of (BEGIN END TEXT), last first.  If
one returns nil the change is refused, and the agent is told so."
  :type 'hook
  :group 'pi
  :package-version '(pi . "0.1.0"))

(defcustom pi-after-edit-functions nil
  "Functions called after the agent changed a buffer, in that buffer.
The arguments are the file and a list of (BEGIN . END), the new text's
places before any hook of saving moved them, last first."
  :type 'hook
  :group 'pi
  :package-version '(pi . "0.1.0"))

(defvar pi-buffer-session nil
  "The session whose request is served.")

(defvar pi-buffer-changing-functions nil
  "Functions called in a buffer, with the session, before it is changed.")

(defvar pi-buffer-changed-functions nil
  "Functions called in a buffer after it was changed for the agent.
The arguments are the session and a list of (LINE OLD NEW) in the order in
which the changes were made: the number of the first line and the whole
lines before and after.  When a hook changed more, the list is t.")

(defvar pi-buffer-trouble-functions nil
  "Functions called with a session and what the user should know about a buffer.")

(defconst pi-buffer--not-text '(hexl-mode tar-mode archive-mode image-mode doc-view-mode
                                          pdf-view-mode)
  "Modes whose buffers show something else than the text of the file.")

(defconst pi-buffer--foreign "\xd800-\xdfff\x110000-\x3fffff"
  "Characters that UTF-8 cannot hold, as a range for `skip-chars-forward'.")

(defun pi-buffer-visiting (path)
  "The buffer that visits PATH, or nil."
  (let ((buffer (find-buffer-visiting path)))
    (and buffer (or (buffer-base-buffer buffer) buffer))))

(defun pi-buffer--failure (status format &rest args)
  "An answer of STATUS with a message made of FORMAT and ARGS."
  (cons status
        (vector :message (encode-coding-string (apply #'format format args) 'utf-8-unix))))

(defun pi-buffer--foreign-p ()
  "Whether the current, widened buffer holds what is not Unicode text."
  (or (apply #'derived-mode-p pi-buffer--not-text)
      (save-excursion
        (goto-char (point-min))
        (skip-chars-forward (concat "^" (if enable-multibyte-characters
                                            pi-buffer--foreign
                                          "\200-\377")))
        (not (eobp)))))

(defun pi-buffer--secret-p ()
  "Whether the current buffer shows in clear what its file holds encrypted."
  (eq (find-file-name-handler buffer-file-name 'insert-file-contents)
      'epa-file-handler))

(defun pi-buffer--same-bytes-p ()
  "Whether a clean current buffer has the text that the agent finds on the disk."
  (let ((coding (or buffer-file-coding-system 'undecided)))
    (and (null buffer-file-format)
         (memq (find-file-name-handler buffer-file-name 'insert-file-contents)
               '(nil epa-file-handler))
         (memq (coding-system-type coding) '(utf-8 undecided))
         (memq (coding-system-get coding :bom) '(nil))
         (not (memq (coding-system-eol-type coding) '(1 2))))))

(defmacro pi-buffer--with (buffer &rest body)
  "Run BODY with all of BUFFER, and leave point, narrowing and matches alone.
A question to the user becomes an error."
  (declare (indent 1) (debug t))
  `(with-current-buffer ,buffer
     (save-excursion
       (save-restriction
         (save-match-data
           (widen)
           (let ((inhibit-interaction t)
                 (inhibit-message t)
                 (deactivate-mark nil))
             ,@body))))))

(defun pi-buffer-refresh (buffer)
  "Read the file of BUFFER again if it changed on disk and the buffer did not."
  (with-current-buffer buffer
    (unless (or (buffer-modified-p) (verify-visited-file-modtime buffer)
                (not (file-exists-p buffer-file-name)))
      (let ((inhibit-interaction t)
            (revert-buffer-with-fine-grain-max-seconds 0.2))
        (condition-case nil
            (revert-buffer-with-fine-grain t t)
          (error nil))))))

(defun pi-buffer--bytes ()
  "The text of the current buffer as UTF-8."
  (encode-coding-region (point-min) (point-max) 'utf-8-unix t))

(defun pi-buffer--text ()
  "The answer that brings the text of the current buffer."
  (cons 'ok (vector :text (pi-buffer--bytes)
                    :version (buffer-chars-modified-tick)
                    :unsaved (buffer-modified-p))))

(defun pi-buffer-read (path)
  "Serve a look at PATH.
A clean buffer has nothing that the disk has not, as long as characters
are the same in both."
  (let ((buffer (pi-buffer-visiting path)))
    (if (not buffer)
        (list 'not-open)
      (pi-buffer-refresh buffer)
      (pi-buffer--with buffer
        (let ((modified (buffer-modified-p)))
          (cond ((and (not modified)
                      (or (pi-buffer--gone-p) (pi-buffer--secret-p) (pi-buffer--same-bytes-p)
                          (pi-buffer--foreign-p)))
                 (list 'not-open))
                ((pi-buffer--secret-p) (pi-buffer--secret))
                ((pi-buffer--foreign-p) (pi-buffer--unreadable))
                (t (when (and modified (pi-buffer--moved-p))
                     (pi-buffer--trouble "%s and its file have both changed: save or \
revert the buffer" (buffer-name)))
                   (pi-buffer--text))))))))

(defun pi-buffer--moved-p ()
  "Whether the file of the current buffer changed on disk behind its back."
  (not (verify-visited-file-modtime (current-buffer))))

(defun pi-buffer--secret ()
  "The answer for a buffer in clear of an encrypted file."
  (pi-buffer--failure 'conflict "%s is encrypted; what Emacs shows of it is not for the \
agent" (buffer-name)))

(defun pi-buffer--unreadable ()
  "The answer for an unsaved buffer that holds no text."
  (pi-buffer--failure 'conflict "the unsaved buffer %s holds bytes that are not text; \
save it first" (buffer-name)))

(define-minor-mode pi-buffer-conflict-mode
  "Say in the mode line that buffer and file have both changed.
The agent wanted to change the file and was refused; saving or reverting
the buffer ends that."
  :lighter " Conflict"
  (dolist (hook '(after-save-hook after-revert-hook))
    (if pi-buffer-conflict-mode
        (add-hook hook #'pi-buffer--calm nil t)
      (remove-hook hook #'pi-buffer--calm t))))

(defun pi-buffer--calm ()
  "Buffer and file are one again."
  (pi-buffer-conflict-mode -1))

(defun pi-buffer--alert ()
  "Let the mode line tell of the conflict."
  (unless pi-buffer-conflict-mode
    (pi-buffer-conflict-mode 1)
    (force-mode-line-update)))

(defun pi-buffer--protected ()
  "Why the current buffer must not be changed, as an answer, or nil."
  (cond ((pi-buffer--secret-p) (pi-buffer--secret))
        (buffer-read-only
         (pi-buffer--failure 'conflict "the buffer %s is read-only in Emacs"
                             (buffer-name)))
        ((not (pi-buffer--moved-p)) nil)
        ((progn (pi-buffer--alert) nil))
        ((not (file-exists-p buffer-file-name))
         (pi-buffer--failure 'conflict "%s has unsaved changes in Emacs, and its file \
was deleted; the user must save or kill the buffer" (buffer-name)))
        (t
         (pi-buffer--failure 'conflict "%s has unsaved changes in Emacs, and its file \
changed on disk, too; the user must save or revert the buffer" (buffer-name)))))

(defun pi-buffer--gone-p ()
  "Whether the file of the clean current buffer was deleted."
  (and (not (buffer-modified-p)) (pi-buffer--moved-p)
       (not (file-exists-p buffer-file-name))))

(defun pi-buffer-snapshot (path)
  "Serve the text of PATH for changing."
  (let ((buffer (pi-buffer-visiting path)))
    (if (not buffer)
        (list 'not-open)
      (pi-buffer-refresh buffer)
      (pi-buffer--with buffer
        (cond ((pi-buffer--gone-p) (list 'not-open))
              ((pi-buffer--protected))
              ((not (pi-buffer--foreign-p)) (pi-buffer--text))
              ((buffer-modified-p) (pi-buffer--unreadable))
              (t (list 'not-open)))))))

(defun pi-buffer--position (offset)
  "The position of byte OFFSET; an error when it is inside a character."
  (let ((position (byte-to-position (1+ offset))))
    (unless (and position (= (position-bytes position) (1+ offset)))
      (error "Offset %d is not at a character" offset))
    position))

(defun pi-buffer--ranges (changes)
  "CHANGES (OFFSET LENGTH BYTES) as (BEGIN END TEXT), last first."
  (let ((dos (eql 1 (coding-system-eol-type (or buffer-file-coding-system 'undecided))))
        ranges)
    (dolist (change changes ranges)
      (pcase-let* ((`(,offset ,length ,bytes) change)
                   (text (decode-coding-string bytes 'utf-8-unix)))
        (push (list (pi-buffer--position offset)
                    (pi-buffer--position (+ offset length))
                    ;; The buffer has LF for CR LF, and saving puts it back.
                    (if dos (string-replace "\r\n" "\n" text) text))
              ranges)))))

(defun pi-buffer--unencodable (ranges)
  "The first character of RANGES that the file's coding cannot hold, or nil."
  (let ((coding buffer-file-coding-system))
    (and coding (not (eq (coding-system-type coding) 'undecided))
         (seq-some (lambda (range)
                     (let* ((text (nth 2 range))
                            (at (unencodable-char-position 0 (length text) coding nil
                                                           text)))
                       (and at (aref text at))))
                   ranges))))

(defvar-local pi-buffer--tick nil
  "The tick after the last change, before other functions saw it.")

(defun pi-buffer--note-tick (&rest _)
  "Remember the tick; the first of `after-change-functions'."
  (setq pi-buffer--tick (buffer-chars-modified-tick)))

(defun pi-buffer--lines (begin end text)
  "The bounds of the whole lines that change when BEGIN to END becomes TEXT."
  (save-excursion
    (let ((whole (or (equal text "") (string-suffix-p "\n" text))))
      (goto-char begin)
      (let ((from (line-beginning-position)))
        (goto-char end)
        (cons from (if (and (bolp) whole (or (= from begin) (> end begin))
                            (or (= from begin) (not (equal text ""))))
                       end
                     (min (point-max) (1+ (line-end-position)))))))))

(defun pi-buffer--replace (begin end text)
  "Replace BEGIN to END by TEXT.
What is new comes first: markers at END, point for instance, then stay
behind it, and overlays that begin at BEGIN keep their text.  Return
non-nil if somebody else changed the buffer meanwhile."
  (let ((middle (+ begin (length text)))
        strange)
    (unless (equal text "")
      (goto-char begin)
      (insert text)
      (setq strange (/= pi-buffer--tick (buffer-chars-modified-tick))))
    (unless (= begin end)
      (delete-region middle (+ middle (- end begin)))
      (setq strange (or strange (/= pi-buffer--tick (buffer-chars-modified-tick)))))
    strange))

(defun pi-buffer--change-1 (range)
  "Make the change RANGE.
Return (STRANGE LINE OLD NEW), LINE being its first one's number, OLD and
NEW the whole lines before and after."
  (pcase-let* ((`(,begin ,end ,text) range)
               (`(,from . ,to) (pi-buffer--lines begin end text))
               (old (buffer-substring-no-properties from to))
               (rest (- (point-max) to))
               (line (line-number-at-pos from t))
               (strange (pi-buffer--replace begin end text)))
    (list strange line old
          (and (not strange)
               (buffer-substring-no-properties from (- (point-max) rest))))))

(defun pi-buffer-change (ranges)
  "Make the changes RANGES (BEGIN END TEXT), last first, as one step of undo.
All of them are made or none.  Return (STRANGE . CHANGES): whether some
hook changed more, and what `pi-buffer--change-1' says of each."
  (let (changes)
    (undo-boundary)
    (add-hook 'after-change-functions #'pi-buffer--note-tick -100 t)
    (unwind-protect
        (let ((inhibit-quit t))
          (atomic-change-group
            (dolist (range ranges)
              (push (pi-buffer--change-1 range) changes))))
      (remove-hook 'after-change-functions #'pi-buffer--note-tick t)
      (undo-boundary))
    (setq changes (nreverse changes))
    (cons (seq-some #'car changes) (mapcar #'cdr changes))))

(defun pi-buffer--trouble (format &rest args)
  "Tell the user what FORMAT and ARGS say."
  (run-hook-with-args 'pi-buffer-trouble-functions pi-buffer-session
                      (apply #'format format args)))

(defun pi-buffer-save (clean)
  "Save the current buffer as the user would, if `pi-edit-save' wants that.
CLEAN says whether it had no unsaved changes before.  Return whether it is
saved now; what went wrong is told the user.  Quitting ends a hook that
hangs."
  (let ((buffer (current-buffer))
        (name (buffer-name)))
    (when (pcase pi-edit-save
            ('always t)
            ('never nil)
            (_ clean))
      (condition-case err
          (let ((save-silently t)
                (inhibit-quit nil))
            (basic-save-buffer))
        (quit (pi-buffer--trouble "Saving %s was interrupted" name))
        (error (pi-buffer--trouble "Saving %s: %s" name (error-message-string err))))
      (and (buffer-live-p buffer)
           (not (buffer-modified-p buffer))))))

(defun pi-buffer--apply-ranges (path ranges)
  "Change the current buffer of PATH by RANGES and save it."
  (let* ((buffer (current-buffer))
         (clean (not (buffer-modified-p)))
         (result (progn
                   (run-hook-with-args 'pi-buffer-changing-functions pi-buffer-session)
                   (pi-buffer-change ranges)))
         (version (buffer-chars-modified-tick))
         (places (pi-buffer--places ranges)))
    (run-hook-with-args 'pi-buffer-changed-functions pi-buffer-session
                        (or (car result) (cdr result)))
    (run-hook-with-args 'pi-after-edit-functions path places)
    (let ((saved (pi-buffer-save clean)))
      (if (not (buffer-live-p buffer))
          (list 'ok :saved t)
        (list 'ok
              :version (buffer-chars-modified-tick)
              :unsaved (buffer-modified-p)
              :saved saved
              :text (and (or (car result) (/= version (buffer-chars-modified-tick)))
                         (pi-buffer--bytes)))))))

(defun pi-buffer--places (ranges)
  "Where the texts of RANGES are once they are made, last first."
  (let ((shift 0)
        places)
    (pcase-dolist (`(,begin ,end ,text) (reverse ranges))
      (push (cons (+ begin shift) (+ begin shift (length text))) places)
      (setq shift (+ shift (- (length text) (- end begin)))))
    places))

(defun pi-buffer--apply (path changes)
  "Make CHANGES in the current buffer of PATH."
  (let* ((ranges (pi-buffer--ranges changes))
         (char (pi-buffer--unencodable ranges)))
    (cond (char
           (pi-buffer--failure 'conflict "%s is saved as %s, which has no character %c \
(U+%04X)"
                               (buffer-name) buffer-file-coding-system char char))
          ((not (run-hook-with-args-until-failure 'pi-before-edit-functions path ranges))
           (pi-buffer--failure 'conflict "the user's Emacs refuses changes of %s"
                               (buffer-name)))
          (t (pcase-let ((`(,status . ,fields) (pi-buffer--apply-ranges path ranges)))
               (cons status (vconcat fields)))))))

(defun pi-buffer-apply (path version changes)
  "Change the buffer of PATH by CHANGES if it is still at VERSION.
What was saved is saved again; what the user had not saved stays so."
  (let ((buffer (pi-buffer-visiting path)))
    (if (not buffer)
        (list 'stale)
      (pi-buffer--with buffer
        (cond ((/= version (buffer-chars-modified-tick)) (list 'stale))
              ((pi-buffer--protected))
              (t (pi-buffer--apply path changes)))))))

(defun pi-buffer--serve (op path version changes)
  "Serve OP for PATH, at VERSION and with CHANGES, and return its answer."
  (condition-case err
      (pcase op
        ('read (pi-buffer-read path))
        ('snapshot (pi-buffer-snapshot path))
        ('apply (pi-buffer-apply path version changes))
        (_ (pi-buffer--failure 'io "Emacs does not know the request %s" op)))
    ((inhibited-interaction text-read-only buffer-read-only file-error)
     (pi-buffer--failure 'conflict "Emacs refuses: %s" (error-message-string err)))
    ((error quit)
     (pi-buffer--failure 'io "Emacs failed: %s" (error-message-string err)))))

(defun pi-buffer-serve (op path version changes)
  "Serve one request of the agent and return its answer.
OP is `read', `snapshot' or `apply', PATH a unibyte string; VERSION and
CHANGES are for `apply'."
  (let* ((path (decode-coding-string path (or file-name-coding-system
                                              default-file-name-coding-system 'utf-8)))
         (answer (pi-buffer--serve op path version changes)))
    ;; What only the user can decide the user should know.
    (when (eq (car answer) 'conflict)
      (pi-buffer--trouble "%s: %s" (abbreviate-file-name path)
                          (decode-coding-string (aref (cdr answer) 1) 'utf-8-unix)))
    answer))

(provide 'pi-buffer)
;;; pi-buffer.el ends here
