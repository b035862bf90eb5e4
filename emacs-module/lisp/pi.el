;;; pi.el --- A coding agent  -*- lexical-binding: t; -*-

;; Author: The pi authors
;; Maintainer: The pi authors
;; URL: https://pi.invalid/
;; Version: 0.1.0
;; Package-Requires: ((emacs "28.1"))
;; Keywords: tools, convenience, processes
;; SPDX-License-Identifier: MIT

;;; Commentary:

;; M-x pi-prompt asks for a text and sends it to the agent of the current project.  The
;; conversation is shown in a buffer that is displayed and not selected; files that are
;; open in Emacs are read from and changed in their buffers.

;;; Code:

(require 'project)
(require 'pi-session)

(defcustom pi-model nil
  "The model to talk to, for instance \"replay:FILE\"; nil means the default."
  :type '(choice (const :tag "Default" nil) string)
  :group 'pi
  :package-version '(pi . "0.1.0"))

(defcustom pi-yolo nil
  "Non-nil means that tools run without asking."
  :type 'boolean
  :group 'pi
  :package-version '(pi . "0.1.0"))

(defvar pi-prompt-history nil
  "Prompts that were read in the minibuffer.")

(defun pi--directory ()
  "The root of the current project, or the current directory."
  (let ((project (project-current)))
    (expand-file-name (if project (project-root project) default-directory))))

(defun pi--session ()
  "The session of the current buffer or project, or a new one."
  (let ((directory (pi--directory)))
    (or pi-session--current
        (seq-find (lambda (session) (equal (pi-session-directory session) directory))
                  pi-session--all)
        (pi-session-create directory (list :model pi-model :yolo pi-yolo)))))

;;;###autoload
(defun pi-prompt (text)
  "Send TEXT to the agent of the current project and show the conversation.
While the agent works, the text waits until it is done."
  (interactive (list (read-string "Prompt: " nil 'pi-prompt-history)))
  (let ((session (pi--session)))
    (pi-session-send session text)
    (display-buffer (pi-session-buffer session))
    session))

(provide 'pi)
;;; pi.el ends here
