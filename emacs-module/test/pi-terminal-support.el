;;; pi-terminal-support.el --- Another Emacs in a terminal, for tests  -*- lexical-binding: t; -*-

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
  (let ((end (+ (float-time) 40)) screen)
    (while (not (string-search text (setq screen (pi-terminal-tests--screen))))
      (when (> (float-time) end)
        (error "No %S on the screen:\n%s" text screen))
      (sleep-for 0.02))
    screen))

(defun pi-terminal-tests--ask (dir form)
  "The value of FORM in the Emacs of the terminal, whose directory is DIR."
  (let ((question (expand-file-name "question" dir))
        (answer (expand-file-name "answer" dir))
        (again 0))
    (ignore-errors (delete-file answer))
    (pi-tests--write question (format "%S" form))
    (pi-tests--wait (lambda ()
                      ;; Keys that are typed while Emacs starts may be lost.
                      (when (and (file-exists-p question) (> (float-time) again))
                        (setq again (+ (float-time) 3))
                        (pi-terminal-tests--keys "C-c" "z"))
                      (file-exists-p answer)))
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
                      create-lockfiles nil auto-save-default nil
                      native-comp-async-report-warnings-errors nil
                      pi-save-before-bash nil)
                (require 'pi)
                (global-set-key (kbd "C-c a") pi-command-map)
                (global-set-key
                 (kbd "C-c z")
                 (lambda ()
                   (interactive)
                   (let ((value (eval (with-temp-buffer
                                        (insert-file-contents ,(concat dir "question"))
                                        (delete-file ,(concat dir "question"))
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
                      (mapconcat #'shell-quote-argument (pi-tests-emacs) " ")
                      (shell-quote-argument
                       (file-name-directory (locate-library "pi")))
                      (shell-quote-argument
                       (pi-terminal-tests--init
                        ,directory (apply #'pi-tests--turns ,directory ,turns)))))
             (pi-terminal-tests--see "three")
             (pi-terminal-tests--ask ,directory t)
             ,@body)
         (pi-terminal-tests--tmux "kill-server")))))

(provide 'pi-terminal-support)
;;; pi-terminal-support.el ends here
