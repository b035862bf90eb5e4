;;; pi-transcript.el --- The buffer of a conversation  -*- lexical-binding: t; -*-

;; SPDX-License-Identifier: MIT

;;; Commentary:

;; The mode of transcripts and its keys.
;;
;; `o' calls `pi-output-show' SESSION ID with the id of the tool call at point, if there
;; is such a function; it shows all of the output.

;;; Code:

(require 'pi-questions)
(require 'pi-render)
(require 'pi-session)

(declare-function pi-output-show "pi-output" (session id))

(defun pi-transcript-call-at-point ()
  "The id of the tool call at point, or nil."
  (let ((block (get-text-property (point) 'pi-block)))
    (and block (eq (pi-render-block-kind block) 'tool)
         (pi-render-block-id block))))

(defun pi-show-output ()
  "Show the full output of the tool call at point."
  (interactive)
  (let ((id (or (pi-transcript-call-at-point)
                (user-error "No tool call here"))))
    (if (fboundp 'pi-output-show)
        (pi-output-show pi-session--current id)
      (user-error "The full output cannot be shown"))))

(defun pi-earlier-turns ()
  "Show the whole conversation in a buffer of its own."
  (interactive)
  (user-error "Not yet"))

(defvar pi-session-mode-map
  (let ((map (make-sparse-keymap)))
    (define-key map (kbd "y") #'pi-session-allow)
    (define-key map (kbd "!") #'pi-session-always)
    (define-key map (kbd "N") #'pi-session-deny)
    (define-key map (kbd "C-c C-k") #'pi-session-abort)
    map)
  "Keys of `pi-session-mode'.")

(define-derived-mode pi-session-mode special-mode "Pi"
  "The conversation with an agent.
\\{pi-session-mode-map}"
  (buffer-disable-undo)
  (setq bidi-paragraph-direction 'left-to-right)
  (setq-local bidi-inhibit-bpa t)
  (add-hook 'kill-buffer-hook #'pi-session--buffer-killed nil t))

(defun pi-session--buffer-killed ()
  "End the session of a buffer that is killed."
  (when pi-session--current
    (pi-session-end pi-session--current)))

(defun pi-transcript-make (session)
  "Make the buffer of SESSION."
  (with-current-buffer (generate-new-buffer
                        (format "*pi: %s*" (pi-session-name session)))
    (pi-session-mode)
    (setq pi-session--current session
          pi-render--view (pi-render-view-make)
          default-directory (pi-session-directory session))
    (current-buffer)))

(provide 'pi-transcript)
;;; pi-transcript.el ends here
