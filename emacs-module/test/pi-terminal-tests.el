;;; pi-terminal-tests.el --- Keys and screens, in a terminal  -*- lexical-binding: t; -*-

;; SPDX-License-Identifier: MIT

;;; Commentary:

;; What depends on the command loop, in the Emacs of pi-terminal-support.el.

;;; Code:

(require 'pi-terminal-support)

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
    ;; One that arrives before the other is read would be lost.
    (pi-terminal-tests--keys "C-g")
    (pi-terminal-tests--see "Quit")
    (pi-terminal-tests--keys "C-g")
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
