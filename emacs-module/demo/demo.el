;;; demo.el --- Shows pi in Emacs  -*- lexical-binding: t; -*-

;; SPDX-License-Identifier: MIT

;;; Commentary:

;; Loaded by the script run: opens the file that fails its test, asks for a prompt that is
;; written already, and says what can be done when the agent is done.

;;; Code:

(require 'pi)
(require 'pi-menu)

(defconst demo-prompt "./check fails. Find out why and mend it.")

(defconst demo-before "\
A small program, roman, is open above; its test, ./check, fails.

RET sends the prompt below, as M-x pi-prompt does.
The model's side is recorded; tools, files and processes are real.
")

(defconst demo-after "\
The agent has changed roman in its buffer, marked with +, and saved it.

  in roman:             C-/  undoes the change of the agent
  conversation, C-x o:  d  the changes (k rejects one)   n p  turns   TAB  fold
                        c  another prompt   o  all output   ?  all commands
  anywhere:             C-c a p  prompt   C-c a ?  commands   C-x C-c  leaves
")

(defun demo--say (text)
  "Show TEXT in the window below."
  (with-current-buffer (get-buffer-create "*demo*")
    (let ((inhibit-read-only t))
      (erase-buffer)
      (insert text)
      (goto-char (point-min)))
    (special-mode)
    (setq mode-line-format nil
          cursor-type nil)
    (let ((window (display-buffer-in-side-window
                   (current-buffer)
                   '((side . bottom) (window-parameters (no-other-window . t))))))
      (fit-window-to-buffer window)
      (set-window-dedicated-p window t))))

(defun demo--start ()
  "Open the file and ask for the prompt."
  (find-file "roman")
  (goto-char (point-min))
  (search-forward "5 V")
  (beginning-of-line)
  ;; What comes below it stays in sight when the window becomes smaller.
  (recenter 4)
  (demo--say demo-before)
  (minibuffer-with-setup-hook (lambda () (insert demo-prompt))
    (call-interactively #'pi-prompt)))

(setq inhibit-startup-screen t
      make-backup-files nil
      split-width-threshold 120
      pi-model (getenv "PI_DEMO_MODEL")
      ;; In a folder that is thrown away commands may run without a question.
      pi-yolo t)
(global-set-key (kbd "C-c a") pi-command-map)
;; All is thrown away, so there is nothing to save.
(global-set-key (kbd "C-x C-c") #'kill-emacs)
(add-hook 'pi-turn-end-functions (lambda (&rest _) (demo--say demo-after)))
(add-hook 'emacs-startup-hook #'demo--start)

;;; demo.el ends here
