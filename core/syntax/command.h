#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "base/error.h"
#include "base/sv.h"
#include "syntax/grammar.h"
#include "sys/cancel.h"

/**
 * What a command line of bash would run, without running it.
 *
 * The text is parsed with the grammar of bash and then checked against bash's own rules
 * of words, quotes and line ends: where grammar and bash might differ, the text counts as
 * not understood. So PI_OK means that every simple command that the text can start by
 * itself is in the list, those inside of substitutions, here-documents, functions and
 * branches included, and that words that are called static have exactly this value. It
 * says nothing about what the named programs do (eval, xargs, sh -c, a script), nor about
 * what functions, aliases and variables of the surrounding shell do.
 */

/** Why the value of a word is not known before it is run; bits. */
enum command_dynamic {
    COMMAND_VARIABLE = 1,     // $x, ${x...}, $"..."
    COMMAND_SUBSTITUTION = 2, // $(...), `...`, <(...): its commands are in the list
    COMMAND_ARITHMETIC = 4,   // $((...))
    COMMAND_GLOB = 8,         // *, ?, [ that are not quoted
    COMMAND_TILDE = 16,       // ~ at a place where it is expanded
    COMMAND_BRACES = 32,      // {a,b}, {1..3}
    COMMAND_ARRAY = 64,       // the value of an assignment is an array
};

struct command_word {
    char *text;        // its value when dynamic is 0, else as it is written
    unsigned dynamic;  // 0 = static
    size_t start, end; // in the text that was parsed
};

enum command_redirect_kind {
    COMMAND_READ,       // <
    COMMAND_WRITE,      // >, >|, >& FILE, &>
    COMMAND_APPEND,     // >>, &>>
    COMMAND_READ_WRITE, // <>
    COMMAND_DUPLICATE,  // >&1, <&3, >&-: no file
    COMMAND_HEREDOC,    // target is the delimiter
    COMMAND_HERESTRING,
};

struct command_redirect {
    enum command_redirect_kind kind;
    size_t command; // index of the command it stands at, or
    size_t scope;   // of the compound command it stands behind; then command is SIZE_MAX
    struct command_word target;
};

struct command_assignment {
    char *name;
    size_t command; // in front of this command, or its only effect
    struct command_word value;
};

enum command_scope_kind {
    COMMAND_TOP,
    COMMAND_GROUP,       // { }, if, loops, case: the same shell
    COMMAND_SUBSHELL,    // ( )
    COMMAND_SUBSTITUTED, // $( ), ` `, <( ), >( )
    COMMAND_FUNCTION,    // runs only when it is called
};

struct command_scope {
    enum command_scope_kind kind;
    size_t parent; // index; that of the top is 0
    char *name;    // of a function, else NULL
};

/**
 * Tests ([ ], [[ ]]) and arithmetic (( )) are commands of one word, "[", "[[" or "((";
 * an assignment without command has no word.
 */
struct command_simple {
    struct command_word *words; // the name and the arguments
    size_t words_len;
    size_t scope;    // index
    size_t pipeline; // those of one pipeline have the same number ...
    size_t position; // ... and count from 0 in it
    bool background;
    size_t start, end; // in the text
};

/** A zeroed struct is empty. In the order of the text. */
struct command_list {
    struct command_simple *commands;
    size_t len, cap;
    struct command_redirect *redirects;
    size_t redirects_len, redirects_cap;
    struct command_assignment *assignments;
    size_t assignments_len, assignments_cap;
    struct command_scope *scopes; // the first one is the top
    size_t scopes_len, scopes_cap;
};

enum { COMMAND_MAX_BYTES = 128 * 1024 };

/**
 * PI_INVALID: not understood; the message says where. PI_UNSUPPORTED: there is no
 * grammar. PI_LIMIT: longer than COMMAND_MAX_BYTES, or too slow. PI_ABORTED, PI_NOMEM.
 * Out is empty unless PI_OK. Any thread.
 */
enum pi_status command_parse(struct command_list *out, struct grammars *grammars,
                             struct sv text, const struct cancel *cancel,
                             struct pi_error *err) NODISCARD;

void command_list_finish(struct command_list *list);
