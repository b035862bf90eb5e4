#pragma once

#include <stddef.h>

#include "pack.h"
#include "params.h"
#include "pi.h"
#include "server.h"

/** A method is a row of a table. The tables: method_session.c, method_run.c. */

/** What a method gets; each takes what it needs. */
struct arguments {
    uint64_t protocol;
    struct pi_agent_options options;
    const char *permissions, *review;
    const char *resume; // a session: its file, or how its id begins
    bool go_on;         // with the newest session of cwd

    const char *text, *delivery;
    const char *provider, *model, *level, *name;
    uint64_t max;

    struct pi_added_tool tool;
    struct pi_tool_call call;

    uint64_t id;
    const char *status;
    struct pi_host_answer answer;

    const char *question, *permission, *reason;
};

/** A parameter that is kept in a member of struct arguments. */
#define PARAM(name, kind, member)                                                        \
    {                                                                                    \
        name, kind, offsetof(struct arguments, member), 0                                \
    }

/** A text that may hold NUL; its length is kept in member_len. */
#define PARAM_BYTES(name, member)                                                        \
    {                                                                                    \
        name, PARAM_TEXT, offsetof(struct arguments, member),                            \
            offsetof(struct arguments, member##_len)                                     \
    }

struct method {
    const char *name;
    bool before_hello;
    enum pi_status (*run)(struct server *s, const struct arguments *a,
                          struct pack *result, struct pi_error *err);
    const struct param *params; // ends with a row without a name; NULL = none
};

/** Both end with a row without a name. */
extern const struct method methods_of_session[];
extern const struct method methods_of_run[];
