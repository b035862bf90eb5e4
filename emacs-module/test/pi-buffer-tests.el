;;; pi-buffer-tests.el --- Files that are open in buffers  -*- lexical-binding: t; -*-

;; SPDX-License-Identifier: MIT

;;; Code:

(require 'ert)
(require 'cl-lib)
(require 'pi-buffer)

(setq make-backup-files nil
      create-lockfiles nil)

(defvar pi-buffer-tests--file nil
  "The file of the test.")

(defun pi-buffer-tests--write (bytes)
  "Make BYTES, a unibyte string, the content of the file."
  (let ((coding-system-for-write 'binary))
    (write-region bytes nil pi-buffer-tests--file nil 'silent)))

(defun pi-buffer-tests--disk ()
  "The bytes of the file."
  (with-temp-buffer
    (set-buffer-multibyte nil)
    (insert-file-contents-literally pi-buffer-tests--file)
    (buffer-string)))

(defun pi-buffer-tests--utf8 (text)
  "TEXT as UTF-8."
  (encode-coding-string text 'utf-8-unix))

(defun pi-buffer-tests--touch ()
  "Let the file look as if it was written in the future."
  (set-file-times pi-buffer-tests--file (time-add nil 10)))

(defmacro pi-buffer-tests--visiting (bytes &rest body)
  "Visit a file of BYTES and run BODY in its buffer."
  (declare (indent 1))
  `(let ((pi-buffer-tests--file (file-truename (make-temp-file "pi-buffer" nil ".txt"))))
     (pi-buffer-tests--write ,bytes)
     (let ((buffer (find-file-noselect pi-buffer-tests--file)))
       (unwind-protect
           (with-current-buffer buffer
             (buffer-enable-undo)
             ,@body)
         (with-current-buffer buffer
           (set-buffer-modified-p nil)
           (let (kill-buffer-hook) (kill-buffer buffer)))
         (delete-file pi-buffer-tests--file)))))

(defun pi-buffer-tests--serve (op &optional version changes)
  "The answer to OP, its fields as a plist behind its status."
  (let ((answer (pi-buffer-serve op (encode-coding-string pi-buffer-tests--file 'utf-8)
                                 version changes)))
    (cons (car answer) (append (cdr answer) nil))))

(defun pi-buffer-tests--get (answer field)
  "FIELD of ANSWER."
  (plist-get (cdr answer) field))

(defun pi-buffer-tests--apply (&rest changes)
  "Make CHANGES (OFFSET LENGTH TEXT) to a fresh snapshot."
  (pi-buffer-tests--serve
   'apply (pi-buffer-tests--get (pi-buffer-tests--serve 'snapshot) :version)
   (mapcar (lambda (change)
             (list (car change) (cadr change) (pi-buffer-tests--utf8 (nth 2 change))))
           changes)))

(defun pi-buffer-tests--undo ()
  "Take one step back."
  (let ((last-command nil) (inhibit-message t)) (undo)))

(ert-deftest pi-buffer-tests-not-open ()
  (let ((pi-buffer-tests--file "/nonexistent/file"))
    (should (equal (pi-buffer-tests--serve 'read) '(not-open)))
    (should (equal (pi-buffer-tests--serve 'snapshot) '(not-open)))
    (should (equal (pi-buffer-tests--serve 'apply 1 nil) '(stale)))))

(ert-deftest pi-buffer-tests-clean ()
  "The disk is read; the buffer is changed and saved."
  (pi-buffer-tests--visiting "one\ntwo\n"
    (should (equal (pi-buffer-tests--serve 'read) '(not-open)))
    (let ((answer (pi-buffer-tests--serve 'snapshot)))
      (should (equal (pi-buffer-tests--get answer :text) "one\ntwo\n"))
      (should-not (pi-buffer-tests--get answer :unsaved)))
    (let ((answer (pi-buffer-tests--apply '(0 3 "1") '(4 3 "2"))))
      (should (eq (car answer) 'ok))
      (should (pi-buffer-tests--get answer :saved))
      (should-not (pi-buffer-tests--get answer :unsaved))
      (should-not (pi-buffer-tests--get answer :text)))
    (should (equal (pi-buffer-tests--disk) "1\n2\n"))
    (pi-buffer-tests--undo)
    (should (equal (buffer-string) "one\ntwo\n"))))

(ert-deftest pi-buffer-tests-modified ()
  "What the user had not saved is seen, kept and not saved."
  (pi-buffer-tests--visiting "one\ntwo\n"
    (goto-char (point-max))
    (insert "three\n")
    (undo-boundary)
    (let ((answer (pi-buffer-tests--serve 'read)))
      (should (equal (pi-buffer-tests--get answer :text) "one\ntwo\nthree\n"))
      (should (pi-buffer-tests--get answer :unsaved)))
    (let ((answer (pi-buffer-tests--apply '(14 0 "four\n"))))
      (should (eq (car answer) 'ok))
      (should-not (pi-buffer-tests--get answer :saved)))
    (should (equal (buffer-string) "one\ntwo\nthree\nfour\n"))
    (should (equal (pi-buffer-tests--disk) "one\ntwo\n"))
    (pi-buffer-tests--undo)
    (should (equal (buffer-string) "one\ntwo\nthree\n"))))

(ert-deftest pi-buffer-tests-stale ()
  (pi-buffer-tests--visiting "one\n"
    (let ((version (pi-buffer-tests--get (pi-buffer-tests--serve 'snapshot) :version)))
      (goto-char (point-max))
      (insert "more")
      (should (equal (pi-buffer-tests--serve 'apply version '((0 3 "1"))) '(stale)))
      (should (equal (buffer-string) "one\nmore")))))

(ert-deftest pi-buffer-tests-both-changed ()
  "Buffer and disk have both changed: only the user can decide."
  (pi-buffer-tests--visiting "one\n"
    (goto-char (point-max))
    (insert "more")
    (pi-buffer-tests--write "other\n")
    (pi-buffer-tests--touch)
    (should (equal (pi-buffer-tests--get (pi-buffer-tests--serve 'read) :text)
                   "one\nmore"))
    (let ((answer (pi-buffer-tests--serve 'snapshot)))
      (should (eq (car answer) 'conflict))
      (should (string-search "changed on disk" (pi-buffer-tests--get answer :message))))
    (should pi-buffer-conflict-mode)
    (should (eq 'conflict (car (pi-buffer-tests--serve
                                'apply (buffer-chars-modified-tick) '((0 3 "1"))))))
    (should (equal (buffer-string) "one\nmore"))
    (should (equal (pi-buffer-tests--disk) "other\n"))
    (revert-buffer t t)
    (should-not pi-buffer-conflict-mode)))

(ert-deftest pi-buffer-tests-disk-changed ()
  "A clean buffer is read again first."
  (pi-buffer-tests--visiting "one\ntwo\n"
    (pi-buffer-tests--write "one\nTWO\n")
    (pi-buffer-tests--touch)
    (should (equal (pi-buffer-tests--get (pi-buffer-tests--serve 'snapshot) :text)
                   "one\nTWO\n"))
    (should (eq 'ok (car (pi-buffer-tests--apply '(0 3 "1")))))
    (should (equal (pi-buffer-tests--disk) "1\nTWO\n"))))

(ert-deftest pi-buffer-tests-deleted ()
  "The file is gone, the buffer is not: what the user did not change may go."
  (pi-buffer-tests--visiting "one\n"
    (delete-file pi-buffer-tests--file)
    (should (equal (pi-buffer-tests--serve 'read) '(not-open)))
    (should (equal (pi-buffer-tests--serve 'snapshot) '(not-open)))
    (insert "mine ")
    (should (equal (pi-buffer-tests--get (pi-buffer-tests--serve 'read) :text)
                   "mine one\n"))
    (let ((answer (pi-buffer-tests--serve 'snapshot)))
      (should (eq (car answer) 'conflict))
      (should (string-search "deleted" (pi-buffer-tests--get answer :message))))
    (pi-buffer-tests--write "")))

(ert-deftest pi-buffer-tests-read-only ()
  (pi-buffer-tests--visiting "one\n"
    (setq buffer-read-only t)
    (should (eq 'conflict (car (pi-buffer-tests--serve 'snapshot))))))

(ert-deftest pi-buffer-tests-read-only-text ()
  "A change that cannot be made whole is not made in part."
  (pi-buffer-tests--visiting "one\ntwo\nthree\n"
    (with-silent-modifications
      (put-text-property 1 4 'read-only t))
    (should (eq 'conflict (car (pi-buffer-tests--apply '(0 3 "1") '(4 3 "2")))))
    (should (equal (buffer-substring-no-properties 1 (point-max)) "one\ntwo\nthree\n"))
    (should-not (buffer-modified-p))))

(ert-deftest pi-buffer-tests-characters ()
  "Offsets are bytes of UTF-8, and never inside a character."
  (pi-buffer-tests--visiting (pi-buffer-tests--utf8 "äöü\n🌷 x\n日本\n")
    (should (eq 'ok (car (pi-buffer-tests--apply '(2 2 "OE") '(11 2 "ß") '(14 3 "nihon")))))
    (should (equal (buffer-string) "äOEü\n🌷ß\nnihon本\n"))
    (should (equal (pi-buffer-tests--disk)
                   (pi-buffer-tests--utf8 "äOEü\n🌷ß\nnihon本\n")))
    (let ((before (buffer-string)))
      (should (eq 'io (car (pi-buffer-tests--apply '(1 1 "x")))))
      (should (eq 'io (car (pi-buffer-tests--apply '(0 1 "x")))))
      (should (eq 'io (car (pi-buffer-tests--apply '(100 0 "x")))))
      (should (equal (buffer-string) before)))))

(ert-deftest pi-buffer-tests-dos ()
  "CR LF stays CR LF, also in what is new."
  (pi-buffer-tests--visiting "one\r\ntwo\r\n"
    (should (equal (pi-buffer-tests--get (pi-buffer-tests--serve 'read) :text)
                   "one\ntwo\n"))
    (should (eq 'ok (car (pi-buffer-tests--apply '(0 3 "1\r\n1a")))))
    (should (equal (pi-buffer-tests--disk) "1\r\n1a\r\ntwo\r\n"))))

(ert-deftest pi-buffer-tests-bom ()
  (pi-buffer-tests--visiting "\357\273\277one\n"
    (should (equal (pi-buffer-tests--get (pi-buffer-tests--serve 'read) :text) "one\n"))
    (should (eq 'ok (car (pi-buffer-tests--apply '(0 3 "1")))))
    (should (equal (pi-buffer-tests--disk) "\357\273\2771\n"))))

(ert-deftest pi-buffer-tests-latin-1 ()
  "Text crosses as UTF-8; what the file cannot hold is refused."
  (pi-buffer-tests--visiting "gr\374n\n"
    (should (eq (coding-system-type buffer-file-coding-system) 'charset))
    (should (equal (pi-buffer-tests--get (pi-buffer-tests--serve 'read) :text)
                   (pi-buffer-tests--utf8 "grün\n")))
    (should (eq 'ok (car (pi-buffer-tests--apply '(5 0 "é")))))
    (should (equal (pi-buffer-tests--disk) "gr\374n\351\n"))
    (let ((answer (pi-buffer-tests--apply '(0 0 "€"))))
      (should (eq (car answer) 'conflict))
      (should (string-search "U+20AC" (pi-buffer-tests--get answer :message))))
    (should (equal (buffer-string) "grüné\n"))))

(ert-deftest pi-buffer-tests-raw-bytes ()
  "Bytes that are no text are left to the disk."
  (pi-buffer-tests--visiting "a\n\377\376\200b\xc3\xa4\n"
    (set-buffer-file-coding-system 'utf-8-unix t t)
    (with-silent-modifications
      (let ((inhibit-read-only t))
        (erase-buffer)
        (insert (decode-coding-string "a\n\377\376\200b\xc3\xa4\n" 'utf-8-unix))))
    (set-buffer-modified-p nil)
    (should (equal (pi-buffer-tests--serve 'read) '(not-open)))
    (should (equal (pi-buffer-tests--serve 'snapshot) '(not-open)))
    (goto-char (point-max))
    (insert "x")
    (should (eq 'conflict (car (pi-buffer-tests--serve 'read))))
    (should (eq 'conflict (car (pi-buffer-tests--serve 'snapshot))))))

(ert-deftest pi-buffer-tests-leaves-alone ()
  "Point, narrowing, marks and matches stay; an indirect buffer is served by its base."
  (pi-buffer-tests--visiting "one\ntwo\nthree\n"
    (goto-char 9)
    (let ((marker (copy-marker 10)))
      (narrow-to-region 9 12)
      (string-match "b" "abc")
      (should (eq 'ok (car (pi-buffer-tests--apply '(0 3 "1\n1")))))
      (should (= (match-beginning 0) 1))
      (should (looking-at-p "thr"))
      (should (= marker 10))
      (should (equal (buffer-string) "thr")))
    (widen)
    (let ((indirect (make-indirect-buffer (current-buffer) "indirect")))
      (unwind-protect
          (with-current-buffer indirect
            (should (eq 'ok (car (pi-buffer-tests--apply '(0 1 "0")))))
            (should (equal (buffer-string) "0\n1\ntwo\nthree\n")))
        (kill-buffer indirect)))))

(ert-deftest pi-buffer-tests-hooks-that-ask ()
  "A question of a hook becomes an error; nothing hangs and nothing is lost."
  (pi-buffer-tests--visiting "one\n"
    (add-hook 'before-change-functions
              (lambda (&rest _) (read-string "Really? ")) nil t)
    (should (eq 'conflict (car (pi-buffer-tests--apply '(0 3 "1")))))
    (should (equal (buffer-string) "one\n"))
    (kill-local-variable 'before-change-functions)
    (add-hook 'write-file-functions (lambda () (yes-or-no-p "Save? ")) nil t)
    (let ((answer (pi-buffer-tests--apply '(0 3 "1"))))
      (should (eq (car answer) 'ok))
      (should-not (pi-buffer-tests--get answer :saved))
      (should (pi-buffer-tests--get answer :unsaved)))
    (should (equal (buffer-string) "1\n"))
    (should (equal (pi-buffer-tests--disk) "one\n"))))

(ert-deftest pi-buffer-tests-format-on-save ()
  "What a formatter made of the text is told."
  (pi-buffer-tests--visiting "one\n"
    (add-hook 'before-save-hook
              (lambda () (upcase-region (point-min) (point-max))) nil t)
    (let ((answer (pi-buffer-tests--apply '(0 3 "two"))))
      (should (equal (pi-buffer-tests--get answer :text) "TWO\n"))
      (should (pi-buffer-tests--get answer :saved)))
    (should (equal (pi-buffer-tests--disk) "TWO\n"))))

(ert-deftest pi-buffer-tests-new-file ()
  "A buffer of a file that is not there yet."
  (pi-buffer-tests--visiting ""
    (let ((pi-buffer-tests--file (concat pi-buffer-tests--file ".new")))
      (with-current-buffer (find-file-noselect pi-buffer-tests--file)
        (insert "draft\n")
        (should (equal (pi-buffer-tests--get (pi-buffer-tests--serve 'snapshot) :text)
                       "draft\n"))
        (should (eq 'ok (car (pi-buffer-tests--apply '(0 5 "text")))))
        (should (equal (buffer-string) "text\n"))
        (should-not (file-exists-p pi-buffer-tests--file))
        (set-buffer-modified-p nil)
        (kill-buffer)))))

(ert-deftest pi-buffer-tests-saving ()
  "What `pi-edit-save' says, whether the buffer was clean or not."
  (dolist (case '((always nil t) (always t t) (never nil nil) (never t nil)
                  (if-clean nil t) (if-clean t nil)))
    (pcase-let ((`(,pi-edit-save ,dirty ,saved) case))
      (pi-buffer-tests--visiting "one\n"
        (when dirty
          (goto-char (point-max))
          (insert "two\n"))
        (let ((answer (pi-buffer-tests--apply '(0 3 "1"))))
          (should (eq (car answer) 'ok))
          (should (eq saved (and (pi-buffer-tests--get answer :saved) t)))
          (should (eq saved (not (pi-buffer-tests--get answer :unsaved)))))
        (should (equal (pi-buffer-tests--disk)
                       (cond ((not saved) "one\n") (dirty "1\ntwo\n") (t "1\n"))))))))

(ert-deftest pi-buffer-tests-point-behind ()
  "Point at what follows a change stays there; new text does not push it on."
  (pi-buffer-tests--visiting "one\ntwo\nthree\n"
    (goto-char 9)
    (let ((overlay (make-overlay 5 9)))
      (overlay-put overlay 'evaporate t)
      (overlay-put overlay 'invisible t)
      (should (eq 'ok (car (pi-buffer-tests--apply '(4 4 "2\n2b\n")))))
      (should (looking-at-p "three"))
      (should (equal (buffer-substring (overlay-start overlay) (overlay-end overlay))
                     "2\n2b\n")))
    (goto-char (point-max))
    (should (eq 'ok (car (pi-buffer-tests--apply '(15 0 "four\n")))))
    (should (looking-at-p "four"))))

(ert-deftest pi-buffer-tests-windows ()
  "Each window stays where it was."
  (pi-buffer-tests--visiting (apply #'concat (make-list 200 "some line\n"))
    (save-window-excursion
      (switch-to-buffer (current-buffer))
      (let ((other (split-window)))
        (goto-char 501)
        (set-window-point other 1001)
        (set-window-start other 901)
        (should (eq 'ok (car (pi-buffer-tests--apply '(0 10 "a\nb\n") '(700 10 "c\n")))))
        (should (= (point) (- 501 6)))
        (should (= (window-point other) (- 1001 6 8)))
        (should (= (window-start other) (- 901 6 8)))))))

(ert-deftest pi-buffer-tests-encrypted ()
  "What Emacs shows in clear of an encrypted file the agent does not get."
  (pi-buffer-tests--visiting "one\n"
    (let ((file-name-handler-alist (cons (cons (regexp-quote pi-buffer-tests--file)
                                               'epa-file-handler)
                                         nil)))
      (cl-letf (((symbol-function 'epa-file-handler)
                 (lambda (operation &rest args)
                   (let (file-name-handler-alist) (apply operation args)))))
        (should (equal (pi-buffer-tests--serve 'read) '(not-open)))
        (should (eq 'conflict (car (pi-buffer-tests--serve 'snapshot))))
        (insert "secret")
        (let ((answer (pi-buffer-tests--serve 'read)))
          (should (eq 'conflict (car answer)))
          (should (string-search "encrypted" (pi-buffer-tests--get answer :message)))
          (should-not (pi-buffer-tests--get answer :text)))))))

(ert-deftest pi-buffer-tests-other-shape ()
  "A mode that shows something else than the text, and a file that is written otherwise."
  (pi-buffer-tests--visiting "one\n"
    (let ((major-mode 'hexl-mode))
      (should (equal (pi-buffer-tests--serve 'read) '(not-open)))
      (should (equal (pi-buffer-tests--serve 'snapshot) '(not-open))))
    (setq buffer-file-format '(text/enriched))
    (should (equal (pi-buffer-tests--get (pi-buffer-tests--serve 'read) :text) "one\n"))
    (setq buffer-file-format nil)))

(defmacro pi-buffer-tests--troubles (&rest body)
  "What the user was told while BODY ran."
  `(let* ((told nil)
          (pi-buffer-trouble-functions (list (lambda (_session text) (push text told)))))
     ,@body
     (reverse told)))

(ert-deftest pi-buffer-tests-conflicts-are-told ()
  "The user hears what the model hears."
  (pi-buffer-tests--visiting "one\n"
    (setq buffer-read-only t)
    (should (string-search "read-only in Emacs"
                           (car (pi-buffer-tests--troubles
                                 (pi-buffer-tests--serve 'snapshot)))))
    (setq buffer-read-only nil)
    (should-not (pi-buffer-tests--troubles (pi-buffer-tests--serve 'snapshot)
                                           (pi-buffer-tests--apply '(0 3 "1"))))))

(ert-deftest pi-buffer-tests-questions-of-saving ()
  "What saving would ask becomes a remark; the change is made and nothing is lost."
  (dolist (trouble
           (list (lambda () (setq-local require-final-newline 'ask))
                 (lambda () (set-buffer-file-coding-system 'utf-8-unix)
                   (set-buffer-modified-p nil)
                   (add-hook 'before-save-hook
                             (lambda () (setq buffer-file-coding-system 'us-ascii
                                              save-buffer-coding-system nil))
                             nil t))
                 (lambda () (add-hook 'write-file-functions
                                      (lambda () (completing-read "Which? " '("a"))) nil t))
                 (lambda () (add-hook 'write-file-functions
                                      (lambda () (error "Formatter failed")) nil t))
                 (lambda () (add-hook 'before-save-hook
                                      (lambda () (signal 'quit nil)) nil t))))
    (pi-buffer-tests--visiting "one\n"
      (setq-local require-final-newline nil)
      (funcall trouble)
      (let* ((answer nil)
             (told (pi-buffer-tests--troubles
                    (setq answer (pi-buffer-tests--apply '(0 4 "zwölf"))))))
        (should (eq (car answer) 'ok))
        (should-not (pi-buffer-tests--get answer :saved))
        (should (pi-buffer-tests--get answer :unsaved))
        (should (= 1 (length told)))
        (should (string-match-p "\\`Saving " (car told)))
        (should (equal (buffer-string) "zwölf"))
        (should (equal (pi-buffer-tests--disk) "one\n"))
        (kill-local-variable 'before-save-hook)))))

(ert-deftest pi-buffer-tests-after-save-fails ()
  "What went wrong behind the saving does not make the file unsaved."
  (pi-buffer-tests--visiting "one\n"
    (add-hook 'after-save-hook (lambda () (error "No linter")) nil t)
    (let* ((answer nil)
           (told (pi-buffer-tests--troubles
                  (setq answer (pi-buffer-tests--apply '(0 3 "1"))))))
      (should (pi-buffer-tests--get answer :saved))
      (should (string-search "No linter" (car told))))
    (should (equal (pi-buffer-tests--disk) "1\n"))))

(ert-deftest pi-buffer-tests-killed-by-a-hook ()
  "A hook of saving kills the buffer."
  (pi-buffer-tests--visiting "one\n"
    (add-hook 'after-save-hook #'kill-buffer nil t)
    (let ((answer (pi-buffer-tests--apply '(0 3 "1"))))
      (should (eq (car answer) 'ok))
      (should (pi-buffer-tests--get answer :saved)))
    (should (equal (pi-buffer-tests--disk) "1\n"))
    (setq buffer (find-file-noselect pi-buffer-tests--file))))

(ert-deftest pi-buffer-tests-hook-that-alters ()
  "A change that a hook makes on top is told, also if the length stays."
  (pi-buffer-tests--visiting "one\ntwo\n"
    (add-hook 'after-change-functions
              (lambda (&rest _)
                (save-excursion
                  (goto-char (point-min))
                  (when (search-forward "two" nil t)
                    (replace-match "TWO" t))))
              nil t)
    (let ((answer (pi-buffer-tests--apply '(0 3 "1"))))
      (should (eq (car answer) 'ok))
      (should (equal (pi-buffer-tests--get answer :text) "1\nTWO\n")))))

(ert-deftest pi-buffer-tests-locked ()
  "A file that another Emacs edits is left alone."
  (pi-buffer-tests--visiting "one\n"
    (let ((create-lockfiles t)
          (lock (expand-file-name (concat ".#" (file-name-nondirectory
                                                pi-buffer-tests--file))
                                  (file-name-directory pi-buffer-tests--file))))
      ;; Process 1 of this machine runs as long as the test does.
      (make-symbolic-link (format "somebody@%s.1" (system-name)) lock)
      (unwind-protect
          (progn
            ;; In batch the error is another one.
            (should (memq (car (pi-buffer-tests--apply '(0 3 "1"))) '(conflict io)))
            (should (equal (buffer-string) "one\n"))
            (should-not (buffer-modified-p)))
        (delete-file lock)))))

(provide 'pi-buffer-tests)
;;; pi-buffer-tests.el ends here
