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
    (should (eq 'conflict (car (pi-buffer-tests--serve
                                'apply (buffer-chars-modified-tick) '((0 3 "1"))))))
    (should (equal (buffer-string) "one\nmore"))
    (should (equal (pi-buffer-tests--disk) "other\n"))))

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

(provide 'pi-buffer-tests)
;;; pi-buffer-tests.el ends here
