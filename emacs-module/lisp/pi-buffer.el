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

;;; Code:

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
  "Whether the current, widened buffer holds what is not Unicode."
  (save-excursion
    (goto-char (point-min))
    (skip-chars-forward (concat "^" (if enable-multibyte-characters
                                        pi-buffer--foreign
                                      "\200-\377")))
    (not (eobp))))

(defun pi-buffer--same-bytes-p ()
  "Whether a clean current buffer has the text that the agent finds on the disk."
  (let ((coding (or buffer-file-coding-system 'undecided)))
    (and (memq (coding-system-type coding) '(utf-8 undecided))
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
                 (inhibit-message t))
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
        (cond ((and (not (buffer-modified-p))
                    (or (pi-buffer--same-bytes-p) (pi-buffer--foreign-p)))
               (list 'not-open))
              ((pi-buffer--foreign-p)
               (pi-buffer--failure 'conflict "the unsaved buffer %s holds bytes that are \
not text; save it first" (buffer-name)))
              (t (pi-buffer--text)))))))

(defun pi-buffer-snapshot (path)
  "Serve the text of PATH for changing."
  (let ((buffer (pi-buffer-visiting path)))
    (if (not buffer)
        (list 'not-open)
      (pi-buffer-refresh buffer)
      (pi-buffer--with buffer
        (cond ((not (verify-visited-file-modtime (current-buffer)))
               (pi-buffer--failure 'conflict "%s has unsaved changes in Emacs, and its \
file changed on disk, too; the user must save or revert the buffer" (buffer-name)))
              (buffer-read-only
               (pi-buffer--failure 'conflict "the buffer %s is read-only in Emacs"
                                   (buffer-name)))
              ((not (pi-buffer--foreign-p)) (pi-buffer--text))
              ((buffer-modified-p)
               (pi-buffer--failure 'conflict "the unsaved buffer %s holds bytes that are \
not text; save it first" (buffer-name)))
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

(defun pi-buffer--growth (ranges)
  "How much longer RANGES make the current buffer."
  (apply #'+ (mapcar (pcase-lambda (`(,begin ,end ,text))
                       (- (length text) (- end begin)))
                     ranges)))

(defun pi-buffer--change (ranges)
  "Make the changes RANGES as one step of undo."
  (undo-boundary)
  (atomic-change-group
    (pcase-dolist (`(,begin ,end ,text) ranges)
      (goto-char begin)
      (delete-region begin end)
      (insert text)))
  (undo-boundary))

(defun pi-buffer--save ()
  "Save the current buffer as the user would, and return whether that worked."
  (let ((save-silently t))
    (condition-case nil
        (progn (basic-save-buffer) (not (buffer-modified-p)))
      (error nil))))

(defun pi-buffer--apply (changes)
  "Make CHANGES in the current buffer."
  (let* ((clean (not (buffer-modified-p)))
         (ranges (pi-buffer--ranges changes))
         (char (pi-buffer--unencodable ranges)))
    (if char
        (pi-buffer--failure 'conflict "%s is saved as %s, which has no character %c (U+%04X)"
                            (buffer-name) buffer-file-coding-system char char)
      (let* ((size (+ (buffer-size) (pi-buffer--growth ranges)))
             (version (progn (pi-buffer--change ranges) (buffer-chars-modified-tick)))
             (hooks (/= size (buffer-size)))
             (saved (and clean (pi-buffer--save)))
             (altered (or hooks (/= version (buffer-chars-modified-tick)))))
        (cons 'ok (vector :version (buffer-chars-modified-tick)
                          :unsaved (buffer-modified-p)
                          :saved saved
                          :text (and altered (pi-buffer--bytes))))))))

(defun pi-buffer-apply (path version changes)
  "Change the buffer of PATH by CHANGES if it is still at VERSION.
What was saved is saved again; what the user had not saved stays so."
  (let ((buffer (pi-buffer-visiting path)))
    (if (not buffer)
        (list 'stale)
      (pi-buffer--with buffer
        (cond ((/= version (buffer-chars-modified-tick)) (list 'stale))
              ((not (verify-visited-file-modtime (current-buffer)))
               (pi-buffer--failure 'conflict "the file of %s changed on disk meanwhile"
                                   (buffer-name)))
              (t (pi-buffer--apply changes)))))))

(defun pi-buffer-serve (op path version changes)
  "Serve one request of the agent and return its answer.
OP is `read', `snapshot' or `apply', PATH a unibyte string; VERSION and
CHANGES are for `apply'."
  (let ((path (decode-coding-string path (or file-name-coding-system
                                             default-file-name-coding-system 'utf-8))))
    (condition-case err
        (pcase op
          ('read (pi-buffer-read path))
          ('snapshot (pi-buffer-snapshot path))
          ('apply (pi-buffer-apply path version changes))
          (_ (pi-buffer--failure 'io "Emacs does not know the request %s" op)))
      ((inhibited-interaction text-read-only buffer-read-only file-error)
       (pi-buffer--failure 'conflict "Emacs refuses: %s" (error-message-string err)))
      (error
       (pi-buffer--failure 'io "Emacs failed: %s" (error-message-string err))))))

(provide 'pi-buffer)
;;; pi-buffer.el ends here
