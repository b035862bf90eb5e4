;;; pi-auth.el --- Keys that auth-source keeps  -*- lexical-binding: t; -*-

;; SPDX-License-Identifier: MIT

;;; Commentary:

;; A key for a provider may stand in ~/.authinfo.gpg, or whatever else is among
;; `auth-sources', as
;;
;;   machine api.anthropic login apikey password THE-KEY
;;
;; It is asked for when a command starts a session, since that may need a passphrase, and
;; given to the agent of that session.  No key is written anywhere.

;;; Code:

(require 'auth-source)
(require 'seq)

(defcustom pi-auth-providers
  '("anthropic" "openai" "openrouter" "google" "xai" "deepseek" "moonshotai" "zai"
    "mistral" "groq" "cerebras" "azure-openai-responses" "vercel-ai-gateway" "minimax"
    "minimax-cn" "fireworks" "opencode" "kimi-coding" "cloudflare-workers-ai" "xiaomi")
  "Providers whose keys are looked for with auth-source.
The entry of a provider has the host \"api.PROVIDER\" and the user
\"apikey\".  Keys of the settings and of the environment come first.  Nil
means not to use auth-source."
  :type '(repeat string)
  :group 'pi
  :package-version '(pi . "0.1.0"))

(defun pi-auth--pair (entry)
  "The provider and key (PROVIDER . KEY) in ENTRY of auth-source, or nil."
  (let* ((secret (plist-get entry :secret))
         (key (if (functionp secret) (funcall secret) secret))
         (host (plist-get entry :host)))
    (and (stringp key) (not (equal key ""))
         (stringp host) (string-prefix-p "api." host)
         (cons (substring host 4) key))))

(defun pi-auth-keys ()
  "The keys that auth-source has, as a list of (PROVIDER . KEY).
This may ask for a passphrase, so it is for commands of the user only."
  (when pi-auth-providers
    (condition-case err
        (delq nil
              (mapcar #'pi-auth--pair
                      (auth-source-search
                       :host (mapcar (lambda (provider) (concat "api." provider))
                                     pi-auth-providers)
                       :user "apikey" :require '(:secret)
                       :max (length pi-auth-providers))))
      (error
       (message "Pi has no keys of auth-source: %s" (error-message-string err))
       nil))))

(provide 'pi-auth)
;;; pi-auth.el ends here
