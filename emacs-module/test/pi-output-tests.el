;;; pi-output-tests.el --- The full output of a tool  -*- lexical-binding: t; -*-

;; SPDX-License-Identifier: MIT

;;; Code:

(require 'pi-test-support)
(require 'pi-output)

(defmacro pi-output-tests--showing (directory command &rest body)
  "Run BODY in the buffer with the output of COMMAND, run in DIRECTORY."
  (declare (indent 2))
  `(let* ((pi-yolo t)
          (pi-model (pi-tests--turns ,directory
                                     (list (pi-tests--call "bash" :command ,command))
                                     (list (list :text "Done."))))
          (session (pi-prompt "go")))
     (pi-tests--ended)
     (save-window-excursion
       (pi-output-show session
                       (pi-output-call-id (car (gethash session pi-output--all))))
       ,@body)))

(ert-deftest pi-output-tests-all ()
  "All lines, also those that the model did not get; colours are no text."
  (pi-tests--in-directory dir
    (pi-output-tests--showing dir
        "seq 5000; printf '\\033[31mred\\033[0m\\n10%%\\r100%%\\ndos\\r\\n'"
      (should (string-match-p "\\`\\*pi-output: .*:1\\*\\'" (buffer-name)))
      (goto-char (point-min))
      (should (looking-at-p "1\n2\n3\n"))
      (should (search-forward "\n4999\n5000\nred\n100%\ndos\n" nil t))
      (goto-char (point-min))
      (search-forward "re")
      (should (get-text-property (1- (point)) 'font-lock-face))
      (should buffer-read-only))))

(ert-deftest pi-output-tests-places ()
  "The places that the output names are visited by `next-error'."
  (pi-tests--in-directory dir
    (pi-tests--write (expand-file-name "a.c" dir) "int a;\nint b;\n")
    (pi-output-tests--showing dir "echo hello; echo 'a.c:2:5: error: no'"
      (let ((next-error-last-buffer (current-buffer)))
        (next-error 1 t))
      (should (equal (buffer-name (window-buffer)) "a.c"))
      (with-current-buffer (window-buffer)
        (should (= 2 (line-number-at-pos)))))))

(ert-deftest pi-output-tests-long ()
  "Of a long log the end is shown first, and lines that are too long are broken."
  (pi-tests--in-directory dir
    (let ((pi-output-bytes 20000))
      (pi-output-tests--showing dir
          "seq 100000; head -c 30000 /dev/zero | tr '\\0' x; echo; echo end"
        (should (< (buffer-size) 25000))
        (goto-char (point-min))
        (should (looking-at-p "\\[.* are shown, the end of "))
        (should (search-forward "\nend\n" nil t))
        (goto-char (point-min))
        (while (not (eobp))
          (should (<= (- (line-end-position) (point)) pi-output--columns))
          (forward-line 1))
        (pi-output-show-more)
        (goto-char (point-min))
        (should (search-forward "\n99999\n100000\n" nil t))
        (pi-output-show-more)
        (goto-char (point-min))
        (should (looking-at-p "1\n2\n"))))))

(ert-deftest pi-output-tests-running ()
  "What runs is shown while it does, and is complete at the end."
  (pi-tests--in-directory dir
    (let* ((pi-yolo t)
           (pi-model (pi-tests--turns
                      dir
                      (list (pi-tests--call
                             "bash" :command
                             "echo first; until [ -e go ]; do sleep 0.05; done; echo last"))
                      (list (list :text "Done."))))
           (session (pi-prompt "go")))
      (pi-tests--wait (lambda () (string-search "\nfirst" (pi-tests--text session))))
      (save-window-excursion
        (pi-output-show session
                        (pi-output-call-id (car (gethash session pi-output--all))))
        (should (equal (buffer-string) "first\n"))
        (should (string-search "[running]" (pi-output--header)))
        (pi-tests--write (expand-file-name "go" dir) "")
        (pi-tests--ended)
        (should (equal (buffer-string) "first\nlast\n"))
        (should-not (string-search "[running]" (pi-output--header)))))))

(provide 'pi-output-tests)
;;; pi-output-tests.el ends here
