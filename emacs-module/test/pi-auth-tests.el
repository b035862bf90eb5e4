;;; pi-auth-tests.el --- Keys that auth-source keeps  -*- lexical-binding: t; -*-

;; SPDX-License-Identifier: MIT

;;; Code:

(require 'ert)
(require 'pi-auth)

(defmacro pi-auth-tests--with (text &rest body)
  "Run BODY with a file of TEXT as the only source."
  (declare (indent 1))
  `(let* ((file (make-temp-file "pi-auth" nil "" ,text))
          (auth-sources (list file))
          (auth-source-do-cache nil))
     (unwind-protect
         (progn ,@body)
       (delete-file file))))

(ert-deftest pi-auth-tests-keys ()
  "The entries of providers, and no others."
  (pi-auth-tests--with "machine api.anthropic login apikey password k1
machine api.openai login apikey password k2
machine api.openai login me password no
machine mail.invalid login apikey password no
machine api.groq login apikey password \"\"\n"
    (should (equal (sort (pi-auth-keys) (lambda (a b) (string< (car a) (car b))))
                   '(("anthropic" . "k1") ("openai" . "k2"))))
    (let ((pi-auth-providers '("openai")))
      (should (equal (pi-auth-keys) '(("openai" . "k2")))))
    (let ((pi-auth-providers nil))
      (should-not (pi-auth-keys)))
    ;; No trace of them.
    (with-current-buffer (messages-buffer)
      (should-not (string-search "k1" (buffer-string))))))

(ert-deftest pi-auth-tests-trouble ()
  "A source that fails is no reason not to start."
  (cl-letf (((symbol-function 'auth-source-search)
             (lambda (&rest _) (error "No passphrase"))))
    (should-not (pi-auth-keys))))

(provide 'pi-auth-tests)
;;; pi-auth-tests.el ends here
