;;; pi-exit-tests.el --- Ends of Emacs, whatever the agent does  -*- lexical-binding: t; -*-

;; SPDX-License-Identifier: MIT

;;; Code:

(require 'pi-pty)

(defvar pi-exit--exits
  '((keys . "\C-x\C-c") (signal . TERM) (signal . KILL))
  "Ways to end an Emacs.")

(defun pi-exit--end (process how)
  "End PROCESS as HOW says, and wait for that."
  (pcase how
    (`(keys . ,keys) (process-send-string process keys))
    (`(signal . ,signal) (signal-process process signal)))
  (let ((begin (float-time)))
    (pi-tests--wait (lambda () (not (process-live-p process))) 5)
    (message "%S: %.2f s" how (- (float-time) begin))))

(defun pi-exit--exit (turns forms ready)
  "End Emacsen whose agents answer by TURNS, after FORMS, when READY was written.
TURNS is called with a mark for commands; nothing that has it may be left."
  (dolist (how pi-exit--exits)
    (let ((mark (pi-tests--mark)))
      (pi-pty--with process dir (funcall turns mark) forms
        (pi-pty--wait ready)
        (pi-exit--end process how)
        (pi-tests--gone mark)))))

(ert-deftest pi-exit-when-idle ()
  (pi-exit--exit (lambda (_) (list (list (list :text "Done."))))
                 '((pi-prompt "go")) "(agent_end)"))

(ert-deftest pi-exit-while-streaming ()
  (pi-exit--exit (lambda (_) (list (list (list :repeatText '(:s "some words " :n 9999999)))))
                 '((pi-prompt "go")) "(message_update)"))

(ert-deftest pi-exit-while-a-command-runs ()
  (let ((pi-exit--exits (cons '(signal . HUP) pi-exit--exits)))
    (pi-exit--exit (lambda (mark)
                     (list (list (pi-tests--call
                                  "bash" :command
                                  (format "sleep %s & echo waiting; sleep %s; true"
                                          mark mark)))))
                   '((pi-prompt "go")) "(output \"waiting")))

(ert-deftest pi-exit-while-something-is-asked ()
  (pi-exit--exit (lambda (mark)
                   (list (list (pi-tests--call "bash" :command
                                               (concat "sleep " mark)))))
                 '((setq pi-yolo nil) (pi-prompt "go")) "(permission_request)"))

(provide 'pi-exit-tests)
;;; pi-exit-tests.el ends here
