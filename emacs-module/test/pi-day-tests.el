;;; pi-day-tests.el --- A day with the agent, screen by screen  -*- lexical-binding: t; -*-

;; SPDX-License-Identifier: MIT

;;; Commentary:

;; The user types into a file, the agent changes the same file meanwhile, one C-/ takes
;; its change back, and of the next two one hunk is rejected.  What the terminal shows is
;; compared with tests/data/emacs/day-<step>.screen.  With $PI_UPDATE_SCREENS set, these
;; files are written instead; then look at them.

;;; Code:

(require 'pi-terminal-support)

(defun pi-day-tests--plain (screen)
  "SCREEN without what differs from run to run and from version to version."
  (dolist (change '(("^File Edit Options.*\n" . "")
                    ("^-[-U=]+:\\(..\\).*?F1 +" . "=\\1= ")
                    ("pi-tests[[:alnum:]]\\{6\\}" . "NAME")
                    (" +\\(Bot\\|All\\|Top\\|[0-9]+%\\) +L" . "  \\1 L")
                    ("[- ]+$" . "")))
    (setq screen (replace-regexp-in-string (car change) (cdr change) screen)))
  (concat (string-trim-right screen) "\n"))

(defun pi-day-tests--screen (step)
  "The terminal shows what it did when STEP was recorded."
  (let ((file (expand-file-name (format "emacs/day-%s.screen" step)
                                (getenv "PI_TEST_DATA")))
        (end (+ (float-time) 30))
        (screen ""))
    (if (getenv "PI_UPDATE_SCREENS")
        (progn
          (sleep-for 1)
          (pi-tests--write file (pi-day-tests--plain (pi-terminal-tests--screen))))
      (let ((wanted (with-temp-buffer
                      (insert-file-contents file)
                      (buffer-string))))
        (while (not (or (equal screen wanted) (> (float-time) end)))
          (sleep-for 0.02)
          (setq screen (pi-day-tests--plain (pi-terminal-tests--screen))))
        (unless (equal screen wanted)
          (error "At %s the screen is:\n%sand not:\n%s" step screen wanted))))))

(defun pi-day-tests--edit (&rest pairs)
  "A call that replaces in a.txt, for PAIRS of OLD and NEW."
  (pi-tests--call "edit" :path "a.txt"
                  :edits (vconcat (mapcar (lambda (pair)
                                            (list :oldText (car pair) :newText (cdr pair)))
                                          pairs))))

(ert-deftest pi-day-tests-a-day ()
  (pi-terminal-tests--with dir
      (list (list (list :text "I begin with two.")
                  (pi-day-tests--edit '("two" . "two, of the agent")))
            (list (list :text "Done."))
            (list (pi-day-tests--edit '("one" . "ONE") '("nine" . "NINE")))
            (list (list :text "Both are done.")))
    (pi-tests--write (expand-file-name "a.txt" dir)
                     (mapconcat #'identity '("one" "two" "three" "four" "five" "six"
                                             "seven" "eight" "nine" "")
                                "\n"))
    (pi-terminal-tests--ask dir '(progn (revert-buffer t t) (setq pi-yolo t) nil))
    ;; Text that is not saved, then a prompt.
    (pi-terminal-tests--keys "M->" '("mine"))
    (pi-terminal-tests--keys "M-x" '("pi-prompt") "Enter")
    (pi-terminal-tests--see "Prompt:")
    (pi-day-tests--screen "prompt")
    (pi-terminal-tests--keys '("mend two") "Enter")
    ;; The change comes while the user types on.
    (pi-terminal-tests--keys '(" and"))
    (pi-terminal-tests--see "Done.")
    (pi-day-tests--screen "edit")
    ;; One C-/ takes it back, and nothing of the user's.
    (pi-terminal-tests--keys "C-/")
    (pi-day-tests--screen "undo")
    (should (equal (pi-terminal-tests--ask dir '(list (buffer-modified-p)
                                                      (save-excursion
                                                        (goto-char (point-min))
                                                        (forward-line 1)
                                                        (buffer-substring
                                                         (point) (line-end-position)))))
                   '(t "two")))
    ;; Two hunks; the first is rejected in the list of changes.
    (pi-terminal-tests--keys "C-c" "a" "p" '("now both") "Enter")
    (pi-terminal-tests--see "Both are done.")
    (pi-terminal-tests--keys "C-c" "a" "d")
    (pi-day-tests--screen "changes")
    (pi-terminal-tests--keys "n" "p" "k")
    (pi-day-tests--screen "rejected")
    (should (equal (pi-terminal-tests--ask
                    dir '(with-current-buffer "a.txt" (buffer-string)))
                   "one\ntwo\nthree\nfour\nfive\nsix\nseven\neight\nNINE\nmine and"))))

(provide 'pi-day-tests)
;;; pi-day-tests.el ends here
