#pragma once

#include "llm/auth.h"
#include "llm/model_copy.h"
#include "llm/provider.h"
#include "pi.h"

/**
 * Which model answers, how hard it thinks, and with which key. A choice is made when the
 * first request needs it, since that reads files and may ask servers; most agents of a
 * program (tools alone, the prompt alone) never do.
 */

struct command;

/** Who asked for a model; what a file says may fail without harm. */
enum choice_origin { CHOICE_NOBODY, CHOICE_SETTINGS, CHOICE_SESSION, CHOICE_USER };

struct choice {
    struct auth *auth;

    // What is asked for.
    enum choice_origin origin;
    char *provider, *pattern;
    bool thinking_given;        // by option or command: stronger than ":level"
    enum thinking_level wanted; // before it is fitted to the model
    bool open;                  // to be settled before the next request
    bool by_command;            // or as soon as no run is under way

    // What came of it.
    struct model_copy chosen;
    enum thinking_level thinking;
};

/** Takes the options and what the session says, which is open already; before the agent
 * thread starts. Takes the keys out of the agent's environment. PI_INVALID: a bad level;
 * a key for nobody. */
enum pi_status choice_init(struct pi_agent *a, const struct pi_agent_options *o,
                           struct pi_error *err) NODISCARD;

void choice_finish(struct choice *c);

/** A thinking level by its name; PI_INVALID names them all. */
enum pi_status choice_parse_level(enum thinking_level *out, const char *name,
                                  struct pi_error *err);

/* On the agent thread. */

/** A command: another model. It is looked for between two requests. */
void choice_want(struct pi_agent *a, struct command *c);
void choice_set_thinking(struct pi_agent *a, enum thinking_level level);

/** Looks for what a command asked for, while no run is under way. */
void choice_settle(struct pi_agent *a);

/** Lists the models that fit, as an event. */
void choice_list(struct pi_agent *a, const char *query);

/** Makes the choice if it is open; a->model is set afterwards. */
enum pi_status choice_make(struct pi_agent *a, struct cancel *cancel,
                           struct pi_error *err) NODISCARD;

/** What a request borrows; zeroed = nothing. */
struct choice_loan {
    char *key;
    struct json *headers;
};

/** Fills in how to ask; may run the commands of keys. */
enum pi_status choice_fill(struct pi_agent *a, struct choice_loan *loan,
                           struct llm_request *request, struct cancel *cancel,
                           struct pi_error *err) NODISCARD;

void choice_loan_finish(struct choice_loan *loan);
