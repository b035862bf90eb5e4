;;; pi-compose-tests.el --- Prompts and what goes along with them  -*- lexical-binding: t; -*-

;; SPDX-License-Identifier: MIT

;;; Code:

(require 'pi-test-support)
(require 'pi-compose)
(require 'pi-context)

(defconst pi-compose-tests--png
  (concat "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNkYPhfDwAChwGA"
          "60e6kgAAAABJRU5ErkJggg==")
  "The smallest picture.")

(defmacro pi-compose-tests--in-compose (directory &rest body)
  "Run BODY in a new buffer for prompts of DIRECTORY, which has an answer each time."
  (declare (indent 1))
  `(pi-tests--in-directory ,directory
     (let ((pi-prompt-history nil)
           (pi-model (pi-tests--turns ,directory
                                      (list (list :text "One.")) (list (list :text "Two."))
                                      (list (list :text "Three.")))))
       (save-window-excursion
         (pi-compose)
         ,@body))))

(ert-deftest pi-compose-tests-names ()
  "What a prompt names, and what only looks so."
  (should (equal (pi-context-names "see @a.c, (@b/c.d) and @\"x y\". mail me@here.org @")
                 '("a.c" "b/c.d" "x y")))
  (should (equal (pi-context-names "@a @a:L1-L2 @a") '("a" "a:L1-L2")))
  (dolist (name '("a" "a b" "a.c:L1-L2" "odd." "buffer:*x*" "buffer:a b<2>" "(a)"))
    (should (equal (pi-context-names (concat "see " (pi-context-quote name) " it"))
                   (list name)))))

(ert-deftest pi-compose-tests-send ()
  "A prompt is sent, the buffer is empty, and the history has it."
  (pi-compose-tests--in-compose dir
    (should (derived-mode-p 'pi-compose-mode))
    (should-error (pi-compose-send) :type 'user-error)
    (insert "  first words\n")
    (pi-compose-send)
    (should (equal (buffer-string) ""))
    (pi-tests--ended)
    (should (string-prefix-p "> first words\n\nOne." (pi-tests--text pi-session--current)))
    (insert "second words")
    (pi-compose-send)
    (insert "a draft")
    (pi-compose-previous)
    (should (equal (buffer-string) "second words"))
    (pi-compose-previous)
    (should (equal (buffer-string) "first words"))
    (should-error (pi-compose-previous) :type 'user-error)
    (pi-compose-next 2)
    (should (equal (buffer-string) "a draft"))
    (should-error (pi-compose-next) :type 'user-error)
    (pi-compose-search "first words")
    (should (equal (buffer-string) "first words"))
    (pi-compose-next)
    (should (equal (buffer-string) "second words"))))

(ert-deftest pi-compose-tests-no-session ()
  "When there is no session, the text stays."
  (pi-compose-tests--in-compose dir
    (let ((pi-tools "nonsense"))
      (insert "precious")
      (should-error (pi-compose-send))
      (should (equal (buffer-string) "precious")))))

(ert-deftest pi-compose-tests-steer ()
  "What is sent to an agent at work waits for its tool, or for its end."
  (pi-tests--in-directory dir
    (let* ((pi-yolo t)
           (pi-model (pi-tests--turns
                      dir
                      (list (pi-tests--call "bash" :command
                                            "echo go; while [ ! -e end ]; do sleep 0.05; done"))
                      (list (list :text "One.")) (list (list :text "Two."))))
           (session (pi-prompt "x")))
      (pi-tests--wait (lambda () (string-search "\ngo" (pi-tests--text session))))
      (save-window-excursion
        (pi-compose)
        (insert "later")
        (pi-compose-send)
        (insert "now")
        (pi-compose-steer)
        (pi-tests--wait (lambda () (= 2 (length (pi-session-queue session)))))
        (should (string-search "queue 2" (buffer-local-value
                                          'pi-header--text (pi-session-buffer session)))))
      (pi-tests--write (expand-file-name "end" dir) "")
      (pi-tests--ended)
      (let ((text (pi-tests--text session)))
        (should (string-match-p "> now\n\nOne\\.\n\n> later\n\nTwo\\." text))))))

(ert-deftest pi-compose-tests-dropped ()
  "What is taken out of the queue is not lost."
  (pi-tests--in-directory dir
    (let* ((pi-yolo t)
           (pi-model (pi-tests--turns
                      dir (list (pi-tests--call "bash" :command "echo go; sleep 60"))))
           (session (pi-prompt "x")))
      (pi-tests--wait (lambda () (string-search "\ngo" (pi-tests--text session))))
      (pi-session-send session "precious")
      (pi-tests--wait (lambda () (pi-session-queue session)))
      (with-current-buffer (pi-session-buffer session)
        (pi-clear-queue))
      (pi-tests--wait (lambda () (string-search "was not sent" (pi-tests--text session))))
      (with-current-buffer (pi-compose-buffer dir session)
        (should (equal (buffer-string) "precious\n"))))))

(ert-deftest pi-compose-tests-completion ()
  "Files, buffers and commands are completed."
  (pi-compose-tests--in-compose dir
    (pi-tests--write (expand-file-name "needle.txt" dir) "x\n")
    (insert "see @eedl")
    (completion-at-point)
    (should (equal (buffer-string) "see @needle.txt"))
    (with-current-buffer (get-buffer-create "haystack-buffer")
      (insert "x"))
    (insert " @buffer:hays")
    (completion-at-point)
    (should (string-suffix-p "@buffer:haystack-buffer" (buffer-string)))
    (kill-buffer "haystack-buffer")
    (pi-tests--write (expand-file-name "odd name.txt" dir) "x\n")
    (setq pi-context--files nil)
    (erase-buffer)
    (insert "see @odd")
    (completion-at-point)
    (should (equal (buffer-string) "see @\"odd name.txt\""))
    (erase-buffer)
    (insert "/thin")
    (completion-at-point)
    (should (equal (buffer-string) "/thinking"))
    (erase-buffer)
    (insert "x /thin")
    (completion-at-point)
    (should (equal (buffer-string) "x /thin"))))

(ert-deftest pi-compose-tests-command ()
  "A slash runs a command of Emacs, and nothing is sent."
  (should (eq (pi-compose-command "/usage ") 'pi-usage))
  (should-not (pi-compose-command "/usage is high"))
  (should-not (pi-compose-command "see /usage"))
  (dolist (command (mapcar #'cdr pi-compose-commands))
    (should (commandp command)))
  (pi-compose-tests--in-compose dir
    (insert "/new")
    (pi-compose-send)
    (should (eq major-mode 'pi-session-mode))
    (should-not (pi-session-running pi-session--current))))

(ert-deftest pi-compose-tests-region ()
  "The lines of the region go along as they are in Emacs, saved or not."
  (pi-tests--in-directory dir
    (let ((pi-model (pi-tests--turns dir (list (list :text "Hello."))))
          (file (expand-file-name "a.txt" dir)))
      (pi-tests--write file "one\ntwo\nthree\n")
      (with-current-buffer (find-file-noselect file)
        (goto-char (point-min))
        (insert "zero ```\n")
        (goto-char (point-min))
        (transient-mark-mode 1)
        (push-mark (point) t t)
        (forward-line 2)
        (let* ((mark-even-if-inactive t)
               (session (pi-prompt "What is this?")))
          (pi-tests--ended)
          (should (string-prefix-p "> What is this?

@a.txt:L1-L2

a.txt:L1-L2
````
zero ```
one
````
" (pi-tests--text session)))
          (should (eq (pi-session-origin session) (current-buffer)))
          (should (= (point) 14)))))))

(ert-deftest pi-compose-tests-region-name ()
  "A region that ends where a line begins does not have that line."
  (with-temp-buffer
    (rename-buffer "pi-lines" t)
    (insert "one\ntwo\nthree\n")
    (pcase-dolist (`(,begin ,end ,name) '((1 5 "buffer:pi-lines:L1")
                                          (1 6 "buffer:pi-lines:L1-L2")
                                          (6 8 "buffer:pi-lines:L2")))
      (goto-char begin)
      (set-mark end)
      (should (equal (pi-context-region-name "/") name)))))

(ert-deftest pi-compose-tests-context ()
  "Buffers, lines, diagnostics and what others add."
  (pi-compose-tests--in-compose dir
    (let* ((session (pi-compose--session))
           (pi-context-functions (list (lambda (_ text)
                                         (and (string-search "more" text) "More.")))))
      (with-current-buffer (get-buffer-create "pi-notes")
        (erase-buffer)
        (insert "line 1\nline 2\nline 3"))
      (pi-tests--write (expand-file-name "b.txt" dir) "1\n2\n3\n")
      (should (equal (pi-context-expand session "see @buffer:pi-notes:L2 @b.txt:L2-L9")
                     "see @buffer:pi-notes:L2 @b.txt:L2-L9

buffer:pi-notes:L2
```
line 2
```

b.txt:L2-L9
```
2
3
```"))
      (should (string-search "\nline 1\nline 2\nline 3\n```"
                             (pi-context-expand session "@buffer:pi-notes")))
      (should (string-search "none" (pi-context-expand session "@diagnostics")))
      (should (equal (pi-context-expand session "more @nothing:L1 @buffer:nothing @b.txt")
                     "more @nothing:L1 @buffer:nothing @b.txt\n\nMore."))
      (let ((pi-context-max-bytes 10))
        (should (string-search "line 1\nlin\n[10 more characters"
                               (pi-context-expand session "@buffer:pi-notes"))))
      (kill-buffer "pi-notes")
      (let ((pi-before-send-functions (list #'ignore #'upcase)))
        (should (equal (pi-compose-final session "x") "X"))))))

(ert-deftest pi-compose-tests-diagnostics ()
  "What Flymake says about a buffer."
  (pi-tests--in-directory dir
    (pi-tests--write (expand-file-name "a.el" dir) "(one)\n(two)\n")
    (with-current-buffer (find-file-noselect (expand-file-name "a.el" dir))
      (setq-local flymake-diagnostic-functions
                  (list (lambda (report &rest _)
                          (funcall report
                                   (list (flymake-make-diagnostic
                                          (current-buffer) 8 11 :warning "Odd\nthing"))))))
      (flymake-mode 1)
      (flymake-start)
      (should (equal (pi-context-diagnostics (list (current-buffer)) dir)
                     "a.el:2: warning: Odd thing\n")))))

(ert-deftest pi-compose-tests-image ()
  "Pictures that a prompt names are sent; what is none is told."
  (pi-compose-tests--in-compose dir
    (let ((coding-system-for-write 'binary))
      (write-region (base64-decode-string pi-compose-tests--png) nil
                    (expand-file-name "a.png" dir) nil 'silent)
      (write-region "no picture" nil (expand-file-name "b.png" dir) nil 'silent))
    (insert "see @a.png and @b.png")
    (pi-compose-send)
    (pi-tests--ended)
    (let ((text (pi-tests--text pi-session--current)))
      (should (string-search "> see @a.png and @b.png [image, image/png]\n" text))
      (should (string-search "b.png was not sent as an image" text))
      ;; Emacs read them, not the model.
      (should-not (string-search "* read" text)))))

(ert-deftest pi-compose-tests-preview ()
  "What will be sent can be seen before."
  (pi-compose-tests--in-compose dir
    (pi-tests--write (expand-file-name "b.txt" dir) "1\n2\n3\n")
    (insert "see @b.txt:L2")
    (pi-compose-preview)
    (with-current-buffer "*pi-preview*"
      (should (string-prefix-p "see @b.txt:L2\n\nb.txt:L2\n```\n2\n```" (buffer-string))))))

(ert-deftest pi-compose-tests-add-context ()
  "What is added stands in the buffer for prompts."
  (pi-compose-tests--in-compose dir
    (insert "see")
    (pi-add-context "a b.txt")
    (should (equal (buffer-string) "see @\"a b.txt\" "))
    (with-temp-buffer
      (rename-buffer "pi-source" t)
      (setq default-directory dir)
      (pi-add-context (pi-context-buffer-name dir)))
    (should (string-search "@buffer:pi-source" (buffer-string)))))

(provide 'pi-compose-tests)
;;; pi-compose-tests.el ends here
