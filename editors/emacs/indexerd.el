;;; indexerd.el --- Search documents with the indexerd daemon -*- lexical-binding: t; -*-

;; Package-Requires: ((emacs "28.1"))
;; Keywords: matching, tools

;;; Commentary:

;; `M-x indexerd' searches and lists the hits as xref does: RET goes to the
;; line, n and p move.  `M-x indexerd-insert-citation' cites the best hit at
;; point.  Both ask the daemon over its socket, in JSON lines.

;;; Code:

(require 'json)
(require 'subr-x)
(require 'xref)

(defgroup indexerd nil
  "Search documents with the indexerd daemon."
  :group 'matching)

(defcustom indexerd-socket nil
  "Ask the daemon at this socket, and no other."
  :type '(choice (const :tag "Find it" nil) file))

(defcustom indexerd-profile nil
  "Ask the daemon of this profile."
  :type '(choice (const :tag "Find it" nil) string))

(defcustom indexerd-limit 30
  "Hits at most."
  :type 'natnum)

(defcustom indexerd-timeout 10
  "A daemon that says nothing for so many seconds is given up."
  :type 'number)

(defcustom indexerd-parameters nil
  "Further parameters of the method `query', as an alist for `json-serialize'.
For example ((roles . [\"board\"]) (paths . [\"!drafts/\"]))."
  :type '(alist :key-type symbol))

(defconst indexerd--none
  "no daemon runs: start one with `indexerd watch ROOT' in a shell")

(defun indexerd--problem (format &rest arguments)
  "Signal a problem that the user can do something about.
FORMAT and ARGUMENTS are as in `format'."
  (user-error "%s" (concat "indexerd: " (apply #'format format arguments))))

(defun indexerd--call (socket method parameters)
  "Ask the daemon at SOCKET for METHOD with PARAMETERS; return its result."
  (let ((buffer (generate-new-buffer " *indexerd*" t)) process)
    (unwind-protect
        (with-current-buffer buffer
          (setq process
                (condition-case nil
                    (make-network-process
                     :name "indexerd" :family 'local :service socket :buffer buffer
                     :coding 'utf-8-unix :noquery t :sentinel #'ignore)
                  (file-error (indexerd--problem "no daemon answers at %s" socket))))
          (process-send-string
           process
           (concat (json-serialize
                    `((id . 1) (method . ,method) (params . ((protocol . 1) ,@parameters))))
                   "\n"))
          (indexerd--wait process)
          (goto-char (point-min))
          (let ((reply (json-parse-buffer :object-type 'alist :null-object nil)))
            (when-let ((problem (alist-get 'error reply)))
              (indexerd--problem "%s" (alist-get 'message problem)))
            (alist-get 'result reply)))
      (when process (delete-process process))
      (kill-buffer buffer))))

(defun indexerd--wait (process)
  "Wait for a whole line of PROCESS in the current buffer."
  (let ((end (time-add nil indexerd-timeout)))
    (while (not (eq (char-before (point-max)) ?\n))
      (unless (and (time-less-p nil end) (process-live-p process))
        (indexerd--problem "the daemon does not answer"))
      (accept-process-output process 0.1))))

(defun indexerd--runtime-directory ()
  "Return the directory of the user's sockets; nil unless it is private."
  (let* ((place (getenv "XDG_RUNTIME_DIR"))
         (folder (if (and place (string-prefix-p "/" place))
                     (expand-file-name "indexerd" place)
                   (format "/tmp/indexerd-%d" (user-uid))))
         (found (file-attributes folder 'integer)))
    (and found
         (eq (file-attribute-type found) t)
         (= (file-attribute-user-id found) (user-uid))
         (zerop (logand (file-modes folder 'nofollow) #o022))
         folder)))

(defun indexerd--roots (socket)
  "Return the roots of the daemon at SOCKET; `none' if none answers there."
  (condition-case nil
      (mapcar (lambda (root) (alist-get 'path root))
              (alist-get 'roots (indexerd--call socket "status" nil)))
    (user-error 'none)))

(defun indexerd--choose (sockets)
  "Return the one of SOCKETS whose innermost root holds this directory."
  (let ((length -1) best running)
    (dolist (socket sockets)
      (let ((roots (indexerd--roots socket)))
        (unless (eq roots 'none)
          (push socket running)
          (dolist (root roots)
            (when (and (> (length root) length) (file-in-directory-p default-directory root))
              (setq best socket length (length root)))))))
    (cond
     (best)
     ((null running) (indexerd--problem "%s" indexerd--none))
     ((null (cdr running)) (car running))
     (t (indexerd--problem
         "several daemons run and none has a root that holds this folder; set `indexerd-profile': %s"
         (mapconcat #'file-name-base (nreverse running) ", "))))))

(defun indexerd--find ()
  "Return the socket of the daemon that is meant, as the command line finds it."
  (let ((environment (getenv "INDEXERD_SOCKET"))
        (folder (indexerd--runtime-directory)))
    (cond
     (indexerd-socket (expand-file-name indexerd-socket))
     (indexerd-profile (expand-file-name (concat indexerd-profile ".sock") folder))
     ((and environment (not (string-empty-p environment))) (expand-file-name environment))
     (t (let ((sockets (and folder (directory-files folder t "\\.sock\\'"))))
          (cond
           ((null sockets) (indexerd--problem "%s" indexerd--none))
           ((null (cdr sockets)) (car sockets))
           (t (indexerd--choose sockets))))))))

(defun indexerd--hits (text limit)
  "Return at most LIMIT hits for TEXT; none is a problem."
  (let* ((result (indexerd--call
                  (indexerd--find) "query"
                  `((text . ,text) (k . ,limit) ,@indexerd-parameters)))
         (freshness (alist-get 'freshness result))
         (problem (alist-get 'code (alist-get 'problem freshness)))
         (hits (append (alist-get 'hits result) nil))
         (unmatched (append (alist-get 'unmatched result) nil)))
    (or hits
        (indexerd--problem
         "nothing found%s%s"
         (if unmatched (concat "; in no document: " (string-join unmatched ", ")) "")
         (pcase (if problem "problem" (alist-get 'state freshness))
           ("problem" (concat "; see `indexerd doctor`: " problem))
           ("building" "; the first index is being built")
           ("pending" "; not everything is indexed yet")
           (_ ""))))))

(defun indexerd--path (hit)
  "Return the file of HIT, exactly, also where its name is not UTF-8."
  (or (alist-get 'path hit)
      (decode-coding-string (base64-decode-string (alist-get 'path_b64 hit)) 'utf-8-unix)))

(defun indexerd--flat (text)
  "Return TEXT without control characters."
  (string-trim-right (replace-regexp-in-string "[[:cntrl:]]+" " " text)))

(defun indexerd--xref (hit)
  "Return HIT as an entry of a list."
  (let* ((line (alist-get 'line hit))
         (lines (split-string (alist-get 'text hit) "\n"))
         (text (or (nth (- line (alist-get 'start_line hit)) lines) ""))
         (bytes (encode-coding-string text 'utf-8-unix))
         (before (substring bytes 0 (min (length bytes) (1- (alist-get 'column hit)))))
         (column (length (decode-coding-string before 'utf-8-unix))))
    (xref-make (indexerd--flat text)
               (xref-make-file-location (indexerd--path hit) line column))))

;;;###autoload
(defun indexerd (text)
  "Search for TEXT and list the hits; see `indexerd-parameters' for more."
  (interactive (list (read-string "Search: ")))
  (let ((found (mapcar #'indexerd--xref (indexerd--hits text indexerd-limit))))
    (xref-push-marker-stack)
    (funcall xref-show-xrefs-function (lambda () found)
             `((window . ,(selected-window)) (display-action) (auto-jump)))))

(defun indexerd--wrapped (citation)
  "Return CITATION in brackets of a kind that it does not hold."
  (let ((pair (seq-find (lambda (pair) (not (seq-intersection pair citation)))
                        '("[]" "<>" "``" "\"\"" "()"))))
    (if pair (concat (substring pair 0 1) citation (substring pair 1)) citation)))

;;;###autoload
(defun indexerd-insert-citation (text &optional choose)
  "Insert the full citation of the best hit for TEXT at point.
With a prefix argument CHOOSE, choose among the hits."
  (interactive (list (read-string "Cite: ") current-prefix-arg))
  (let* ((hits (indexerd--hits text (if choose indexerd-limit 1)))
         (named (mapcar (lambda (hit) (cons (indexerd--flat (alist-get 'citation hit)) hit)) hits))
         (hit (if choose
                  (alist-get (completing-read "Citation: " named nil t) named nil nil #'equal)
                (car hits))))
    (insert (indexerd--wrapped
             (concat (alist-get 'citation hit) "@sha256:" (alist-get 'content_hash hit))))))

(provide 'indexerd)
;;; indexerd.el ends here
