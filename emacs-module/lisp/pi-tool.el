;;; pi-tool.el --- Tools written in Lisp  -*- lexical-binding: t; -*-

;; SPDX-License-Identifier: MIT

;;; Commentary:

;; `pi-define-tool' defines a tool that the agent may call and that runs in this Emacs:
;;
;;   (pi-define-tool word-count (args)
;;     "Count the words of a text."
;;     :parameters ((text string "The text."))
;;     :reads t
;;     (number-to-string (length (split-string (plist-get args :text)))))
;;
;; Sessions that run get it with their next turn.  The body runs where Emacs handles
;; events: nothing else happens meanwhile, so it should be short.  It has a time limit,
;; which counts while it waits, and a quit ends it.  With a second argument it may return
;; at once and answer later.  What goes wrong the model is told.

;;; Code:

(require 'cl-lib)
(require 'pi-session)
(require 'seq)
(require 'subr-x)

(defcustom pi-emacs-tools nil
  "Which of the tools that come with pi the agent may use.
They show it what this Emacs knows; see pi-tools.el."
  :type '(set (const :tag "Diagnostics of Flymake" project-diagnostics)
              (const :tag "Definitions and references" xref-find)
              (const :tag "Documentation of Lisp" emacs-help))
  :set (lambda (symbol value)
         (set-default symbol value)
         (when (featurep 'pi-tool)
           (pi-tool--refresh)))
  :group 'pi
  :package-version '(pi . "0.1.0"))

(defcustom pi-tool-seconds 10
  "How long a tool written in Lisp may take, unless it says otherwise."
  :type 'number
  :group 'pi
  :package-version '(pi . "0.1.0"))

(defcustom pi-tool-max-characters 40000
  "How long a result of a tool written in Lisp may be."
  :type 'natnum
  :group 'pi
  :package-version '(pi . "0.1.0"))

(cl-defstruct (pi-tool (:constructor pi-tool--make) (:copier nil))
  "A tool."
  name                                  ; a symbol
  function                              ; of ARGS and ANSWER
  fields                                ; a plist for the command add-tool
  later                                 ; whether it answers by ANSWER
  seconds
  shipped)                              ; only on when `pi-emacs-tools' has it

(defvar pi-tool--all nil
  "The tools, newest first.")

(defvar pi-tool--given (make-hash-table :test #'eq :weakness 'key)
  "Session -> names of the tools that it has.")

(defvar pi-tool--waiting nil
  "(SESSION REQUEST . TIMER) of calls that will be answered later.")

;;; Definition

(defun pi-tool--external-name (name)
  "The name of the tool NAME for the model."
  (string-replace "-" "_" (symbol-name name)))

(defun pi-tool--schema (parameters)
  "The JSON schema of PARAMETERS, (NAME TYPE DESCRIPTION), perhaps with &optional."
  (let ((optional nil)
        properties required)
    (dolist (parameter parameters)
      (pcase parameter
        ('&optional (setq optional t))
        (`(,name ,type ,description)
         (push (intern (format ":%s" name)) properties)
         (push (list :type (symbol-name type) :description description) properties)
         (unless optional
           (push (symbol-name name) required)))))
    (json-serialize (list :type "object"
                          :properties (or (nreverse properties) (make-hash-table))
                          :required (vconcat (nreverse required))))))

(defun pi-tool-register (name function description &rest keys)
  "Make FUNCTION, of arguments and a callback, the tool NAME with DESCRIPTION.
KEYS are those of `pi-define-tool', and :later."
  (let ((tool (pi-tool--make
               :name name :function function
               :later (plist-get keys :later)
               :seconds (plist-get keys :seconds)
               :shipped (plist-get keys :shipped)
               :fields (list :name (pi-tool--external-name name)
                             :label (plist-get keys :label)
                             :description description
                             :parameters (pi-tool--schema (plist-get keys :parameters))
                             :snippet (or (plist-get keys :snippet)
                                          (car (split-string description "\n")))
                             :title (plist-get keys :title)
                             :reads (plist-get keys :reads)))))
    (setq pi-tool--all (cons tool (cl-remove name pi-tool--all :key #'pi-tool-name)))
    (dolist (session pi-session--all)
      (puthash session (delq name (gethash session pi-tool--given)) pi-tool--given))
    (pi-tool--refresh)
    name))

;;;###autoload
(defmacro pi-define-tool (name arguments description &rest body)
  "Define a tool NAME that the agent may call.
DESCRIPTION tells the model what it does and when to use it.

BODY runs with the first of ARGUMENTS bound to a plist of what the model
gave, for instance (:text \"…\"), in the session's directory.  Its value is
the result, a string; other values are printed.  An error is a failure of
the call.  When ARGUMENTS has a second symbol it is bound to a function
that takes the result, and non-nil as a second argument for a failure;
then the value of BODY does not count, and the function may be called
later.

Before BODY may stand these keys:
:parameters  a list of (NAME TYPE DESCRIPTION) with TYPE one of string,
             integer, number, boolean; those after &optional may be missing
:reads       non-nil if it changes nothing: then it runs without asking
:snippet     a line for the system prompt
:title       how a call is shown, text with {NAME} for arguments
:label       its name for people
:seconds     how long it may take, instead of the option `pi-tool-seconds'"
  (declare (indent 2) (doc-string 3)
           (debug (&define name lambda-list stringp def-body)))
  (let (keys)
    (while (keywordp (car body))
      (push (pop body) keys)
      (push (pop body) keys))
    (setq keys (nreverse keys))
    (let ((args (or (nth 0 arguments) (make-symbol "_args")))
          (answer (or (nth 1 arguments) (make-symbol "_answer"))))
      `(pi-tool-register
        ',name
        (lambda (,args ,answer) ,@body)
        ,description
        :later ,(and (nth 1 arguments) t)
        ,@(cl-loop for (key value) on keys by #'cddr
                   append (list key (if (eq key :parameters) `',value value)))))))

(defun pi-tool-remove (name)
  "Take the tool NAME away from all sessions."
  (setq pi-tool--all (cl-remove name pi-tool--all :key #'pi-tool-name))
  (pi-tool--refresh))

;;; Giving them to sessions

(defvar pi-tool--loading nil
  "Non-nil while the tools that come with pi are loaded.")

(defun pi-tool--on-p (tool)
  "Whether the agent may use TOOL."
  (or (not (pi-tool-shipped tool))
      (memq (pi-tool-name tool) pi-emacs-tools)))

(defun pi-tool--give (session)
  "Let SESSION have the tools that are on, and no others."
  (when (and pi-emacs-tools (null pi-tool--loading) (not (featurep 'pi-tools)))
    (let ((pi-tool--loading t))
      (require 'pi-tools)))
  (let ((wanted (seq-filter #'pi-tool--on-p pi-tool--all))
        (given (gethash session pi-tool--given)))
    (dolist (name given)
      (unless (cl-find name wanted :key #'pi-tool-name)
        (pi-tool--command session 'remove-tool :name (pi-tool--external-name name))))
    (dolist (tool wanted)
      (unless (memq (pi-tool-name tool) given)
        (apply #'pi-tool--command session 'add-tool (pi-tool-fields tool))))
    (puthash session (mapcar #'pi-tool-name wanted) pi-tool--given)))

(defun pi-tool--command (session name &rest fields)
  "Let SESSION do NAME with FIELDS; what is wrong with a tool is shown."
  (condition-case err
      (apply #'pi-session-command session name fields)
    (error (message "Pi, tool %s: %s" (plist-get fields :name)
                    (error-message-string err)))))

(defun pi-tool--refresh ()
  "Let all sessions have the tools that are on."
  (mapc #'pi-tool--give pi-session--all))

;;; Calls

(defun pi-tool--text (value)
  "VALUE, the result of a tool, as a text that is not too long."
  (let* ((text (cond ((stringp value) value)
                     ((null value) "")
                     (t (format "%S" value))))
         (more (- (length text) pi-tool-max-characters)))
    (if (> more 0)
        (format "%s\n[%d more characters were left out]"
                (substring text 0 pi-tool-max-characters) more)
      text)))

(defun pi-tool--ok (value)
  "The answer with VALUE."
  (list 'ok :text (pi-tool--text value)))

(defun pi-tool--failure (format &rest args)
  "The answer that says with FORMAT and ARGS what went wrong."
  (list 'io :message (pi-tool--text (apply #'format format args))))

(defun pi-tool--take (session request)
  "Return whether REQUEST of SESSION still waits; it does no more."
  (let ((entry (cl-find-if (lambda (entry)
                             (and (eq (car entry) session) (eql (cadr entry) request)))
                           pi-tool--waiting)))
    (when entry
      (when (timerp (cddr entry))
        (cancel-timer (cddr entry)))
      (setq pi-tool--waiting (delq entry pi-tool--waiting))
      t)))

(defun pi-tool--answer-later (session request answer)
  "Give ANSWER to REQUEST of SESSION if it still waits."
  (when (pi-tool--take session request)
    (pi-session-answer session request (car answer) (cdr answer))))

(defun pi-tool--wait (session request seconds)
  "Let REQUEST of SESSION wait for its answer for SECONDS."
  (push (cons session
              (cons request
                    (run-at-time seconds nil #'pi-tool--answer-later session request
                                 (pi-tool--failure "no answer after %s seconds"
                                                   seconds))))
        pi-tool--waiting))

(defun pi-tool--call (tool arguments answer)
  "Call TOOL with ARGUMENTS and ANSWER; return (ok . VALUE) or a failure."
  (let ((seconds (or (pi-tool-seconds tool) pi-tool-seconds)))
    (condition-case err
        (let ((inhibit-interaction t)
              (inhibit-message t)
              (inhibit-quit nil))
          (with-timeout (seconds (pi-tool--failure "not done after %s seconds" seconds))
            (cons 'value (save-current-buffer
                           (save-match-data
                             (funcall (pi-tool-function tool) arguments answer))))))
      (quit (pi-tool--failure "the user interrupted it"))
      (inhibited-interaction
       (pi-tool--failure "it wanted to ask the user something, which a tool must not"))
      (error (pi-tool--failure "%s" (error-message-string err))))))

(defun pi-tool-serve (session request name arguments directory)
  "Run tool NAME with ARGUMENTS, JSON, in DIRECTORY for REQUEST of SESSION.
Return an answer, or nil if it comes later."
  (let ((tool (cl-find name pi-tool--all :test #'equal
                       :key (lambda (tool)
                              (pi-tool--external-name (pi-tool-name tool)))))
        (default-directory (file-name-as-directory directory)))
    (if (not tool)
        (pi-tool--failure "this Emacs has no tool %s any more" name)
      (pi-tool--run tool session request
                    (json-parse-string arguments :object-type 'plist :array-type 'list
                                       :null-object nil :false-object nil)))))

(defun pi-tool--run (tool session request arguments)
  "Run TOOL with ARGUMENTS for REQUEST of SESSION and return its answer or nil."
  (when (pi-tool-later tool)
    (pi-tool--wait session request (or (pi-tool-seconds tool) pi-tool-seconds)))
  (let ((outcome (pi-tool--call
                  tool arguments
                  (lambda (value &optional failed)
                    (pi-tool--answer-later session request
                                           (if failed
                                               (pi-tool--failure "%s" value)
                                             (pi-tool--ok value)))))))
    (cond ((and (eq (car outcome) 'value) (pi-tool-later tool)) nil)
          ((eq (car outcome) 'value) (pi-tool--ok (cdr outcome)))
          ((pi-tool-later tool) (and (pi-tool--take session request) outcome))
          (t outcome))))

(defun pi-tool--withdrawn (session request)
  "SESSION no longer waits for REQUEST."
  (pi-tool--take session request))

(add-hook 'pi-session-start-functions #'pi-tool--give)
(add-hook 'pi-session-withdraw-functions #'pi-tool--withdrawn)

(provide 'pi-tool)
;;; pi-tool.el ends here
