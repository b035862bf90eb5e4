;;; pi-review-tests.el --- Look at what the agent changed  -*- lexical-binding: t; -*-

;; SPDX-License-Identifier: MIT

;;; Code:

(require 'pi-test-support)
(require 'pi-hunks)

(defconst pi-review-tests--lines
  (mapconcat (lambda (i) (format "line %d\n" i)) (number-sequence 1 30) "")
  "The text of a.txt.")

(defun pi-review-tests--turns (directory &rest turns)
  "Record TURNS, plists, in DIRECTORY; return the model's name."
  (let ((file (expand-file-name "turns.json" directory)))
    (pi-tests--write file (json-serialize (list :turns (vconcat turns))))
    (concat "replay:" file)))

(defconst pi-review-tests--edit
  (pi-tests--call "edit" :path "a.txt"
                  :edits [(:oldText "line 3\n" :newText "LINE 3\nLINE 3b\n")
                          (:oldText "line 20\n" :newText "")])
  "An edit with two hunks.")

(defmacro pi-review-tests--edited (directory session calls &rest body)
  "Run BODY after SESSION in DIRECTORY made CALLS, in the buffer of the changes.
After another prompt the model says \"I see.\" if it was told `expect'."
  (declare (indent 3))
  `(pi-tests--in-directory ,directory
     (pi-tests--write (expand-file-name "a.txt" ,directory) pi-review-tests--lines)
     (pi-tests--write (expand-file-name "b.txt" ,directory) "one\ntwo\nthree\n")
     (let* ((pi-yolo t)
            (pi-model (pi-review-tests--turns
                       ,directory
                       (list :blocks (vconcat ,calls))
                       (list :blocks [(:text "Done.")])
                       (list :blocks [(:text "I see.")] :expect expect)))
            (,session (pi-prompt "go")))
       (pi-tests--ended)
       (save-window-excursion
         (with-current-buffer (window-buffer (progn (pi-changes) (selected-window)))
           ,@body)))))

(defvar expect "go"
  "What the model must have been told for its third turn.")

(defun pi-review-tests--again (session)
  "Send another prompt to SESSION; fail if the model was not told what it expects."
  (setq pi-tests--events nil)
  (pi-session-send session "go on")
  (pi-tests--ended)
  (should (string-search "I see." (pi-tests--text session))))

(defun pi-review-tests--go (text)
  "Go to TEXT in the changes."
  (goto-char (point-min))
  (search-forward text)
  (beginning-of-line))

(defun pi-review-tests--file (name)
  "What is in the file NAME."
  (pi-tests--disk (expand-file-name name)))

(ert-deftest pi-review-tests-shown ()
  "A diff with the lines around each hunk; no file is visited for it."
  (pi-review-tests--edited dir session (list pi-review-tests--edit)
    (should (equal (buffer-string) "--- a.txt\n+++ a.txt
@@ -1,6 +1,7 @@
 line 1
 line 2
-line 3
+LINE 3
+LINE 3b
 line 4
 line 5
 line 6
@@ -17,7 +18,6 @@
 line 17
 line 18
 line 19
-line 20
 line 21
 line 22
 line 23
"))
    (should-not (find-buffer-visiting (expand-file-name "a.txt")))
    (should (eq (key-binding "k") #'pi-review-reject))
    (should (eq (key-binding "n") #'diff-hunk-next))
    (should (string-search "1 file, 2 hunks" (pi-review--header)))
    ;; The diff is one: patch can take it back.
    (should (= 0 (call-process-region (point-min) (point-max) "patch" nil nil nil
                                      "-R" "-s" "-p0")))
    (should (equal (pi-review-tests--file "a.txt") pi-review-tests--lines))))

(ert-deftest pi-review-tests-reject ()
  "A rejected hunk is one step of undo, saved, told to the model, and comes back."
  (let ((expect ["The user rejected your edit in a.txt:L21." "go on"]))
    (pi-review-tests--edited dir session (list pi-review-tests--edit)
      (let* ((edited (pi-review-tests--file "a.txt"))
             (restored (replace-regexp-in-string "line 19\n" "line 19\nline 20\n" edited)))
        (pi-review-tests--go "-line 20")
        (pi-review-reject)
        (should (equal (pi-review-tests--file "a.txt") restored))
        (should (string-search " rejected\n" (buffer-string)))
        (with-current-buffer (find-buffer-visiting (expand-file-name "a.txt"))
          (should (equal (buffer-string) restored))
          (should-not (buffer-modified-p))
          (let ((last-command nil)) (undo))
          (undo-boundary)
          (should (equal (buffer-string) edited))
          (let ((last-command 'undo)) (undo-redo 1))
          (should (equal (buffer-string) restored)))
        (pi-review-refresh)
        (pi-review-tests--go "-line 20")
        (pi-review-restore)
        (should (equal (with-current-buffer (find-buffer-visiting
                                             (expand-file-name "a.txt"))
                         (buffer-string))
                       edited))
        (pi-review-tests--go "-line 20")
        (pi-review-reject)
        (should-error (progn (pi-review-tests--go "-line 20") (pi-review-reject))
                      :type 'user-error)
        (pi-review-tests--again session)))))

(ert-deftest pi-review-tests-reject-file ()
  "All hunks of a file go in one step; unsaved changes of the user stay unsaved."
  (pi-review-tests--edited dir session (list pi-review-tests--edit)
    (let ((edited (pi-review-tests--file "a.txt")))
      (with-current-buffer (find-file-noselect (expand-file-name "a.txt"))
        (buffer-enable-undo)
        (goto-char (point-max))
        (insert "mine\n")
        (undo-boundary))
      (pi-review-tests--go "-line 20")
      (pi-review-reject-file)
      (with-current-buffer (find-buffer-visiting (expand-file-name "a.txt"))
        (should (equal (buffer-string) (concat pi-review-tests--lines "mine\n")))
        (should (buffer-modified-p))
        (let ((last-command nil)) (undo))
        (should (equal (buffer-string) (concat edited "mine\n"))))
      (should (equal (pi-review-tests--file "a.txt") edited)))))

(ert-deftest pi-review-tests-undone-by-the-user ()
  "The model is told of an edit that the user undid in the buffer."
  (let ((expect ["The user reverted your edit in b.txt:L2."]))
    (pi-review-tests--edited dir session
                             (progn (with-current-buffer (find-file-noselect (expand-file-name "b.txt"))
                                      (buffer-enable-undo))
                                    (list (pi-tests--call "edit" :path "b.txt"
                                                          :edits [(:oldText "two" :newText "2")])))
      (with-current-buffer (find-buffer-visiting (expand-file-name "b.txt"))
        (should (equal (buffer-string) "one\n2\nthree\n"))
        (let ((last-command nil)) (undo))
        (should (equal (buffer-string) "one\ntwo\nthree\n")))
      (pi-review-refresh)
      (should (string-search "undone by you" (buffer-string)))
      (pi-review-tests--again session))))

(ert-deftest pi-review-tests-created ()
  "A new file is rejected by deleting it."
  (let ((expect "rejected the new file new.txt"))
    (pi-review-tests--edited dir session
                             (list (pi-tests--call "write" :path "new.txt" :content "hello\nworld\n"))
      (should (equal (buffer-string)
                     "--- /dev/null\n+++ new.txt\n@@ -1,0 +1,2 @@\n+hello\n+world\n"))
      (pi-review-tests--go "+hello")
      (cl-letf (((symbol-function 'y-or-n-p) #'ignore))
        (should-error (pi-review-reject) :type 'user-error))
      (should (file-exists-p (expand-file-name "new.txt")))
      (cl-letf (((symbol-function 'y-or-n-p) #'always))
        (pi-review-reject))
      (should-not (file-exists-p (expand-file-name "new.txt")))
      (should (string-prefix-p "No changes" (buffer-string)))
      (pi-review-tests--again session))))

(ert-deftest pi-review-tests-bytes-stay ()
  "Rejecting gives the old bytes back: CR LF, no line end, a mark of the byte order."
  (dolist (before '("one\r\ntwo\r\nthree\r\n" "one\ntwo" "two" "\357\273\277one\ntwo\n"
                    "one\r\ntwo\nthree\n" "two\n\ntwo\n"))
    (pi-tests--in-directory dir
      (let ((coding-system-for-write 'binary)
            (file (expand-file-name "a.txt" dir)))
        (write-region before nil file nil 'silent)
        (let* ((pi-yolo t)
               (pi-model (pi-review-tests--turns
                          dir
                          (list :blocks (vector (pi-tests--call
                                                 "edit" :path "a.txt" :edits
                                                 (if (string-search "\n\n" before)
                                                     [(:oldText "two\n\n" :newText "")]
                                                   [(:oldText "two" :newText "2\n2b")]))))
                          (list :blocks [(:text "Done.")])))
               (mode-require-final-newline nil)
               (coding-system-for-write nil))
          (pi-prompt "go")
          (pi-tests--ended)
          (let ((edited (pi-tests--disk file)))
            (should-not (equal before edited))
            (save-window-excursion
              (pi-changes)
              (with-current-buffer (window-buffer)
                (goto-char (point-min))
                (diff-hunk-next)
                (pi-review-reject)
                (should (equal before (pi-tests--disk file)))
                (pi-review-restore)
                (should (equal edited (pi-tests--disk file)))))))))))

(ert-deftest pi-review-tests-gone ()
  "A file that is gone is not made again."
  (pi-review-tests--edited dir session (list pi-review-tests--edit)
    (delete-file (expand-file-name "a.txt"))
    (pi-review-refresh)
    (pi-review-tests--go "+LINE 3b")
    (should-error (pi-review-reject) :type 'user-error)
    (should-not (find-buffer-visiting (expand-file-name "a.txt" dir)))
    (should-not (file-exists-p (expand-file-name "a.txt" dir)))))

(ert-deftest pi-review-tests-accept ()
  "What was accepted is listed and marked no more."
  (pi-review-tests--edited dir session (list pi-review-tests--edit)
    (with-current-buffer (find-file-noselect (expand-file-name "a.txt"))
      (pi-marks--arrive)
      (should (pi-marks--buffer-hunks)))
    (pi-review-accept-all)
    (with-current-buffer (find-buffer-visiting (expand-file-name "a.txt" dir))
      (should-not (overlays-in (point-min) (point-max))))
    (should-not (pi-edits-files (pi-edits-of session)))
    (with-current-buffer (pi-session-buffer session)
      (pi-changes t))
    (with-current-buffer (window-buffer)
      (should (string-prefix-p "No changes" (buffer-string))))))

(ert-deftest pi-review-tests-turn-and-session ()
  "The changes of the last turn, or of all."
  (pi-review-tests--edited dir session (list pi-review-tests--edit)
    (pi-review-tests--again session)
    (pi-changes)
    (should (string-prefix-p "No changes in this turn" (buffer-string)))
    (pi-review-toggle-scope)
    (should (string-prefix-p "--- a.txt" (buffer-string)))))

(ert-deftest pi-review-tests-changed-since ()
  "What the user changed in these lines is asked about; what is gone is not touched."
  (pi-review-tests--edited dir session (list pi-review-tests--edit)
    (with-current-buffer (find-file-noselect (expand-file-name "a.txt"))
      (pi-marks--arrive)
      (goto-char (point-min))
      (search-forward "LINE 3")
      (insert " and mine"))
    (pi-review-refresh)
    (should (string-search "with changes of yours" (buffer-string)))
    (should (string-search "+LINE 3 and mine\n" (buffer-string)))
    (pi-review-tests--go "+LINE 3 and")
    (cl-letf (((symbol-function 'y-or-n-p) #'ignore))
      (should-error (pi-review-reject) :type 'user-error))
    ;; Nobody has it open, and its lines are others now.
    (let ((buffer (find-buffer-visiting (expand-file-name "a.txt"))))
      (with-current-buffer buffer (set-buffer-modified-p nil))
      (kill-buffer buffer))
    (pi-tests--write (expand-file-name "a.txt") "nothing\n")
    (pi-review-refresh)
    (pi-review-tests--go "the file has changed here since")
    (cl-letf (((symbol-function 'y-or-n-p) #'always))
      (should-error (pi-review-reject) :type 'user-error))
    (should (equal (pi-review-tests--file "a.txt") "nothing\n"))))

(ert-deftest pi-review-tests-comment ()
  "A hunk is quoted in the next prompt."
  (pi-review-tests--edited dir session (list pi-review-tests--edit)
    (pi-review-tests--go "+LINE 3b")
    (pi-review-comment)
    (with-current-buffer (window-buffer)
      (should (derived-mode-p 'pi-compose-mode))
      (should (equal (buffer-string)
                     "> a.txt:3\n> -line 3\n> +LINE 3\n> +LINE 3b\n\n"))
      (should (eq pi-session--current session)))))

(ert-deftest pi-review-tests-smerge-and-ediff ()
  "A hunk as a conflict, and the text from before all hunks."
  (pi-review-tests--edited dir session (list pi-review-tests--edit)
    (with-current-buffer (find-file-noselect (expand-file-name "a.txt"))
      (with-current-buffer (pi-review--before (car (pi-edits-files (pi-edits-of session))))
        (should (equal (buffer-string) pi-review-tests--lines))
        (kill-buffer)))
    (pi-review-tests--go "+LINE 3b")
    (pi-review-smerge)
    (with-current-buffer (window-buffer)
      (should (bound-and-true-p smerge-mode))
      (should (string-search "<<<<<<< before\nline 3\n=======\nLINE 3\nLINE 3b\n>>>>>>> pi\n"
                             (buffer-string)))
      (should (buffer-modified-p))
      (should (memq (point) (mapcar #'overlay-start
                                    (overlays-in (point-min) (point-max)))))
      (smerge-keep-upper))
    (with-current-buffer (get-buffer (format "*pi-changes: %s*" (pi-session-name session)))
      (pi-review-refresh)
      (should (string-search "undone by you" (buffer-string))))))

(ert-deftest pi-review-tests-next-error ()
  "`next-error' walks the edits of the last turn."
  (pi-review-tests--edited dir session (list pi-review-tests--edit)
    (let ((places nil)
          (next-error-last-buffer (pi-session-buffer session)))
      (dotimes (i 2)
        (with-current-buffer (pi-session-buffer session)
          (next-error 1 (= i 0)))
        (with-current-buffer (window-buffer)
          (push (cons (buffer-name) (line-number-at-pos)) places)))
      (should (equal places '(("a.txt" . 21) ("a.txt" . 3))))
      (with-current-buffer (pi-session-buffer session)
        (should-error (next-error 1) :type 'user-error)))))

(ert-deftest pi-review-tests-large ()
  "A change of ten thousand lines is shown, without what would be slow."
  (pi-review-tests--edited dir session
                           (list (pi-tests--call "write" :path "big.txt"
                                                 :content (apply #'concat
                                                                 (make-list 10000 "some words in a line\n")))
                                 (pi-tests--call "write" :path "long.txt"
                                                 :content (make-string 20000 ?x)))
    (should (> (line-number-at-pos (point-max)) 10000))
    (should-not diff-refine)
    (should-not diff-font-lock-syntax)
    (pi-review-tests--go "+xxx")
    (should (< (- (line-end-position) (point)) 1100))
    (should (string-search "\n\\ No newline at end of file\n" (buffer-string)))))

(ert-deftest pi-review-tests-not-listed ()
  "With nil as policy changes are not listed."
  (let ((pi-review-edits nil))
    (pi-review-tests--edited dir session (list pi-review-tests--edit)
      (should (string-prefix-p "No changes" (buffer-string))))))

;;; Before the change

(defun pi-review-tests--answer (session answer)
  "Wait for a question of SESSION about a change and give ANSWER; return its diff."
  (let ((question (pi-tests--wait (lambda () (car (pi-session-questions session))))))
    (prog1 (pi-question-diff question)
      (pi-question-answer question answer)
      (pi-tests--wait (lambda ()
                        (not (memq question (pi-session-questions session))))))))

(ert-deftest pi-review-tests-what-is-not-seen-is-asked-about-too ()
  "With review before changes each one is asked about, with its diff, open or not."
  (dolist (answer '(deny once))
    (pi-tests--in-directory dir
      (pi-tests--write (expand-file-name "a.txt" dir) "one\ntwo\n")
      (pi-tests--write (expand-file-name "b.txt" dir) "one\ntwo\n")
      (find-file-noselect (expand-file-name "a.txt" dir))
      (let* ((pi-yolo t)
             (pi-review-edits 'before)
             (edit (lambda (name)
                     (pi-tests--call "edit" :path name
                                     :edits [(:oldText "two" :newText "2")])))
             (wanted (if (eq answer 'deny) "refused it" "Successfully"))
             (pi-model (pi-review-tests--turns
                        dir
                        (list :blocks (vector (funcall edit "a.txt")))
                        (list :blocks (vector (funcall edit "b.txt")) :expect wanted)
                        (list :blocks [(:text "I see.")] :expect wanted)))
             (session (pi-prompt "go")))
        (dotimes (_ 2)
          (should (string-search "\n-two\n+2\n" (pi-review-tests--answer session answer))))
        (pi-tests--ended)
        (should (string-search "I see." (pi-tests--text session)))
        (dolist (name '("a.txt" "b.txt"))
          (should (equal (pi-tests--disk (expand-file-name name dir))
                         (if (eq answer 'deny) "one\ntwo\n" "one\n2\n"))))))))

(ert-deftest pi-review-tests-hooks ()
  "A hook may refuse; another one hears what was done."
  (pi-tests--in-directory dir
    (pi-tests--write (expand-file-name "a.txt" dir) "one\ntwo\n")
    (find-file-noselect (expand-file-name "a.txt" dir))
    (let* ((pi-yolo t)
           (edit (pi-tests--call "edit" :path "a.txt"
                                 :edits [(:oldText "two" :newText "two and more")]))
           (pi-model (pi-review-tests--turns
                      dir (list :blocks (vector edit))
                      (list :blocks (vector edit) :expect "refuses")
                      (list :blocks [(:text "I see.")] :expect "Successfully")))
           (heard nil)
           (pi-before-edit-functions
            (list (lambda (&rest arguments) (push (cons 'before arguments) heard)
                    (cdr heard))))
           (pi-after-edit-functions
            (list (lambda (&rest arguments) (push (cons 'after arguments) heard))))
           (session (pi-prompt "go"))
           (file (expand-file-name "a.txt" dir)))
      (pi-tests--ended)
      (should (string-search "I see." (pi-tests--text session)))
      (should (equal (reverse heard)
                     (list (list 'before file '((8 8 " and more")))
                           (list 'before file '((8 8 " and more")))
                           (list 'after file '((8 . 17)))))))))

(provide 'pi-review-tests)
;;; pi-review-tests.el ends here
