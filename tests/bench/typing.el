;;; typing.el --- The editor of the typist  -*- lexical-binding: t; -*-

;; SPDX-License-Identifier: MIT

;;; Commentary:

;; Letters go into an empty buffer while the agent runs commands that print a lot, in
;; another window that follows.  Without PI_BENCH_MODEL there is no agent.

;;; Code:

;; In a new HOME an Emacs with native compilation begins with that, in other processes.
(setq native-comp-deferred-compilation nil
      native-comp-jit-compilation nil)

(defvar typing-report nil "Lines for the typist, newest first.")
(defvar typing-calls nil "(MS . LOG) of the commands that ran meanwhile, newest first.")
(defvar typing-command-began nil "When the command that runs began.")
(defvar typing-began nil "When the first key was awaited.")
(defvar typing-count 0 "Keys so far.")

(defun typing-tell (lines)
  "Write LINES, a string, to the typist."
  (let ((write-region-inhibit-fsync t))
    (write-region lines nil (getenv "TYPIST") nil 'silent)))

(defun typing-be-ready ()
  "Let the keys come."
  (unless typing-began
    (setq typing-began (float-time))
    (typing-tell "ready\n")))

(defun typing-say (format &rest values)
  "Report a line made of FORMAT and VALUES."
  (push (apply #'format (concat "say " format "\n") values) typing-report))

(defun typing-finish ()
  "Report and quit."
  (when (getenv "PI_BENCH_MODEL")
    (let* ((buffer (seq-find (lambda (buffer)
                               (with-current-buffer buffer
                                 (derived-mode-p 'pi-session-mode)))
                             (buffer-list)))
           (window (get-buffer-window buffer))
           (end (with-current-buffer buffer (point-max))))
      (typing-say "follows %s" (if (and window (= (window-point window) end)) "yes" "no")))
    (dolist (call (reverse typing-calls))
      (typing-say "call %.2f %s" (car call) (cdr call))))
  (typing-tell (apply #'concat (nreverse typing-report)))
  (kill-emacs))

(defun typing-handled ()
  "Note that a letter is in the buffer."
  (setq typing-count (1+ typing-count))
  (push (format "handled %d %.6f\n" typing-count (float-time)) typing-report)
  (when (= typing-count (string-to-number (getenv "TYPIST_KEYS")))
    (run-at-time 0 nil #'typing-finish)))

(defun typing-watch (drained)
  "Note in DRAINED, what came from the agent, when a command begins and ends."
  (dolist (json (cdr drained) drained)
    (cond
     ((not (stringp json)))
     ((string-search "\"type\":\"tool_execution_start\"" json)
      (setq typing-command-began (float-time)))
     ((string-search "\"type\":\"tool_execution_end\"" json)
      ;; Those that ended while nobody typed do not count.
      (when (and typing-began (> typing-command-began typing-began))
        (push (cons (* 1e3 (- (float-time) typing-command-began))
                    (if (string-match "\"fullOutputPath\":\"\\([^\"]+\\)\"" json)
                        (match-string 1 json)
                      "-"))
              typing-calls))
      (run-at-time 0 nil #'typing-be-ready)))))

(defun typing-start ()
  "Begin, now that Emacs reads keys."
  (switch-to-buffer "typing")
  (fundamental-mode)
  (add-hook 'post-self-insert-hook #'typing-handled nil t)
  (if (not (getenv "PI_BENCH_MODEL"))
      (typing-be-ready)
    (require 'pi)
    (setq pi-module-file (getenv "PI_EMACS_MODULE")
          pi-model (getenv "PI_BENCH_MODEL")
          pi-yolo t)
    (pi-module-load)
    (advice-add 'pi-module--drain :filter-return #'typing-watch)
    (pi-prompt "print")))

(run-at-time 0.1 nil #'typing-start)

;;; typing.el ends here
