;;; pi-menu.el --- A menu of the commands  -*- lexical-binding: t; -*-

;; SPDX-License-Identifier: MIT

;;; Commentary:

;; The commands as a transient menu.  Loaded when it is asked for.

;;; Code:

(require 'pi)
(require 'transient)

(defun pi-menu--title ()
  "What the session does, for the title of the menu."
  (let ((session (pi-session-nearest)))
    (if session
        (format "%s: %s" (pi-session-name session) (pi-header-state session))
      "No conversation yet")))

(transient-define-prefix pi-menu-show ()
  "The commands of pi."
  [:description pi-menu--title
                ["Talk"
                 ("p" "prompt" pi-prompt)
                 ("c" "compose" pi-compose)
                 ("s" "steer" pi-steer)
                 ("a" "add context" pi-add-context)
                 ("k" "abort" pi-abort)
                 ("C" "continue" pi-continue)]
                ["Look"
                 ("i" "conversation" pi)
                 ("y" "question" pi-answer)
                 ("d" "changes" pi-changes)
                 ("$" "usage" pi-usage)
                 ("Q" "clear queue" pi-clear-queue)
                 ("!" "report" pi-report)]
                ["Session"
                 ("n" "new" pi-new)
                 ("l" "list" pi-list-sessions)
                 ("r" "resume" pi-resume)
                 ("R" "rename" pi-rename-session)
                 ("m" "model" pi-select-model)
                 ("t" "thinking" pi-select-thinking)]])

(provide 'pi-menu)
;;; pi-menu.el ends here
