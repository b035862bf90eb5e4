;;; pi-typing-tests.el --- A user at a terminal  -*- lexical-binding: t; -*-

;; SPDX-License-Identifier: MIT

;;; Code:

(require 'pi-pty)

(defun pi-pty--wait-for-file (name)
  "A command that waits for the file NAME."
  (pi-tests--call "bash" :command
                  (format "echo waiting; until [ -e %s ]; do sleep 0.02; done" name)))

(defconst pi-pty--edit
  (pi-tests--call "edit" :path "a.txt" :edits [(:oldText "two" :newText "TWO\n2")])
  "An edit of a.txt.")

(ert-deftest pi-typing-undo-while-typing ()
  "What is typed before and after an edit, and the edit itself, are undone one by one."
  (pi-pty--with process dir
                (list (list (pi-pty--wait-for-file "go") pi-pty--edit)
                      (list (list :text "Done.")))
                '((pi-prompt "go"))
    (pi-pty--wait "(output \"waiting")
    (pi-pty--keys process "de" "deone\ntwo\nthree\n")
    (pi-tests--write (expand-file-name "go" dir) "")
    (pi-pty--wait "(agent_end)")
    (pi-pty--keys process "fg" "defgone\nTWO\n2\nthree\n")
    (pi-pty--keys process "\C-_" "deone\nTWO\n2\nthree\n")
    (pi-pty--keys process "\C-_" "deone\ntwo\nthree\n")
    (pi-pty--keys process "\C-_" "one\ntwo\nthree\n")))

(ert-deftest pi-typing-edit-between-undos ()
  "An edit that comes while the user undoes is one step of its own."
  (pi-pty--with process dir
                (list (list (pi-pty--wait-for-file "go") pi-pty--edit)
                      (list (list :text "Done.")))
                '((pi-prompt "go"))
    (pi-pty--wait "(output \"waiting")
    (pi-pty--keys process "x" "xone\ntwo\nthree\n")
    (pi-pty--keys process "\C-f" "xone\ntwo\nthree\n")
    (pi-pty--keys process "y" "xoyne\ntwo\nthree\n")
    (pi-pty--keys process "\C-_" "xone\ntwo\nthree\n")
    (pi-tests--write (expand-file-name "go" dir) "")
    (pi-pty--wait "(agent_end)")
    (pi-pty--keys process "\C-_" "xone\ntwo\nthree\n")))

(ert-deftest pi-typing-quit ()
  "Quitting harms neither the agent nor its command."
  (pi-pty--with process dir
                (list (list (pi-pty--wait-for-file "go") pi-pty--edit)
                      (list (list :text "Done.")))
                '((pi-prompt "go"))
    (pi-pty--wait "(output \"waiting")
    (pi-pty--quit process "(did keyboard-quit")
    (pi-pty--keys process "x" "xone\ntwo\nthree\n")
    (process-send-string process "\C-g")
    (pi-tests--write (expand-file-name "go" dir) "")
    (pi-pty--wait "(agent_end)")
    (pi-pty--keys process "y" "xyone\nTWO\n2\nthree\n")))

(ert-deftest pi-typing-quit-of-a-hook ()
  "A hook of saving that never ends is ended by a quit; the edit stays."
  (pi-pty--with process dir
                (list (list pi-pty--edit) (list (list :text "Done.")))
                '((add-hook 'before-save-hook
                            (lambda ()
                              (t-log 'hook)
                              (while t (sleep-for 0.05)))
                            nil t)
                  (pi-prompt "go"))
    (pi-pty--wait "(hook)")
    (pi-pty--quit process "(agent_end)")
    (pi-pty--keys process "x" "xone\nTWO\n2\nthree\n")
    (should (equal (pi-tests--disk (expand-file-name "a.txt" dir)) "one\ntwo\nthree\n"))))

(provide 'pi-typing-tests)
;;; pi-typing-tests.el ends here
