;;; pi-session-tests.el --- What sessions carry between agent and Emacs  -*- lexical-binding: t; -*-

;; SPDX-License-Identifier: MIT

;;; Code:

(require 'pi-test-support)

(ert-deftest pi-session-tests-events ()
  "Subscribers get each event; one that fails does not hurt the others."
  (pi-tests--in-directory dir
    (let* ((types nil)
           (pi-session-event-functions
            (list (lambda (_ _) (error "Broken on purpose"))
                  (lambda (session event)
                    (should (pi-session-p session))
                    (push (plist-get event :type) types))))
           (pi-model (pi-tests--turns dir (list (list :text "Hello.")))))
      (pi-prompt "x")
      (pi-tests--ended)
      (should (member "agent_start" types))
      (should (equal (car types) "agent_end"))
      (with-current-buffer " *pi-log*"
        (should (string-search "Broken on purpose" (buffer-string)))))))

(ert-deftest pi-session-tests-directory-to-be-made ()
  "A new file in a directory that is not there yet belongs to the one above it."
  (pi-tests--in-directory dir
    (let ((pi-model (pi-tests--turns dir (list (list :text "Hello."))))
          (above (pi-session-directory-here)))
      (let ((default-directory (expand-file-name "to/be/made/" dir)))
        (should (equal (pi-session-directory-here) above))
        (pi-prompt "x")
        (pi-tests--ended)))))

(ert-deftest pi-session-tests-directory-on-another-machine ()
  "To say that a directory is on another machine takes no connection."
  (let ((default-directory "/ssh:nowhere.invalid:/tmp/"))
    (cl-letf (((symbol-function 'project-current)
               (lambda (&rest _) (error "Tried to connect"))))
      (should (string-search "this machine only"
                             (cadr (should-error (pi-prompt "x") :type 'user-error)))))))

(ert-deftest pi-session-tests-added-tool ()
  "A tool of Emacs is called, and may answer at once or later."
  (pi-tests--in-directory dir
    (let* ((pi-yolo t) calls
           (pi-model (pi-tests--turns
                      dir
                      (list (pi-tests--call "answer" :question "grün?")
                            (pi-tests--call "answer" :question "later"))
                      (list (list :text "Done."))))
           (session (pi--session-here)))
      (pi-session-command session 'add-tool :name "answer" :description "Answers."
                          :parameters "{\"type\":\"object\",\"properties\":{\"question\":\
{\"type\":\"string\"}},\"required\":[\"question\"]}")
      (cl-letf (((symbol-function 'pi-tool-serve)
                 (lambda (session id tool arguments directory)
                   (push (list tool arguments directory) calls)
                   (if (string-search "later" arguments)
                       (progn
                         (run-at-time 0 nil #'pi-session-answer session id 'ok
                                      (vector :text "much later"))
                         nil)
                     (list 'ok :text (encode-coding-string "über alles" 'utf-8))))))
        (pi-session-send session "x")
        (pi-tests--ended))
      (should (equal (length calls) 2))
      (should (equal (car (last calls))
                     (list "answer" "{\"question\":\"grün?\"}" (directory-file-name dir))))
      (let ((text (pi-tests--text session)))
        (should (string-search "über alles" text))
        (should (string-search "much later" text))))))

(ert-deftest pi-session-tests-before-command ()
  "Who saves before a command is told the session, the command and its directory."
  (pi-tests--in-directory dir
    (let* ((pi-model (pi-tests--turns dir (list (list :text "Hello."))))
           (session (pi--session-here))
           (item (list 'before-command 7 (encode-coding-string "/tmp/grün" 'utf-8) 0 nil
                       nil (encode-coding-string "echo ß" 'utf-8)))
           asked)
      (cl-letf (((symbol-function 'pi-save-before-command)
                 (lambda (&rest arguments)
                   (setq asked arguments)
                   (list 'conflict :message "nothing was saved"))))
        (should (equal (pi-session--serve-one session item)
                       '(conflict :message "nothing was saved")))
        (should (equal asked (list session 7 "echo ß" "/tmp/grün"))))
      (cl-letf (((symbol-function 'pi-save-before-command) nil))
        (should (equal (pi-session--serve-one session item) '(not-open)))))))

(ert-deftest pi-session-tests-unserved ()
  "Without anybody who serves them requests have answers, too."
  (pi-tests--in-directory dir
    (let* ((pi-yolo t)
           (pi-model (pi-tests--turns
                      dir
                      (list (pi-tests--call "answer" :question "x")
                            (pi-tests--call "bash" :command "touch one"))
                      (list (list :text "Done."))))
           (session (pi--session-here)))
      (pi-session-command session 'add-tool :name "answer" :description "Answers.")
      (cl-letf (((symbol-function 'pi-tool-serve) nil)
                ((symbol-function 'pi-save-before-command) nil))
        (pi-session-send session "x")
        (pi-tests--ended))
      (should (string-search "no such tool" (pi-tests--text session)))
      (should (file-exists-p (expand-file-name "one" dir))))))

(ert-deftest pi-session-tests-closed ()
  "An agent that could not go on has ended for Emacs, too."
  (pi-tests--in-directory dir
    (let* ((pi-model (pi-tests--turns dir (list (list :text "Hello."))))
           (session (pi--session-here)))
      (cl-letf (((symbol-function 'pi-module--drain) (lambda (&rest _) '(closed))))
        (pi-session--drain session))
      (should-not (pi-session-agent session))
      (should-error (pi-session-send session "x") :type 'user-error)
      (should-not (eq session (pi--session-here))))))

(ert-deftest pi-session-tests-commands ()
  "What the module does for Lisp, and what it refuses."
  (pi-tests--in-directory dir
    (let* ((pi-model (pi-tests--turns dir (list (list :text "Hello."))))
           (session (pi--session-here)))
      (should-error (pi-session-command session 'nonsense) :type 'pi-error)
      (should-error (pi-session-command session 'set-thinking :level "immense")
                    :type 'pi-error)
      (should-error (pi-session-command session 'add-tool :name "Bad name")
                    :type 'pi-error)
      (should-error (pi-session-command session 'call-tool :name "read") :type 'pi-error)
      (should-error (pi-session-command session 'set-model :nonsense "x"))
      (should (stringp (pi-session-info session 'session-id)))
      (should (string-search "read" (pi-session-info session 'system-prompt)))
      (should-error (pi-session-info session 'nonsense) :type 'pi-error)
      (pi-session-command session 'session-name :text "grün")
      (pi-session-command session 'add-note :text "a note")
      (pi-session-command session 'set-tools :tools "read,bash")
      (pi-session-command session 'clear-queue)
      (pi-session-send session "x" nil '(("image/png" . "aGVsbG8=")))
      (pi-tests--ended)
      (pi-session-command session 'list-messages :max 10)
      (pi-tests--wait (lambda () (pi-tests--event "transcript")))
      (let ((sessions (json-parse-string
                       (decode-coding-string
                        (pi-module--sessions
                         (pi-session--fields (list :cwd (directory-file-name dir))))
                        'utf-8)
                       :object-type 'plist)))
        (should (= (length sessions) 1))
        (should (equal (plist-get (aref sessions 0) :name) "grün"))
        (should (equal (encode-coding-string (plist-get (aref sessions 0) :path) 'utf-8)
                       (pi-module--sessions
                        (pi-session--fields (list :cwd (directory-file-name dir)))
                        'newest)))))))

(provide 'pi-session-tests)
;;; pi-session-tests.el ends here
