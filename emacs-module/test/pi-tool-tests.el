;;; pi-tool-tests.el --- Tools written in Lisp  -*- lexical-binding: t; -*-

;; SPDX-License-Identifier: MIT

;;; Code:

(require 'pi-test-support)
(require 'pi-tool)
(require 'pi-tools)

(defmacro pi-tool-tests--with (names &rest body)
  "Run BODY and then take the tools NAMES away."
  (declare (indent 1))
  `(unwind-protect
       (progn ,@body)
     (mapc #'pi-tool-remove ',names)))

(defun pi-tool-tests--call (dir tool &rest arguments)
  "What the model in DIR gets of calling TOOL with ARGUMENTS: (FAILED . TEXT)."
  (setq pi-tests--events nil)
  (let* ((pi-yolo t)
         (pi-model (pi-tests--turns dir (list (apply #'pi-tests--call tool arguments))
                                    (list (list :text "Done."))))
         (session (pi-prompt "go")))
    (pi-tests--ended)
    (let ((end (cdr (seq-find (lambda (entry)
                                (equal (plist-get (cdr entry) :type)
                                       "tool_execution_end"))
                              pi-tests--events))))
      (pi-session-end session)
      (cons (and (plist-get end :isError) t)
            (pi-render-text (plist-get (plist-get end :result) :content))))))

(ert-deftest pi-tool-tests-schema ()
  (should (equal (json-parse-string
                  (pi-tool--schema '((a string "A.") &optional (b integer "B.")))
                  :object-type 'plist)
                 '(:type "object"
                         :properties (:a (:type "string" :description "A.")
                                         :b (:type "integer" :description "B."))
                         :required ["a"])))
  (should (equal (pi-tool--schema nil)
                 "{\"type\":\"object\",\"properties\":{},\"required\":[]}")))

(ert-deftest pi-tool-tests-call ()
  "Arguments come as a plist, the value is the result, an error a failure."
  (pi-tool-tests--with (word-count)
    (pi-define-tool word-count (args)
      "Count words."
      :parameters ((text string "Text.") &optional (twice boolean "Twice."))
      :reads t
      (when (equal (plist-get args :text) "bad")
        (error "No such words: %s" "bäd"))
      (format "%d wörter in %s" (* (if (plist-get args :twice) 2 1)
                                   (length (split-string (plist-get args :text))))
              default-directory))
    (pi-tests--in-directory dir
      (should (equal (pi-tool-tests--call dir "word_count" :text "a b c")
                     (cons nil (format "3 wörter in %s" dir))))
      (should (equal (pi-tool-tests--call dir "word_count" :text "a b" :twice t)
                     (cons nil (format "4 wörter in %s" dir))))
      (pcase-let ((`(,failed . ,text)
                   (pi-tool-tests--call dir "word_count" :text "bad")))
        (should failed)
        (should (string-search "No such words: bäd" text))))))

(ert-deftest pi-tool-tests-limits ()
  "A tool that waits too long, asks or says too much."
  (pi-tool-tests--with (sleepy nosy chatty)
    (pi-define-tool sleepy (_args) "Sleep." :seconds 0.1 :reads t (sleep-for 20))
    (pi-define-tool nosy (_args) "Ask." :reads t (read-string "Who are you? "))
    (pi-define-tool chatty (_args) "Talk." :reads t (make-string 100000 ?x))
    (pi-tests--in-directory dir
      (let ((begin (float-time)))
        (should (equal (pi-tool-tests--call dir "sleepy")
                       '(t . "not done after 0.1 seconds")))
        (should (< (- (float-time) begin) 10)))
      (should (car (pi-tool-tests--call dir "nosy")))
      (pcase-let ((`(,failed . ,text) (pi-tool-tests--call dir "chatty")))
        (should-not failed)
        (should (string-search "[60000 more characters were left out]" text))))))

(ert-deftest pi-tool-tests-later ()
  "An answer by callback: later, at once, twice, as a failure, never."
  (pi-tool-tests--with (slow quick failing silent)
    (pi-define-tool slow (_args answer) "Later." :reads t
                    (run-at-time 0.05 nil (lambda ()
                                            (funcall answer "late")
                                            (funcall answer "later"))))
    (pi-define-tool quick (_args answer) "At once." :reads t
                    (funcall answer "now"))
    (pi-define-tool failing (_args answer) "Fail." :reads t
                    (funcall answer "it is broken" t))
    (pi-define-tool silent (_args _answer) "Never." :reads t :seconds 0.1
                    nil)
    (pi-tests--in-directory dir
      (should (equal (pi-tool-tests--call dir "slow") '(nil . "late")))
      (should (equal (pi-tool-tests--call dir "quick") '(nil . "now")))
      (should (equal (pi-tool-tests--call dir "failing") '(t . "it is broken")))
      (should (equal (pi-tool-tests--call dir "silent")
                     '(t . "no answer after 0.1 seconds")))
      (should-not pi-tool--waiting))))

(ert-deftest pi-tool-tests-abort ()
  "An answer after the abort does nothing."
  (pi-tool-tests--with (slow)
    (let (callback)
      (pi-define-tool slow (_args answer) "Later." :reads t
                      (setq callback answer))
      (pi-tests--in-directory dir
        (let* ((pi-yolo t)
               (pi-model (pi-tests--turns dir (list (pi-tests--call "slow"))
                                          (list (list :text "Done."))))
               (session (pi-prompt "go")))
          (pi-tests--wait (lambda () callback))
          (pi-session-abort session)
          (pi-tests--ended)
          (pi-tests--wait (lambda () (null pi-tool--waiting)))
          (funcall callback "too late")
          (should-not (string-search "too late" (pi-tests--text session))))))))

(ert-deftest pi-tool-tests-sessions ()
  "Running and new sessions have the tools that are on, in their prompts, too."
  (pi-tests--in-directory dir
    (let* ((pi-emacs-tools nil)
           (pi-model (pi-tests--turns dir (list (list :text "Hello."))))
           (session (pi--session-here)))
      (cl-flet ((has (session text)
                     (string-search text (pi-session-info session 'system-prompt))))
        (should-not (has session "emacs_help"))
        (customize-set-variable 'pi-emacs-tools '(emacs-help))
        (pi-tests--wait (lambda () (has session "emacs_help")))
        (should-not (has session "xref_find"))
        (customize-set-variable 'pi-emacs-tools nil)
        (pi-tests--wait (lambda () (not (has session "emacs_help"))))
        (pi-tool-tests--with (my-tool)
          (pi-define-tool my-tool (_args) "Do it." "done")
          (pi-tests--wait (lambda () (has session "my_tool")))
          (pi-session-end session)
          (let ((other (pi--session-here)))
            (pi-tests--wait (lambda () (has other "my_tool")))))
        (pi-tests--wait (lambda () (not (has (car pi-session--all) "my_tool"))))))))

(ert-deftest pi-tool-tests-no-such-tool ()
  (should (eq 'io (car (pi-tool-serve nil 1 "nothing" "{}" "/")))))

;;; The tools that come with pi

(defun pi-tool-tests--shipped (name &rest arguments)
  "The result of the tool NAME with ARGUMENTS."
  (funcall (pi-tool-function (cl-find name pi-tool--all :key #'pi-tool-name))
           arguments #'ignore))

(ert-deftest pi-tool-tests-help ()
  (should (string-search "(save-excursion &rest BODY)"
                         (pi-tool-tests--shipped 'emacs-help :symbol "save-excursion")))
  (let ((text (pi-tool-tests--shipped 'emacs-help :symbol "fill-column")))
    (should (string-prefix-p "Option fill-column" text))
    (should-not (string-search "70" text)))
  (should (string-search "This Emacs has no save-excursio.  It has save-excursion"
                         (pi-tool-tests--shipped 'emacs-help :symbol "save-excursio"))))

(ert-deftest pi-tool-tests-diagnostics ()
  (pi-tests--in-directory dir
    (should (equal (pi-tool-tests--shipped 'project-diagnostics)
                   "The editor checks none of these files."))
    (pi-tests--write (expand-file-name "a.txt" dir) "one\ntwo\n")
    (with-current-buffer (find-file-noselect (expand-file-name "a.txt" dir))
      (add-hook 'flymake-diagnostic-functions
                (lambda (report &rest _)
                  (funcall report
                           (list (flymake-make-diagnostic (current-buffer) 5 8 :error
                                                          "two is wrong")
                                 (flymake-make-diagnostic (current-buffer) 1 2 :warning
                                                          "odd"))))
                nil t)
      (flymake-mode 1)
      (flymake-start)
      (pi-tests--wait (lambda () (flymake-diagnostics))))
    (should (equal (pi-tool-tests--shipped 'project-diagnostics)
                   "a.txt:1:1: warning: odd\na.txt:2:1: error: two is wrong"))
    (should-error (pi-tool-tests--shipped 'project-diagnostics :path "b.txt"))))

(ert-deftest pi-tool-tests-xref ()
  (pi-tests--in-directory dir
    (pi-tests--write (expand-file-name "a.el" dir)
                     "(defun pi-tool-tests-thing () 1)\n(pi-tool-tests-thing)\n")
    (load (expand-file-name "a.el" dir) nil t)
    (find-file-noselect (expand-file-name "a.el" dir))
    (let ((text (pi-tool-tests--shipped 'xref-find :identifier "pi-tool-tests-thing"
                                        :path "a.el" :line 2)))
      (should (string-match-p "\\`a\\.el:1: (defun pi-tool-tests-thing)" text)))
    (should-error (pi-tool-tests--shipped 'xref-find :identifier "nothing"
                                          :path "a.el" :line 2))
    (pi-tests--write (expand-file-name "b.txt" dir) "thing\n")
    (find-file-noselect (expand-file-name "b.txt" dir))
    (let ((err (should-error (pi-tool-tests--shipped 'xref-find :identifier "thing"
                                                     :path "b.txt"))))
      (should (string-search "knows nothing of the language of b.txt" (cadr err))))
    (should (equal "Nothing was found."
                   (pi-tool-tests--shipped 'xref-find :identifier "no-such-thing-xyz"
                                           :path "a.el")))))

(provide 'pi-tool-tests)
;;; pi-tool-tests.el ends here
