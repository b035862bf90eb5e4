#pragma once

#include "base/buf.h"
#include "base/json.h"
#include "base/log.h"
#include "llm/model.h"
#include "sys/cancel.h"
#include "sys/env.h"

/**
 * Keys of providers: the option, auth.json, the provider's variable, models.json, what
 * the face lent, in this order. A value in a file is "!command" (its trimmed output
 * counts), the name of a variable that is set, or the key itself. Belongs to the agent
 * thread.
 *
 * Every key that was seen is remembered, so that it can be taken out of what others get
 * to see. Errors name the source of a key and never its value.
 */
struct auth;

/** Strings and environment are copied. */
struct auth_options {
    const char *file;              // auth.json
    const char *models_file;       // models.json, skimmed for names of variables
    const struct env *environment; // the whole one, with the keys
    const char *guard_path;        // of pi-guard, for commands; may be NULL
    const char *cwd;               // of commands
    const char *api_key;           // the option, see auth_bind; may be NULL
    const struct pi_key *keys;     // of the face, see pi_agent_options
    size_t keys_len;
    struct log *log; // gets to know what it must not write; may be NULL
};

enum pi_status auth_create(struct auth **out, const struct auth_options *options,
                           struct pi_error *err) NODISCARD;

/** Accepts NULL. */
void auth_destroy(struct auth *a);

/** Removes all variables that hold keys, or that the files name as keys, from e. */
void auth_clean(const struct auth *a, struct env *e);

/** The provider that the key of the options is for; only the first call counts. PI_NOMEM.
 */
enum pi_status auth_bind(struct auth *a, const char *provider,
                         struct pi_error *err) NODISCARD;

/**
 * Reads auth.json anew if it has changed; what is wrong with it is a line each in
 * problems. PI_NOMEM.
 */
enum pi_status auth_refresh(struct auth *a, struct buf *problems,
                            struct pi_error *err) NODISCARD;

/** Whether there is a key for m, or m needs none. Runs nothing. */
bool auth_can_ask(const struct auth *a, const struct model *m);

/**
 * The key for m; the caller frees it. NULL when m needs none and there is none. May run a
 * command for 10 s. PI_NOT_FOUND: no key; the message names the ways to give one.
 * PI_INVALID: a control character in it. PI_IO, PI_TIMEOUT: the command failed.
 * PI_ABORTED.
 */
enum pi_status auth_key(char **out, struct auth *a, const struct model *m,
                        struct cancel *cancel, struct pi_error *err) NODISCARD;

/** The headers of m with their values found in the same way, and Authorization if m wants
 * it; NULL when there are none. The caller owns the tree. */
enum pi_status auth_headers(struct json **out, struct auth *a, const struct model *m,
                            const char *key, struct cancel *cancel,
                            struct pi_error *err) NODISCARD;

/** Puts "[key]" in the place of each key in text. Without memory text has failed. */
void auth_redact(const struct auth *a, struct buf *text);
