;;; pi-edits-tests.el --- What the agent changed  -*- lexical-binding: t; -*-

;; SPDX-License-Identifier: MIT

;;; Code:

(require 'ert)
(require 'cl-lib)
(require 'pi-track)

(setq make-backup-files nil
      create-lockfiles nil
      mode-require-final-newline nil)

(defun pi-edits-tests--hunks (session path)
  "The hunks of PATH in SESSION as lists (LINE OLD NEW)."
  (mapcar (lambda (hunk)
            (list (pi-edits-hunk-line hunk) (pi-edits-hunk-old hunk)
                  (pi-edits-hunk-new hunk)))
          (pi-edits-file-hunks (pi-edits-file-of (pi-edits-of session) path))))

(defun pi-edits-tests--after (&rest changes)
  "The hunks of a file after CHANGES."
  (let ((session (list 'session)))
    (pi-edits-add session "/x" changes)
    (pi-edits-tests--hunks session "/x")))

(ert-deftest pi-edits-tests-add ()
  "Later changes move what is behind them and join what they touch."
  (should (equal (pi-edits-tests--after '(5 "e\n" "E\n") '(2 "b\n" "B\nB2\n"))
                 '((2 "b\n" "B\nB2\n") (6 "e\n" "E\n"))))
  (should (equal (pi-edits-tests--after '(2 "b\n" "B\n") '(2 "B\n" "C\nD\n"))
                 '((2 "b\n" "C\nD\n"))))
  ;; A part of a hunk, and more than it.
  (should (equal (pi-edits-tests--after '(2 "b\n" "1\n2\n3\n") '(3 "2\n" "two\n"))
                 '((2 "b\n" "1\ntwo\n3\n"))))
  (should (equal (pi-edits-tests--after '(2 "b\n" "B\n") '(1 "a\nB\nc\n" "x\n"))
                 '((1 "a\nb\nc\n" "x\n"))))
  (should (equal (pi-edits-tests--after '(2 "b\n" "B\n") '(4 "d\n" "D\n")
                                        '(2 "B\nc\nD\n" ""))
                 '((2 "b\nc\nd\n" ""))))
  ;; The end of one and the beginning of another.
  (should (equal (pi-edits-tests--after '(1 "a\nb\n" "1\n2\n") '(4 "d\ne\n" "4\n5\n")
                                        '(2 "2\nc\n4\n" "X\n"))
                 '((1 "a\nb\nc\nd\ne\n" "1\nX\n5\n"))))
  ;; What is taken back is no change.
  (should-not (pi-edits-tests--after '(2 "b\n" "B\n") '(2 "B\n" "b\n")))
  (should-not (pi-edits-tests--after '(2 "" "B\n") '(2 "B\n" "")))
  ;; Lines that stay are no part of it.
  (should (equal (pi-edits-tests--after '(1 "a\nb\nc\n" "a\nX\nc\n"))
                 '((2 "b\n" "X\n"))))
  ;; A deletion has no lines, and still has a place.
  (should (equal (pi-edits-tests--after '(3 "c\n" "") '(1 "" "x\n"))
                 '((1 "" "x\n") (4 "c\n" ""))))
  (should (equal (pi-edits-tests--after '(3 "c\n" "") '(3 "" "C\n"))
                 '((3 "c\n" "C\n")))))

(defun pi-edits-tests--apply (lines change)
  "LINES after CHANGE (LINE OLD NEW)."
  (pcase-let ((`(,line ,old ,new) change))
    (let ((at (1- line)))
      (should (equal (apply #'concat (cl-subseq lines at (+ at (pi-edits-count old))))
                     old))
      (append (cl-subseq lines 0 at) (pi-edits--lines new)
              (cl-subseq lines (+ at (pi-edits-count old)))))))

(ert-deftest pi-edits-tests-add-at-random ()
  "Taking all hunks back gives the text from before all changes."
  (random "pi")
  (dotimes (_ 200)
    (let* ((before (mapcar (lambda (i) (format "%d\n" i)) (number-sequence 1 12)))
           (now before)
           (session (list 'session)))
      (dotimes (_ (1+ (random 8)))
        (let* ((at (random (1+ (length now))))
               (many (min (random 4) (- (length now) at)))
               (change (list (1+ at)
                             (apply #'concat (cl-subseq now at (+ at many)))
                             (apply #'concat (mapcar (lambda (_)
                                                       (format "x%d\n" (random 30)))
                                                     (make-list (random 4) nil))))))
          (setq now (pi-edits-tests--apply now change))
          (pi-edits-add session "/x" (list change))))
      (let ((back now))
        (dolist (hunk (reverse (pi-edits-tests--hunks session "/x")))
          (setq back (pi-edits-tests--apply
                      back (list (nth 0 hunk) (nth 2 hunk) (nth 1 hunk)))))
        (should (equal back before))))))

(ert-deftest pi-edits-tests-parse ()
  "The lines of a patch."
  (should (equal (pi-edits-parse "--- a/x\n+++ b/x\n@@ -1,3 +1,4 @@\n one\n-two\n+2\n\
+2b\n three\n@@ -9,2 +10,2 @@\n-a\n b\n+c\n")
                 '((2 "two\n" "2\n2b\n") (10 "a\n" "") (11 "" "c\n"))))
  (should (equal (pi-edits-parse "--- a/x\n+++ b/x\n@@ -1,1 +1,1 @@\n-a\n\
\\ No newline at end of file\n+b\n\\ No newline at end of file\n")
                 '((1 "a" "b"))))
  (should (equal (pi-edits-parse "--- a/x\n+++ b/x\n@@ -1,1 +0,0 @@\n-a\n")
                 '((1 "a\n" ""))))
  (should (equal (pi-edits-parse "--- a/x\n+++ b/x\n@@ -1 +1 @@\n--- a\n+++ b\n")
                 '((1 "-- a\n" "++ b\n")))))

;;; In buffers

(defmacro pi-edits-tests--visiting (file session text &rest body)
  "Visit a FILE of TEXT for SESSION and run BODY in its buffer."
  (declare (indent 3))
  `(let* ((,file (file-truename (make-temp-file "pi-edits" nil ".txt")))
          (,session (list 'session))
          (pi-buffer-session ,session)
          (pi-buffer-changing-functions (list #'pi-track--changing))
          (pi-buffer-changed-functions (list #'pi-track--changed)))
     (write-region ,text nil ,file nil 'silent)
     (setf (pi-edits-directory (pi-edits-of ,session)) (file-name-directory ,file))
     (unwind-protect
         (with-current-buffer (find-file-noselect ,file)
           (buffer-enable-undo)
           ,@body)
       (let ((buffer (find-buffer-visiting ,file)))
         (when buffer
           (with-current-buffer buffer (set-buffer-modified-p nil))
           (kill-buffer buffer)))
       (delete-file ,file))))

(defun pi-edits-tests--edit (&rest changes)
  "Let the agent make CHANGES (OFFSET LENGTH TEXT) of the current, ASCII buffer."
  (should (eq 'ok (car (pi-buffer-serve
                        'apply (encode-coding-string buffer-file-name 'utf-8)
                        (buffer-chars-modified-tick) changes)))))

(defun pi-edits-tests--undo ()
  "Take one step back."
  (let ((last-command nil) (inhibit-message t)) (undo))
  (undo-boundary))

(defun pi-edits-tests--states (session file)
  "The states of the hunks of FILE in SESSION."
  (pi-marks-sync-all (pi-edits-of session))
  (mapcar #'pi-edits-hunk-state
          (pi-edits-file-hunks (pi-edits-file-of (pi-edits-of session) file))))

(ert-deftest pi-edits-tests-in-a-buffer ()
  "Hunks are whole lines; the user's own lines move them along."
  (pi-edits-tests--visiting file session "one\ntwo\nthree\nfour\n"
    (pi-edits-tests--edit '(5 1 "W") '(14 4 "4\n4b"))
    (should (equal (buffer-string) "one\ntWo\nthree\n4\n4b\n"))
    (should (equal (pi-edits-tests--hunks session file)
                   '((2 "two\n" "tWo\n") (4 "four\n" "4\n4b\n"))))
    (goto-char (point-min))
    (insert "zero\n")
    (goto-char (point-max))
    (insert "five\n")
    (pi-marks-sync-all (pi-edits-of session))
    (should (equal (pi-edits-tests--hunks session file)
                   '((3 "two\n" "tWo\n") (5 "four\n" "4\n4b\n"))))
    ;; The next edit joins what it touches.
    (pi-edits-tests--edit '(11 1 "O") '(21 2 "b"))
    (should (equal (buffer-string) "zero\none\ntWO\nthree\n4\nb\nfive\n"))
    (should (equal (pi-edits-tests--hunks session file)
                   '((3 "two\n" "tWO\n") (5 "four\n" "4\nb\n"))))))

(ert-deftest pi-edits-tests-undone ()
  "The model is told once that the user took an edit back, and when it is there again."
  (pi-edits-tests--visiting file session "one\ntwo\nthree\n"
    (pi-edits-tests--edit '(4 3 "2"))
    (should-not (pi-track-news session))
    (pi-edits-tests--undo)
    (should (equal (buffer-string) "one\ntwo\nthree\n"))
    (should (equal (pi-edits-tests--states session file) '(reverted)))
    (should (string-search (format "The user reverted your edit in %s:L2."
                                   (file-name-nondirectory file))
                           (pi-track-news session)))
    (should-not (pi-track-news session))
    (undo-redo 1)
    (should (equal (buffer-string) "one\n2\nthree\n"))
    (should (equal (pi-edits-tests--states session file) '(nil)))
    (should (string-search "restored" (pi-track-news session)))))

(ert-deftest pi-edits-tests-undone-deletion ()
  (pi-edits-tests--visiting file session "one\ntwo\nthree\n"
    (pi-edits-tests--edit '(4 4 ""))
    (should (equal (pi-edits-tests--hunks session file) '((2 "two\n" ""))))
    (pi-edits-tests--undo)
    (should (equal (pi-edits-tests--states session file) '(reverted)))))

(ert-deftest pi-edits-tests-undone-insertion ()
  (pi-edits-tests--visiting file session "one\nthree\n"
    (pi-edits-tests--edit '(4 0 "two\n"))
    (should (equal (pi-edits-tests--hunks session file) '((2 "" "two\n"))))
    (pi-edits-tests--undo)
    (should (equal (pi-edits-tests--states session file) '(reverted)))))

(ert-deftest pi-edits-tests-changed-by-the-user ()
  "What the user does with the lines is part of the hunk."
  (pi-edits-tests--visiting file session "one\ntwo\nthree\n"
    (pi-edits-tests--edit '(4 3 "2"))
    (goto-char 6)
    (insert "and more")
    (pi-marks-sync-all (pi-edits-of session))
    (should (equal (pi-edits-tests--hunks session file) '((2 "two\n" "2and more\n"))))))

(ert-deftest pi-edits-tests-fade ()
  "New text is highlighted until the next command; the mark stays."
  (pi-edits-tests--visiting file session "one\ntwo\nthree\n"
    (pi-edits-tests--edit '(4 3 "2"))
    (let ((overlay (pi-edits-hunk-overlay
                    (car (pi-edits-file-hunks (pi-edits-file-of (pi-edits-of session)
                                                                file))))))
      (should (eq (overlay-get overlay 'face) 'pi-edited))
      (run-hooks 'pre-command-hook)
      (should-not (overlay-get overlay 'face))
      (should-not (memq #'pi-marks--fade pre-command-hook))
      (should (overlay-get overlay 'before-string))
      (should (= left-margin-width 1))
      (pi-marks-forget (pi-edits-of session) (overlay-get overlay 'pi-edits-hunk))
      (should (= left-margin-width 0))
      (should-not (pi-edits-files (pi-edits-of session))))))

(defun pi-edits-tests--marked ()
  "The lines of the current buffer that have a mark, after a command."
  (run-hooks 'post-command-hook)
  (mapcar (lambda (overlay) (line-number-at-pos (overlay-start overlay)))
          (seq-filter (lambda (overlay) (overlay-get overlay 'before-string))
                      (overlays-in (point-min) (point-max)))))

(ert-deftest pi-edits-tests-marks-of-undone ()
  "The mark of what is taken back goes with that command, and comes again with it."
  (pcase-dolist (`(,change ,line) '(((4 3 "2") 2) ((4 0 "new\n") 2) ((4 4 "") 2)
                                    ((0 4 "ONE\n") 1) ((14 0 "four\n") 4)))
    (pi-edits-tests--visiting file session "one\ntwo\nthree\n"
      (let* ((told 0)
             (pi-edits-changed-hook (list (lambda () (cl-incf told)))))
        (pi-edits-tests--edit change)
        (should (equal (pi-edits-tests--marked) (list line)))
        (pi-edits-tests--undo)
        (should (equal (buffer-string) "one\ntwo\nthree\n"))
        (should-not (pi-edits-tests--marked))
        (should (= told 2))
        (undo-redo 1)
        (undo-boundary)
        (should (equal (pi-edits-tests--marked) (list line)))
        (should (= told 3))
        (should-not (memq #'pi-marks--settle post-command-hook))))))

(ert-deftest pi-edits-tests-marks-of-typing ()
  "What the user types into a change and takes back leaves it the agent's own."
  (pi-edits-tests--visiting file session "one\ntwo\nthree\n"
    (pi-edits-tests--edit '(4 3 "2"))
    (goto-char 6)
    (insert "and more")
    (undo-boundary)
    (should (equal (pi-edits-tests--marked) '(2)))
    (pi-edits-tests--undo)
    (should (equal (pi-edits-tests--marked) '(2)))
    (should (equal (pi-edits-tests--states session file) '(nil)))
    (should-not (pi-edits-hunk-mixed
                 (car (pi-edits-file-hunks (pi-edits-file-of (pi-edits-of session)
                                                             file)))))))

(ert-deftest pi-edits-tests-revert-and-kill ()
  "Hunks find their lines again when the buffer is read again or visited later."
  (pi-edits-tests--visiting file session "one\ntwo\nthree\n"
    (pi-edits-tests--edit '(4 3 "2"))
    (should (equal (buffer-string) "one\n2\nthree\n"))
    (write-region "new\none\n2\nthree\n" nil file nil 'silent)
    (let ((revert-without-query '("."))) (revert-buffer t t))
    (pi-marks-sync-all (pi-edits-of session))
    (should (equal (pi-edits-tests--hunks session file) '((3 "two\n" "2\n"))))
    (kill-buffer)
    (write-region "new\nand\nnew\none\n2\nthree\n" nil file nil 'silent)
    (with-current-buffer (find-file-noselect file)
      (pi-marks--arrive)
      (pi-marks-sync-all (pi-edits-of session))
      (should (equal (pi-edits-tests--hunks session file) '((5 "two\n" "2\n")))))))

(ert-deftest pi-edits-tests-whole-lines-again ()
  "Whole lines that come again by redo, or by undo of a rejection, are the agent's."
  (require 'pi-review)
  (pi-edits-tests--visiting file session "one\ntwo\nthree\n"
    (pi-edits-tests--edit '(0 4 "ONE\n"))
    (pi-edits-tests--undo)
    (should (equal (pi-edits-tests--states session file) '(reverted)))
    (undo-redo 1)
    (undo-boundary)
    (should (equal (pi-edits-tests--states session file) '(nil)))
    (should (equal (pi-edits-tests--hunks session file) '((1 "one\n" "ONE\n"))))
    (let ((changed (car (pi-edits-files (pi-edits-of session)))))
      (pi-review--swap changed (pi-edits-file-hunks changed) t)
      (should (equal (buffer-string) "one\ntwo\nthree\n"))
      (should (equal (pi-edits-tests--states session file) '(rejected)))
      (pi-edits-tests--undo)
      (should (equal (buffer-string) "ONE\ntwo\nthree\n"))
      (should (equal (pi-edits-tests--states session file) '(nil)))
      (should (equal (pi-edits-tests--hunks session file) '((1 "one\n" "ONE\n"))))
      (should-not (pi-edits-hunk-mixed (car (pi-edits-file-hunks changed)))))))

(ert-deftest pi-edits-tests-undone-beside-an-equal-line ()
  "A line that was taken back is not seen in an equal one beside it."
  (pi-edits-tests--visiting file session "one\n\nthree\n"
    (pi-edits-tests--edit '(4 0 "\n"))
    (pi-edits-tests--undo)
    (dotimes (_ 2)
      (should (equal (pi-edits-tests--states session file) '(reverted))))))

(defun pi-edits-tests--type-line (text)
  "Insert the line TEXT where it stands in no hunk."
  (let ((at (progn (goto-char (point-min))
                   (forward-line (random (1+ (count-lines (point-min) (point-max)))))
                   (point))))
    (unless (or (not (bolp)) (eobp) (seq-some (lambda (overlay)
                                                (if (= (overlay-start overlay) (overlay-end overlay))
                                                    (= at (overlay-start overlay))
                                                  (< (overlay-start overlay) at (overlay-end overlay))))
                                              (overlays-in (point-min) (point-max))))
      (insert text)
      (undo-boundary)
      text)))

(defun pi-edits-tests--edit-lines ()
  "Let the agent replace some lines of the current buffer."
  (let* ((lines (pi-edits--lines (buffer-substring-no-properties (point-min) (point-max))))
         (at (random (1+ (length lines))))
         (many (min (random 4) (- (length lines) at))))
    (pi-edits-tests--edit
     (list (string-bytes (apply #'concat (cl-subseq lines 0 at)))
           (string-bytes (apply #'concat (cl-subseq lines at (+ at many))))
           (apply #'concat (cl-loop repeat (random 4)
                                    collect (format "x%d\n" (random 1000))))))))

(defun pi-edits-tests--edit-characters ()
  "Let the agent replace something in the middle of lines."
  (let* ((size (buffer-size))
         (at (random (1+ size)))
         (length (min (random 8) (- size at))))
    (pi-edits-tests--edit (list at length (nth (random 5) '("x" "x\n" "\n" "" "x\ny"))))))

(ert-deftest pi-edits-tests-take-all-back ()
  "Whatever was edited between, rejecting all leaves the user's lines in the old text."
  (require 'pi-review)
  (random "take back")
  (dotimes (_ 15)
    (pi-edits-tests--visiting file session
                              (mapconcat (lambda (i) (format "%d\n" i)) (number-sequence 1 12) "")
      (let ((before (pi-edits--lines (buffer-string)))
            (typed nil))
        (dotimes (i 12)
          (if (= 0 (random 3))
              (let ((line (pi-edits-tests--type-line (format "u%d\n" i))))
                (when line (push line typed)))
            (if (= 0 (random 2))
                (pi-edits-tests--edit-lines)
              (pi-edits-tests--edit-characters))))
        (let ((hunks nil)
              (all (pi-edits-files (pi-edits-of session))))
          (when all
            (pi-marks-sync (car all))
            (setq hunks (pi-edits-file-hunks (car all)))
            (should-not (seq-some #'pi-edits-hunk-mixed hunks))
            (let ((edited (buffer-string)))
              (pi-review--swap (car all) hunks t)
              (pi-edits-tests--undo)
              (should (equal edited (buffer-string)))
              (undo-redo 1)
              (undo-boundary))))
        (let ((after (pi-edits--lines (buffer-substring-no-properties
                                       (point-min) (point-max)))))
          (should (equal before (seq-remove (lambda (line) (string-prefix-p "u" line))
                                            after)))
          (should (seq-every-p (lambda (line) (member line after)) typed)))))))

(ert-deftest pi-edits-tests-on-disk ()
  "What was changed without a buffer comes from the results, and nothing is visited."
  (let* ((directory (file-name-as-directory
                     (file-truename (make-temp-file "pi-edits" t))))
         (session (list 'session))
         (edits (pi-edits-of session))
         (event (lambda (tool id details)
                  (list :toolCallId id :toolName tool
                        :result (list :details details)))))
    (setf (pi-edits-directory edits) directory)
    (write-region "one\n2\nthree\n" nil (concat directory "a.txt") nil 'silent)
    (write-region "new\n" nil (concat directory "b.txt") nil 'silent)
    (pi-track--end-of-call
     session (funcall event "edit" "1" '(:patch "--- a/a.txt\n+++ b/a.txt\n\
@@ -1,3 +1,3 @@\n one\n-two\n+2\n three\n")))
    (pi-track--start session '(:toolCallId "2" :toolName "write" :args (:path "b.txt")))
    (pi-track--end-of-call session (funcall event "write" "2" '(:created t)))
    (pi-track--start session '(:toolCallId "3" :toolName "write" :args (:path "b.bin")))
    (write-region "x" nil (concat directory "b.bin") nil 'silent)
    (pi-track--file session (list :path (concat directory "b.bin")))
    (pi-track--end-of-call session (funcall event "write" "3" nil))
    (should (equal (pi-edits-tests--hunks session (concat directory "a.txt"))
                   '((2 "two\n" "2\n"))))
    (should (equal (pi-edits-tests--hunks session (concat directory "b.txt"))
                   '((1 "" "new\n"))))
    (should (pi-edits-file-opaque (pi-edits-file-of edits (concat directory "b.bin"))))
    (pi-track--start session '(:toolCallId "4" :toolName "write" :args (:path "c.txt")))
    (write-region "x" nil (concat directory "c.txt") nil 'silent)
    (pi-track--end-of-call session (funcall event "write" "4" nil))
    (should-not (pi-edits-tests--hunks session (concat directory "c.txt")))
    (should-not (find-buffer-visiting (concat directory "a.txt")))
    (should-not (pi-edits-written edits))
    (delete-directory directory t)))

(provide 'pi-edits-tests)
;;; pi-edits-tests.el ends here
