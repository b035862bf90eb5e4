;;; pi-save-tests.el --- Buffers before and after a command  -*- lexical-binding: t; -*-

;; SPDX-License-Identifier: MIT

;;; Code:

(require 'pi-test-support)
(require 'pi-save)

(defun pi-save-tests--visit (directory name text)
  "A buffer of the file NAME in DIRECTORY, made with TEXT."
  (let ((file (expand-file-name name directory)))
    (pi-tests--write file text)
    (find-file-noselect file)))

(defun pi-save-tests--add (buffer text)
  "Type TEXT at the end of BUFFER."
  (with-current-buffer buffer
    (goto-char (point-max))
    (insert text)))

(defmacro pi-save-tests--commands (directory session commands &rest body)
  "Run BODY while SESSION in DIRECTORY runs COMMANDS, one a turn."
  (declare (indent 3))
  `(let* ((pi-yolo t)
          (pi-model (apply #'pi-tests--turns ,directory
                           (append (mapcar (lambda (command)
                                             (list (pi-tests--call "bash" :command
                                                                   command)))
                                           ,commands)
                                   (list (list (list :text "Done."))))))
          (,session (pi-prompt "go")))
     ,@body))

(defun pi-save-tests--question (session)
  "Wait for a question of SESSION and return it."
  (pi-tests--wait (lambda () (car (pi-session-questions session)))))

(ert-deftest pi-save-tests-ask ()
  "The command waits for the answer, and sees what was saved."
  (pi-tests--in-directory dir
    (let* ((buffer (pi-save-tests--visit dir "a.txt" "one\n"))
           (pi-save-before-bash 'ask))
      (pi-save-tests--add buffer "two\n")
      (pi-save-tests--commands dir session '("cp a.txt b.txt" "cp a.txt c.txt")
        (let ((question (pi-save-tests--question session)))
          (should (string-search "Save these before the command runs?\n  a.txt"
                                 (pi-tests--text session)))
          (accept-process-output nil 0.1)
          (should-not (file-exists-p (expand-file-name "b.txt" dir)))
          (pi-question-answer question 'once))
        (pi-tests--ended)
        (should-not (buffer-modified-p buffer))
        (should (equal (pi-tests--disk (expand-file-name "b.txt" dir)) "one\ntwo\n"))
        (should (equal (pi-tests--disk (expand-file-name "c.txt" dir)) "one\ntwo\n"))))))

(ert-deftest pi-save-tests-no ()
  "No means no until something changes; the command runs."
  (pi-tests--in-directory dir
    (let* ((buffer (pi-save-tests--visit dir "a.txt" "one\n"))
           (pi-save-before-bash 'ask))
      (pi-save-tests--add buffer "two\n")
      (pi-save-tests--commands dir session '("cp a.txt b.txt" "cp a.txt c.txt")
        (pi-question-answer (pi-save-tests--question session) 'deny)
        (pi-tests--ended)
        (should (buffer-modified-p buffer))
        (should (equal (pi-tests--disk (expand-file-name "c.txt" dir)) "one\n"))
        (should-not (pi-session-questions session))))))

(ert-deftest pi-save-tests-always-and-never ()
  "Without a question; what cannot be saved is told."
  (pi-tests--in-directory dir
    (let ((good (pi-save-tests--visit dir "a.txt" "one\n"))
          (bad (pi-save-tests--visit dir "b.txt" "one\n")))
      (pi-save-tests--add good "two\n")
      (pi-save-tests--add bad "two\n")
      (with-current-buffer bad
        (add-hook 'write-file-functions (lambda () (yes-or-no-p "Really? ")) nil t))
      (let ((pi-save-before-bash nil))
        (pi-save-tests--commands dir session '("true")
          (pi-tests--ended)
          (should (buffer-modified-p good))
          (pi-session-end session)))
      (setq pi-tests--events nil)
      (let ((pi-save-before-bash t))
        (pi-save-tests--commands dir session '("cp a.txt c.txt")
          (pi-tests--ended)
          (should (equal (pi-tests--disk (expand-file-name "c.txt" dir)) "one\ntwo\n"))
          (should (buffer-modified-p bad))
          (should (string-search "Saving b.txt" (pi-tests--text session))))))))

(ert-deftest pi-save-tests-abort ()
  "The question goes with the run that it held up."
  (pi-tests--in-directory dir
    (let ((pi-save-before-bash 'ask))
      (pi-save-tests--add (pi-save-tests--visit dir "a.txt" "one\n") "two\n")
      (pi-save-tests--commands dir session '("touch b.txt")
        (let ((question (pi-save-tests--question session)))
          (pi-session-abort session)
          (pi-tests--ended)
          (pi-tests--wait (lambda () (null (pi-session-questions session))))
          (should-error (pi-question-answer question 'once) :type 'user-error))
        (should-not (file-exists-p (expand-file-name "b.txt" dir)))
        (should (= 0 (hash-table-count pi-save--questions)))))))

(ert-deftest pi-save-tests-revert ()
  "A clean buffer follows the disk; a changed one does not, and both are told."
  (pi-tests--in-directory dir
    (let* ((clean (pi-save-tests--visit dir "a.txt" "one\ntwo\n"))
           (dirty (pi-save-tests--visit dir "b.txt" "one\n"))
           (pi-save-before-bash nil))
      (pi-save-tests--add dirty "mine\n")
      (with-current-buffer clean
        (goto-char 5))
      (pi-save-tests--commands dir session '("sed -i s/one/ONE\\\\n1/ a.txt b.txt; \
touch -d tomorrow a.txt b.txt")
        (pi-tests--ended)
        (pi-tests--wait (lambda () (with-current-buffer clean
                                     (equal (buffer-string) "ONE\n1\ntwo\n"))))
        (should (with-current-buffer clean (looking-at-p "two")))
        (pi-tests--wait (lambda () (null pi-save--queue)))
        (should (equal (with-current-buffer dirty (buffer-string)) "one\nmine\n"))
        (should (string-search "which has unsaved changes" (pi-tests--text session)))))))

(ert-deftest pi-save-tests-files-come-and-go ()
  "A deleted file's buffer stays, marked and told once; a new file harms no buffer."
  (pi-tests--in-directory dir
    (let* ((gone (pi-save-tests--visit dir "a.txt" "one\n"))
           (moved (pi-save-tests--visit dir "b.txt" "two\n"))
           (other (pi-save-tests--visit dir "other.txt" "other\n")))
      (pi-save-tests--commands dir session '("rm a.txt; mv b.txt c.txt; echo new > d.txt"
                                             "true")
        (pi-tests--ended)
        (pi-tests--wait (lambda () (null pi-save--queue)))
        (dolist (buffer (list gone moved))
          (should (buffer-local-value 'pi-save-deleted-mode buffer)))
        (should (equal (with-current-buffer gone (buffer-string)) "one\n"))
        (should (equal (with-current-buffer moved (buffer-string)) "two\n"))
        (should (equal (with-current-buffer other (buffer-string)) "other\n"))
        (should-not (buffer-local-value 'pi-save-deleted-mode other))
        (with-current-buffer (find-file-noselect (expand-file-name "c.txt" dir))
          (should (equal (buffer-string) "two\n")))
        (with-current-buffer (find-file-noselect (expand-file-name "d.txt" dir))
          (should (equal (buffer-string) "new\n")))
        (with-temp-buffer
          (insert (pi-tests--text session))
          (should (= 2 (how-many "was deleted; its buffer stays" (point-min)))))
        ;; It comes back when the file does.
        (with-current-buffer gone
          (set-buffer-modified-p t)
          (let ((save-silently t)) (basic-save-buffer))
          (should-not pi-save-deleted-mode))))))

(ert-deftest pi-save-tests-write-again ()
  "A file that was deleted while a buffer shows it can be written again."
  (pi-tests--in-directory dir
    (let* ((buffer (pi-save-tests--visit dir "a.txt" "one\n"))
           (pi-yolo t)
           (pi-model (pi-tests--turns
                      dir
                      (list (pi-tests--call "bash" :command "rm a.txt"))
                      (list (pi-tests--call "write" :path "a.txt" :content "new\n"))
                      (list (list :text "Done.")))))
      (pi-prompt "go")
      (pi-tests--ended)
      (should (equal (pi-tests--disk (expand-file-name "a.txt" dir)) "new\n"))
      (should (equal (with-current-buffer buffer (buffer-string)) "new\n")))))

(provide 'pi-save-tests)
;;; pi-save-tests.el ends here
