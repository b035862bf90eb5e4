#pragma once

// The grammars that were built, for tests that need them. Include after cmocka.h.

#include <stdio.h>
#include <stdlib.h>

#include "syntax/grammar.h"

struct syntax_fixture {
    struct env environment;
    struct grammars *grammars;
};

static inline int syntax_setup(void **state)
{
    struct syntax_fixture *f = calloc(1, sizeof *f);
    assert_int_equal(env_copy(&f->environment, NULL, NULL), PI_OK);
    assert_int_equal(grammars_create(&f->grammars, &f->environment, NULL, NULL), PI_OK);
    *state = f;
    return 0;
}

static inline int syntax_teardown(void **state)
{
    struct syntax_fixture *f = *state;
    grammars_destroy(f->grammars);
    env_finish(&f->environment);
    free(f);
    return 0;
}

/** Ends the program as skipped when no grammars were built. */
static inline void syntax_need_grammars(void)
{
    void *state;
    syntax_setup(&state);
    struct syntax_fixture *f = state;
    bool built = grammars_get(f->grammars, "bash") && grammars_get(f->grammars, "go");
    syntax_teardown(&state);
    if (!built) {
        puts("skipped: no grammars were built (cmake --build DIR --target grammars)");
        exit(77);
    }
}
