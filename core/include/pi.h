#pragma once

/**
 * pi: a coding agent as a library. The only public header of the core.
 *
 * A face (terminal, editor) creates an agent, sends it prompts, and calls
 * pi_agent_dispatch() whenever it was woken: there the events are delivered and the face
 * lends its buffers. The agent works on threads of its own and never calls the face from
 * them, wake() excepted.
 *
 * All strings are UTF-8 and NUL-terminated unless a length stands beside them; all of
 * them are copied by the call that takes them. Nothing here blocks, pi_agent_destroy()
 * excepted.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#define PI_VERSION "0.1.0"

/** Marks what the library exports; everything else is hidden. */
#define PI_API __attribute__((visibility("default")))

/** Outcome of a call; also of what happens inside. */
enum pi_status {
    PI_OK = 0,
    PI_NOMEM,         // out of memory; nothing was changed
    PI_INVALID,       // the caller's input is wrong
    PI_NOT_FOUND,     // no such file, tool, model
    PI_DENIED,        // permission of the system or of the user is missing
    PI_IO,            // the system reported a failure
    PI_LIMIT,         // larger than allowed
    PI_ABORTED,       // the user stopped it
    PI_TIMEOUT,       // a deadline passed
    PI_STALE,         // the text moved on since the snapshot
    PI_CONFLICT,      // only the user can decide; nothing was changed
    PI_HOST_NOT_OPEN, // the editor does not have this file; the disk is the truth
    PI_BUSY,          // not now: a nested dispatch, or a run is under way
    PI_MORE,          // work is left: call again
    PI_CLOSED,        // the agent or the stream is at its end
    PI_UNSUPPORTED,   // this system or build cannot do it
};

/** Code and words of a failure. No allocation; the message is one or more lines of UTF-8.
 */
struct pi_error {
    enum pi_status code;
    char message[512];
};

/** A short name of a status ("not found"). Static. */
PI_API const char *pi_status_name(enum pi_status status);

/** The version of the library, to compare with PI_VERSION. Static. */
PI_API const char *pi_version(void);

typedef struct pi_agent pi_agent;
typedef struct pi_event pi_event;

/** What the product knows about a tool; made by pi_tools.h. */
struct pi_tool_definition;

/* -- the face's files -- */

/** What the agent asks of the face's buffers. */
enum pi_host_op {
    PI_HOST_READ,      // the text of a buffer, for looking at
    PI_HOST_SNAPSHOT,  // the text and its version, for changing
    PI_HOST_APPLY,     // make these changes as one undo step if the version still holds
    PI_HOST_CALL_TOOL, // run a tool that the face added
    PI_HOST_BEFORE_COMMAND, // a command is about to run: save what it should see
};

/** Replaces `length` bytes at `offset` by `text`. Offsets are bytes of the snapshot's
 * text. */
struct pi_change {
    size_t offset;
    size_t length;
    const char *text;
    size_t text_len;
};

/**
 * A request to the face, valid during the callback only. Changes are sorted by offset and
 * do not overlap.
 */
struct pi_host_request {
    uint64_t id; // names the request in pi_agent_answer_host()
    enum pi_host_op op;
    const char *path; // the real path of the file, which need not exist on disk;
                      // CALL_TOOL and BEFORE_COMMAND: the directory where it would run
    uint64_t version; // APPLY: the version that the snapshot's answer gave
    const struct pi_change *changes;
    size_t changes_len;
    const char *tool;      // CALL_TOOL: its name
    const char *arguments; // CALL_TOOL: a JSON object; BEFORE_COMMAND: the command
    size_t arguments_len;
};

/** The face's answer. What the op does not need stays zero. */
struct pi_host_answer {
    /**
     * PI_OK; PI_HOST_NOT_OPEN (READ and SNAPSHOT: not in a buffer); PI_STALE (APPLY: the
     * version moved on); PI_CONFLICT (buffer and disk both changed, read-only, new text
     * that the file's encoding cannot hold); PI_IO and others with a message. CALL_TOOL:
     * what is not PI_OK is a failure of the tool, which the model is told.
     * BEFORE_COMMAND: the command runs after PI_OK and PI_HOST_NOT_OPEN, else it does
     * not.
     */
    enum pi_status status;
    const char *message; // for the user and the model when not PI_OK; may be NULL
    /**
     * READ, SNAPSHOT: the whole text as UTF-8, LF or CRLF as shown. APPLY: the whole text
     * afterwards when the face altered it (format on save); NULL = as sent. CALL_TOOL:
     * the result for the model.
     */
    const char *text;
    size_t text_len;
    uint64_t version; // SNAPSHOT: change tick; APPLY: the tick afterwards
    bool unsaved;     // the text differs from the disk
    bool saved;       // APPLY: the file was written, too
};

/** The face's side of the host. All callbacks run inside pi_agent_dispatch(). */
struct pi_host {
    /** Takes a request. Answer now or later with pi_agent_answer_host(), from the face's
     * thread. */
    void (*request)(void *data, const struct pi_host_request *request);
    /** The agent no longer waits for this request (aborted); may be NULL. */
    void (*withdraw)(void *data, uint64_t id);
};

/* -- the agent -- */

/** When a call may run without asking. */
enum pi_permissions {
    PI_PERMISSIONS_ASK, // ask for commands, added tools and changes outside the workspace
    PI_PERMISSIONS_YOLO, // never ask
};

/** When the user sees a change of a file. */
enum pi_review {
    PI_REVIEW_AFTER,  // it is made at once; the face shows it
    PI_REVIEW_BEFORE, // a question with the diff comes first, whatever the permissions
};

/** A key that the face keeps, e.g. in a keyring. */
struct pi_key {
    const char *provider; // "anthropic", "openai", ...
    const char *key;
};

/** Start with PI_AGENT_OPTIONS_INIT. NULL means the default that the comment names. */
struct pi_agent_options {
    uint32_t version; // PI_AGENT_OPTIONS_VERSION

    const char *cwd;                // session directory; absolute; required
    const char *agent_dir;          // $PI_CODING_AGENT_DIR, else ~/.pi/agent
    const char *const *environment; // "K=V", NULL-terminated; for commands; else environ

    /**
     * Which model answers: "id", "provider/id", a part of an id or name, each with
     * ":LEVEL" behind it if wanted, or "replay:FILE". Else the settings' default, else
     * the first that has a key, else one of a server on this machine. It is looked for
     * when the first prompt needs it.
     */
    const char *model;
    const char *provider;      // only models of this one
    const char *api_key;       // for the provider of that model; needs model or provider
    const struct pi_key *keys; // for providers that have no key of their own otherwise
    size_t keys_len;
    const char *thinking; // off, minimal, low, medium, high, xhigh; else the settings'

    const char *tools;         // a preset (coding, read-only, all) or a,b,c; else coding
    const char *system_prompt; // replaces the default one: a file's path or literal text
    const char *const *append_system_prompt; // NULL-terminated list, files or text
    bool no_context_files;                   // do not read AGENTS.md, CLAUDE.md
    enum pi_permissions permissions;
    enum pi_review review;
    const char *restrict_dir; // read and change files below this folder only
    const char *session;     // file of a session to go on with, in the session's own cwd;
                             // a new one begins there when there is none or it is empty
    const char *session_dir; // folder of new ones: $PI_CODING_AGENT_SESSION_DIR, else
                             // sessionDir of the settings, else one below agent_dir
    bool no_session;         // keep the conversation in memory only
    const char *guard_path;  // pi-guard; else found relative to the program or module
    const char *log_path;    // state log; else none

    /** The tools that exist; borrowed until destroy. pi_tools_builtin() of pi_tools.h. */
    const struct pi_tool_definition *const *definitions;
    size_t definitions_len;

    const struct pi_host *host; // the face's buffers; NULL: files on disk only
    void *host_data;

    /**
     * Called from any thread when the empty mailbox got something: arrange for a dispatch
     * on the face's thread. Must not block and must not call pi. Not called any more once
     * pi_agent_destroy() has returned.
     */
    void (*wake)(void *data);
    void *wake_data;
};

#define PI_AGENT_OPTIONS_VERSION 1
#define PI_AGENT_OPTIONS_INIT                                                            \
    {                                                                                    \
        .version = PI_AGENT_OPTIONS_VERSION                                              \
    }

/**
 * Starts an agent. Reads settings, prompts and context files; makes no request.
 * Errors: PI_INVALID (options; the message names the one), PI_NOT_FOUND (cwd, guard),
 * PI_NOMEM.
 */
PI_API enum pi_status pi_agent_create(pi_agent **out,
                                      const struct pi_agent_options *options,
                                      struct pi_error *err);

/**
 * Aborts what runs (300 ms of grace for commands), joins the threads and frees the agent.
 * Inside a dispatch it takes effect when the outermost dispatch returns. Accepts NULL.
 */
PI_API void pi_agent_destroy(pi_agent *agent);

/** An image for a prompt. */
struct pi_image {
    const char *mime_type;
    const char *data; // base64
};

/**
 * Whether images are to be made smaller before they are sent: the setting
 * images.autoResize for cwd and agent_dir of *options. Reads files.
 */
PI_API bool pi_images_resize(const struct pi_agent_options *options);

/** How a prompt meets a run that is under way. */
enum pi_delivery {
    PI_DELIVER_PROMPT,    // PI_BUSY while a run is under way
    PI_DELIVER_STEER,     // before the next model call
    PI_DELIVER_FOLLOW_UP, // when the run would end
};

/**
 * Sends a message of the user. Whether the run may start is known at return; how it went
 * comes as events. Steering and follow-up messages start a run when none is under way.
 */
PI_API enum pi_status pi_agent_prompt(pi_agent *agent, const char *text,
                                      const struct pi_image *images, size_t images_len,
                                      enum pi_delivery delivery, struct pi_error *err);

/** Goes on from the transcript as it is, e.g. after an error. PI_BUSY, PI_INVALID
 * (nothing). */
PI_API enum pi_status pi_agent_continue(pi_agent *agent, struct pi_error *err);

/** Ends the run: the model's stream, the tools and the questions. Legal anywhere. */
PI_API void pi_agent_abort(pi_agent *agent);

/** One at a time (default) or all waiting messages at once. */
PI_API void pi_agent_set_queue_mode(pi_agent *agent, enum pi_delivery queue, bool all);

/** Drops the waiting messages; they come back in a queue_update event with `dropped`. */
PI_API void pi_agent_clear_queue(pi_agent *agent);

/** The tools of the next turn on: as the option `tools`. PI_INVALID names an unknown one.
 */
PI_API enum pi_status pi_agent_set_tools(pi_agent *agent, const char *tools,
                                         struct pi_error *err);

/** A tool that the face runs: host->request() gets PI_HOST_CALL_TOOL. */
struct pi_added_tool {
    const char *name;        // [a-z][a-z0-9_]*, up to 64; not that of a built-in tool
    const char *label;       // for people; NULL = the name
    const char *description; // for the model
    const char *parameters;  // a JSON schema of type object; NULL = no parameters
    const char *snippet;     // one line for the system prompt; NULL = not listed there
    const char *title; // a call in one line: text with {argument} places; NULL = name
    bool reads;        // changes nothing: runs without asking, beside others
};

/**
 * Adds a tool, or replaces one of the same name that was added, from the next turn on.
 * PI_INVALID names what is wrong with it.
 */
PI_API enum pi_status pi_agent_add_tool(pi_agent *agent, const struct pi_added_tool *tool,
                                        struct pi_error *err);

/** Takes an added tool away from the next turn on. PI_NOT_FOUND. */
PI_API enum pi_status pi_agent_remove_tool(pi_agent *agent, const char *name,
                                           struct pi_error *err);

/** Changes are reviewed so from the next call on. */
PI_API void pi_agent_set_review(pi_agent *agent, enum pi_review review);

/**
 * Something that the model is told with the next request, as a remark of the program and
 * not of the user: "the user took back your change of x.c". Starts no run.
 */
PI_API enum pi_status pi_agent_add_note(pi_agent *agent, const char *text,
                                        struct pi_error *err);

/**
 * Another model from the next request on; model and provider as in the options, one of
 * them may be NULL. Ends with a model_changed event, or with a notice that says why the
 * old one stays. PI_INVALID (nothing asked for).
 */
PI_API enum pi_status pi_agent_set_model(pi_agent *agent, const char *provider,
                                         const char *model, struct pi_error *err);

/** The thinking level from the next request on. PI_INVALID names the levels. */
PI_API enum pi_status pi_agent_set_thinking(pi_agent *agent, const char *level,
                                            struct pi_error *err);

/**
 * Lists the models whose provider, id and name hold all words of query (NULL = all), and
 * asks the servers on this machine for theirs. Ends with one model_list event.
 */
PI_API enum pi_status pi_agent_list_models(pi_agent *agent, const char *query,
                                           struct pi_error *err);

/**
 * Ends with one transcript event: the newest messages of the conversation, at most max
 * (0 = all); for faces that show a resumed session.
 */
PI_API enum pi_status pi_agent_list_messages(pi_agent *agent, size_t max,
                                             struct pi_error *err);

/** A call of a tool by the user instead of the model. */
struct pi_tool_call {
    const char *id;
    const char *name;
    const char *arguments; // JSON text
    size_t arguments_len;
    const char *cwd;        // NULL: the session's
    int64_t abort_after_ms; // < 0: never
};

/**
 * Runs one call as a batch of its own, beside others and outside the transcript. Ends
 * with one tool_execution_end event, also for an unknown tool or wrong arguments.
 * PI_NOMEM, PI_CLOSED.
 */
PI_API enum pi_status pi_agent_call_tool(pi_agent *agent, const struct pi_tool_call *call,
                                         struct pi_error *err);

/** The answers that a permission_request may offer. */
enum pi_permission {
    PI_PERMISSION_ONCE,
    PI_PERMISSION_SESSION, // this exact command, or this folder
    PI_PERMISSION_DENY,
};

/** Answers a question by the id of its event; reason goes to the model; late ones do
 * nothing. */
PI_API void pi_agent_answer_permission(pi_agent *agent, const char *id,
                                       enum pi_permission answer, const char *reason);

/** Answers a host request; late and double answers are told apart by id and dropped. */
PI_API void pi_agent_answer_host(pi_agent *agent, uint64_t id,
                                 const struct pi_host_answer *answer);

/** The system prompt as the model gets it; freed with pi_free(). NULL without memory. */
PI_API char *pi_agent_system_prompt(pi_agent *agent);

/** The session's identifier; lives as long as the agent. */
PI_API const char *pi_agent_session_id(const pi_agent *agent);

/** The session's file, which appears with the first message; NULL when it is not kept. */
PI_API const char *pi_agent_session_path(const pi_agent *agent);

/** The first line of the session's file, a JSON object with type "session", id, cwd. */
PI_API const char *pi_agent_session_header(const pi_agent *agent);

/** Gives the session a name for lists; "" takes it away. */
PI_API enum pi_status pi_agent_set_session_name(pi_agent *agent, const char *name,
                                                struct pi_error *err);

/** Frees what a function above returned for that. Accepts NULL. */
PI_API void pi_free(void *memory);

/* -- sessions on disk -- */

/**
 * Finds the file of a session for the option `session`; of *options cwd, agent_dir and
 * session_dir count. wanted: NULL = the newest one of cwd; with "/" or ".jsonl" at its
 * end = a path, which need not exist; else the beginning of an id, of any directory.
 * *path is freed with pi_free(). PI_NOT_FOUND, PI_INVALID (several begin so). Blocks.
 */
PI_API enum pi_status pi_session_find(char **path, const struct pi_agent_options *options,
                                      const char *wanted, struct pi_error *err);

/**
 * The sessions of cwd, newest first, as a JSON array of objects: path, id, cwd, name?,
 * firstMessage?, messages, modified (ms since 1970). Freed with pi_free(). Blocks.
 */
PI_API enum pi_status pi_sessions_json(char **json,
                                       const struct pi_agent_options *options,
                                       struct pi_error *err);

/* -- events -- */

/** Names and JSON fields: doc/events.md. */
enum pi_event_type {
    PI_EVENT_AGENT_START,
    PI_EVENT_AGENT_END,
    PI_EVENT_TURN_START,
    PI_EVENT_TURN_END,
    PI_EVENT_MESSAGE_START,
    PI_EVENT_MESSAGE_UPDATE,
    PI_EVENT_MESSAGE_END,
    PI_EVENT_TOOL_START,
    PI_EVENT_TOOL_UPDATE,
    PI_EVENT_TOOL_END,
    PI_EVENT_QUEUE_UPDATE,
    PI_EVENT_FILE_CHANGED,
    PI_EVENT_PERMISSION_REQUEST,
    PI_EVENT_PERMISSION_END,
    PI_EVENT_NOTICE,
    PI_EVENT_RETRY_START,
    PI_EVENT_RETRY_END,
    PI_EVENT_MODEL_CHANGED,
    PI_EVENT_THINKING_LEVEL_CHANGED,
    PI_EVENT_MODEL_LIST,
    PI_EVENT_TRANSCRIPT,
};

/** An event is immutable and borrowed until the callback returns, and so is all it gives.
 */
PI_API enum pi_event_type pi_event_type(const pi_event *event);

/** The whole event as one JSON object on one line, without LF. NULL without memory. */
PI_API const char *pi_event_json(const pi_event *event, size_t *len);

/**
 * As pi_event_json, without the messages that earlier events have brought: agent_end and
 * turn_end with their type alone, message_start and message_end of a tool's result with
 * its role alone. For faces that parse on the thread that draws.
 */
PI_API const char *pi_event_brief_json(const pi_event *event, size_t *len);

/** What kind of text a MESSAGE_UPDATE adds. */
enum pi_delta { PI_DELTA_NONE, PI_DELTA_TEXT, PI_DELTA_THINKING, PI_DELTA_TOOL_CALL };
PI_API enum pi_delta pi_event_delta(const pi_event *event);

/** MESSAGE_UPDATE and TOOL_UPDATE: the new piece of text; NULL for others. */
PI_API const char *pi_event_text(const pi_event *event, size_t *len);

/** Budget of one dispatch; 0 = no limit. */
struct pi_budget {
    size_t bytes;
    unsigned time_ms;
};

/**
 * Delivers host requests, then events, on the caller's thread until the budget is used
 * up; at least one of them. PI_OK: nothing is left. PI_MORE: call again soon. PI_BUSY:
 * called from inside a dispatch; nothing was done. PI_CLOSED: the agent could not go on
 * (the last event says why).
 */
PI_API enum pi_status
pi_agent_dispatch(pi_agent *agent, const struct pi_budget *budget,
                  void (*on_event)(void *data, const pi_event *event), void *data);

#ifdef __cplusplus
}
#endif
