;;; pi-pty.el --- Another Emacs on a terminal  -*- lexical-binding: t; -*-

;; SPDX-License-Identifier: MIT

;;; Commentary:

;; Another Emacs runs on a terminal of its own and gets keys and signals, so that its
;; command loop, its undo and its ways to exit are the real ones.  It writes what it does
;; into a file.

;;; Code:

(require 'pi-test-support)

(defvar pi-pty--log nil
  "The file into which the other Emacs writes.")

(defun pi-pty--init (dir turns forms)
  "Write the file that the other Emacs loads: it works in DIR by TURNS and runs FORMS."
  (let ((file (expand-file-name "init.el" dir)))
    (pi-tests--write
     file
     ";; -*- lexical-binding: t -*-\n"
     (format "%S"
             `(progn
                (setq pi-module-file ,pi-module-file
                      pi-yolo t
                      pi-save-before-bash nil
                      pi-model ,(apply #'pi-tests--turns dir turns)
                      default-directory ,dir
                      make-backup-files nil
                      create-lockfiles nil
                      inhibit-startup-screen t)
                (require 'pi)
                (defun t-log (what &rest more)
                  (write-region (format "%S\n" (cons what more)) nil ,pi-pty--log
                                'append 'silent))
                (defun t-did ()
                  (t-log 'did this-command
                         (buffer-substring-no-properties (point-min) (point-max))))
                (pi-session-on "tool_execution_update"
                               (lambda (_ event) (t-log 'output (plist-get event :delta))))
                (dolist (type '("agent_start" "agent_end" "permission_request"
                                "message_update"))
                  (pi-session-on type (lambda (_ _event) (t-log (intern type)))))
                (add-hook 'window-setup-hook
                          (lambda ()
                            (find-file "a.txt")
                            (add-hook 'post-command-hook #'t-did)
                            ,@forms)))))
    file))

(defun pi-pty--start (dir turns &rest forms)
  "Start an Emacs in DIR on a terminal whose agent answers by TURNS; run FORMS there."
  (setq pi-pty--log (expand-file-name "log" dir))
  (pi-tests--write pi-pty--log "")
  (pi-tests--write (expand-file-name "a.txt" dir) "one\ntwo\nthree\n")
  (let* ((process-environment (append '("TERM=xterm" "COLUMNS" "LINES")
                                      process-environment))
         (init (pi-pty--init dir turns forms))
         (process (make-process
                   :name "emacs" :buffer nil :connection-type 'pty :noquery t
                   :filter #'ignore :sentinel #'ignore
                   :command (append (pi-tests-emacs)
                                    (list "-nw" "-Q" "-L"
                                          (file-name-directory (locate-library "pi"))
                                          "-l" init)))))
    (set-process-window-size process 24 80)
    process))

(defun pi-pty--wait (text)
  "Wait until the other Emacs has written TEXT."
  (condition-case nil
      (pi-tests--wait (lambda ()
                        (string-search text (decode-coding-string
                                             (pi-tests--disk pi-pty--log) 'utf-8))))
    (error (ert-fail (list 'waited-for text (pi-tests--disk pi-pty--log))))))

(defun pi-pty--quit (process text)
  "Send C-g to PROCESS, again and again as a user would, until it has written TEXT.
One that comes while Emacs is busy quits what it finds, or nothing."
  (let ((quits (run-at-time 0.2 1 #'process-send-string process "\C-g")))
    (unwind-protect
        (pi-pty--wait text)
      (cancel-timer quits))))

(defun pi-pty--last ()
  "The text of the buffer after the last command of the other Emacs."
  (with-temp-buffer
    (insert-file-contents pi-pty--log)
    (goto-char (point-max))
    (and (re-search-backward "^(did " nil t)
         (nth 2 (read (current-buffer))))))

(defun pi-pty--keys (process keys text)
  "Send KEYS to PROCESS and wait until its buffer has TEXT after a command."
  (process-send-string process keys)
  (condition-case nil
      (pi-tests--wait (lambda () (equal text (pi-pty--last))))
    (error (ert-fail (list keys text (pi-tests--disk pi-pty--log))))))

(defmacro pi-pty--with (process dir turns forms &rest body)
  "Run BODY with PROCESS, an Emacs in DIR whose agent answers by TURNS, after FORMS."
  (declare (indent 4))
  `(pi-tests--in-directory ,dir
     (let ((,process (apply #'pi-pty--start ,dir ,turns ,forms)))
       (unwind-protect
           (progn ,@body)
         (when (process-live-p ,process)
           (signal-process ,process 'KILL)
           (pi-tests--wait (lambda () (not (process-live-p ,process)))))))))

(provide 'pi-pty)
;;; pi-pty.el ends here
