#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "pi.h"

/** What the command line asks for. */
enum args_command {
    ARGS_PROMPT,
    ARGS_SHOW_PROMPT,
    ARGS_LIST_MODELS, // words: what to look for
    ARGS_TOOL,
    ARGS_TOOL_LINES,
    ARGS_HELP,
    ARGS_VERSION,
};

/** Strings point into argv. Zeroed means the defaults. */
struct args {
    enum args_command command;
    bool print;
    bool json; // --mode json; with a tool: the whole result
    const char *model;
    const char *provider;
    const char *thinking;
    char *api_key; // owned
    const char *tools;
    const char *system_prompt;
    const char **append_system_prompt; // NULL-terminated when not NULL, owned
    size_t append_len, append_cap;
    bool no_context_files;
    bool permissions_given;
    enum pi_permissions permissions;
    const char *restrict_dir;
    bool go_on;          // --continue
    bool resume;         // --resume: ask which
    const char *session; // beginning of an id, or a path
    bool no_session;
    const char *session_dir;
    const char *name; // of the session, "" takes it away
    const char *tool_name;
    const char *tool_arguments; // JSON text, "-" = on stdin, NULL = {}
    char **words;               // of the prompt, with @files among them
    size_t words_len;
};

/** Fills *out; false after a message on stderr (exit with EXIT_USAGE). */
bool args_parse(struct args *out, int argc, char **argv);

void args_finish(struct args *a);

/** Text of --help. */
extern const char args_help[];
