;;; pi-terminal-tests.el --- Keys and screens, in a terminal  -*- lexical-binding: t; -*-

;; SPDX-License-Identifier: MIT

;;; Commentary:

;; What depends on the command loop: another Emacs runs in tmux with 80 columns and 24
;; lines; keys are sent to it and its screen is read.

;;; Code:

(require 'pi-test-support)

(defvar pi-terminal-tests--socket nil
  "The socket of the tmux of the test.")

(defun pi-terminal-tests--tmux (&rest arguments)
  "Run tmux with ARGUMENTS and return what it prints."
  (with-temp-buffer
    (let ((coding-system-for-read 'utf-8-unix))
      (apply #'call-process "tmux" nil t nil "-S" pi-terminal-tests--socket
             "-f" "/dev/null" "-u" arguments))
    (buffer-string)))

(defun pi-terminal-tests--screen ()
  "What the terminal shows."
  (pi-terminal-tests--tmux "capture-pane" "-p"))

(defun pi-terminal-tests--keys (&rest keys)
  "Type KEYS, names of keys as tmux has them; a list (TEXT) is typed as it is."
  (dolist (key keys)
    (if (consp key)
        (pi-terminal-tests--tmux "send-keys" "-l" (car key))
      (pi-terminal-tests--tmux "send-keys" key))))

(defun pi-terminal-tests--see (text)
  "Wait until the terminal shows TEXT."
  (let ((end (+ (float-time) 15)) screen)
    (while (not (string-search text (setq screen (pi-terminal-tests--screen))))
      (when (> (float-time) end)
        (error "No %S on the screen:\n%s" text screen))
      (sleep-for 0.02))
    screen))

(defun pi-terminal-tests--ask (dir form)
  "The value of FORM in the Emacs of the terminal, whose directory is DIR."
  (let ((question (expand-file-name "question" dir))
        (answer (expand-file-name "answer" dir)))
    (ignore-errors (delete-file answer))
    (pi-tests--write question (format "%S" form))
    (pi-terminal-tests--keys "C-c" "z")
    (pi-tests--wait (lambda () (file-exists-p answer)))
    (with-temp-buffer
      (insert-file-contents answer)
      (read (current-buffer)))))

(defun pi-terminal-tests--init (dir model)
  "Write the init file for an Emacs that works with MODEL in DIR; return its name."
  (let ((file (expand-file-name "init.el" dir)))
    (pi-tests--write
     file
     (format "%S"
             `(progn
                (setq pi-module-file ,pi-module-file pi-model ,model
                      inhibit-startup-screen t make-backup-files nil
                      create-lockfiles nil)
                (require 'pi)
                (global-set-key (kbd "C-c a") pi-command-map)
                (global-set-key
                 (kbd "C-c z")
                 (lambda ()
                   (interactive)
                   (let ((value (eval (with-temp-buffer
                                        (insert-file-contents ,(concat dir "question"))
                                        (read (current-buffer)))
                                      t)))
                     (write-region (format "%S" value) nil ,(concat dir "answer.new")
                                   nil 'silent)
                     (rename-file ,(concat dir "answer.new") ,(concat dir "answer"))))))))
    file))

(defmacro pi-terminal-tests--with (directory turns &rest body)
  "Run BODY while an Emacs in DIRECTORY shows the file a.txt; TURNS are the model's."
  (declare (indent 2))
  `(pi-tests--in-directory ,directory
     (skip-unless (executable-find "tmux"))
     (let ((pi-terminal-tests--socket (expand-file-name "tmux" ,directory)))
       (pi-tests--write (expand-file-name "a.txt" ,directory) "one\ntwo\nthree\n")
       (unwind-protect
           (progn
             (pi-terminal-tests--tmux
              "new-session" "-d" "-x" "80" "-y" "24" "-c" ,directory
              (format "%s -nw -Q -L %s -l %s a.txt"
                      (shell-quote-argument pi-tests--emacs)
                      (shell-quote-argument
                       (file-name-directory (locate-library "pi")))
                      (shell-quote-argument
                       (pi-terminal-tests--init
                        ,directory (apply #'pi-tests--turns ,directory ,turns)))))
             (pi-terminal-tests--see "three")
             ,@body)
         (pi-terminal-tests--tmux "kill-server")))))

(ert-deftest pi-terminal-tests-prompt ()
  "A prompt from the minibuffer: no window is selected, point and region stay."
  (pi-terminal-tests--with dir (list (list (list :text "An answer.")))
    (pi-terminal-tests--keys "C-n" "C-c" "a" "p")
    (pi-terminal-tests--see "Prompt:")
    (pi-terminal-tests--keys '("say something") "Enter")
    (pi-terminal-tests--see "An answer.")
    (should (equal (pi-terminal-tests--ask dir '(list (buffer-name) (line-number-at-pos)))
                   '("a.txt" 2)))
    ;; The history has it.
    (pi-terminal-tests--keys "C-c" "a" "p" "M-p")
    (pi-terminal-tests--see "Prompt: say something")))

(ert-deftest pi-terminal-tests-to-compose ()
  "A prompt that grows moves from the minibuffer to its buffer; C-g there hurts nobody."
  (pi-terminal-tests--with dir (list (list (list :text "An answer.")))
    (pi-terminal-tests--keys "C-c" "a" "p" '("see @a.t") "Tab")
    (pi-terminal-tests--see "Prompt: see @a.txt")
    (pi-terminal-tests--keys "M-Enter")
    (pi-terminal-tests--see "Pi-Prompt")
    (pi-terminal-tests--keys "C-g" "C-g")
    (pi-terminal-tests--see "C-c C-k stops the agent")
    (pi-terminal-tests--keys "Enter" '("and more") "C-c" "C-c")
    (let ((screen (pi-terminal-tests--see "An answer.")))
      (should (string-search "> see @a.txt\nand more" screen)))))

(ert-deftest pi-terminal-tests-question ()
  "A question is seen from everywhere and answered by a key on its line only."
  (pi-terminal-tests--with dir
      (list (list (pi-tests--call "bash" :command "echo done > b.txt"))
            (list (list :text "An answer.")))
    (pi-terminal-tests--keys "C-c" "a" "p" '("go") "Enter")
    (pi-terminal-tests--see "May bash run this?")
    (pi-terminal-tests--see "pi:")
    ;; Keys go where the user types.
    (pi-terminal-tests--ask dir '(progn (switch-to-buffer "notes") nil))
    (pi-terminal-tests--keys '("yes"))
    (pi-terminal-tests--see "\nyes\n")
    (should-not (file-exists-p (expand-file-name "b.txt" dir)))
    (pi-terminal-tests--keys "C-c" "a" "y" "p" '("y"))
    (pi-terminal-tests--see "No question here")
    (pi-terminal-tests--keys "C-c" "a" "y" '("y"))
    (pi-terminal-tests--see "An answer.")
    (should (file-exists-p (expand-file-name "b.txt" dir)))
    (should-not (string-search "pi:" (replace-regexp-in-string
                                      "\\*pi:" "" (pi-terminal-tests--screen))))))

(ert-deftest pi-terminal-tests-abort ()
  "An abort is seen at once, and C-g does not reach the command."
  (pi-terminal-tests--with dir
      (list (list (pi-tests--call "bash" :command "echo begun; sleep 30")))
    (pi-terminal-tests--ask dir '(setq pi-yolo t))
    (pi-terminal-tests--keys "C-c" "a" "p" '("go") "Enter")
    (pi-terminal-tests--see "begun")
    ;; What is typed before the quit is dropped with it.
    (pi-terminal-tests--keys "C-g")
    (pi-terminal-tests--see "Quit")
    (should (pi-terminal-tests--ask dir '(pi-session-running (car pi-session--all))))
    (pi-terminal-tests--keys "C-c" "a" "k")
    (let ((began (float-time)))
      (pi-terminal-tests--see "Command aborted")
      (message "abort seen after %.0f ms" (* 1000 (- (float-time) began))))
    (pi-terminal-tests--see "ready")))

(ert-deftest pi-terminal-tests-follow ()
  "A window at the end follows, another one of the same buffer stays."
  (pi-terminal-tests--with dir
      (list (list (list :text (mapconcat #'number-to-string (number-sequence 1 99) "\n")))
            (list (list :text (mapconcat #'number-to-string (number-sequence 100 199)
                                         "\n"))))
    (pi-terminal-tests--keys "C-c" "a" "p" '("one") "Enter")
    (pi-terminal-tests--see "\n99\n")
    ;; The transcript above, too, at its begin.
    (pi-terminal-tests--ask dir '(progn (switch-to-buffer
                                         (pi-session-buffer (car pi-session--all)))
                                        (goto-char (point-min))
                                        nil))
    (pi-terminal-tests--see "> one")
    (pi-terminal-tests--ask dir '(progn (pi-session-send (car pi-session--all) "two") nil))
    (let ((screen (pi-terminal-tests--see "\n199\n")))
      (should (string-search "> one" screen))
      (should (string-search "\n198\n199\n" screen)))
    (should (= 1 (pi-terminal-tests--ask dir '(point))))))

(provide 'pi-terminal-tests)
;;; pi-terminal-tests.el ends here
