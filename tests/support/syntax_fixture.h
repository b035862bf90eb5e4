#pragma once

// The grammars that were built, for tests that need them. Include after cmocka.h.

#include <stdio.h>
#include <stdlib.h>

#include "syntax/grammar.h"
#include "tool_fixture.h"

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

static inline struct env *tool_environment(void)
{
    static struct env environment;
    return &environment;
}

/** fixture_setup() of tool_fixture.h, for tools that may ask grammars. */
static inline int tool_setup(void **state)
{
    int failed = fixture_setup(state);
    struct tool_fixture *f = *state;
    struct env *environment = tool_environment();
    struct grammars *grammars;
    assert_int_equal(env_copy(environment, NULL, NULL), PI_OK);
    assert_int_equal(grammars_create(&grammars, environment, NULL, NULL), PI_OK);
    f->context.grammars = grammars;
    return failed;
}

static inline int tool_teardown(void **state)
{
    struct tool_fixture *f = *state;
    grammars_destroy(f->context.grammars);
    env_finish(tool_environment());
    return fixture_teardown(state);
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
