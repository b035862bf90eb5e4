#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "face.h"
#include "scratch.h"

static const char models[] =
    "{\"providers\":{\"box\":{\"baseUrl\":\"http://127.0.0.1:9/v1\",\"api\":"
    "\"openai-completions\",\"models\":[{\"id\":\"plain\"},{\"id\":\"deep\","
    "\"reasoning\":"
    "true,\"thinkingLevelMap\":{\"low\":null,\"xhigh\":\"max\"}}]}}}";

struct bed {
    char *dir;
    struct face face;
    struct pi_agent_options options;
};

static int setup(void **state)
{
    struct bed *b = calloc(1, sizeof *b);
    b->dir = scratch_make();
    scratch_text(b->dir, "models.json", models);
    static const char *const environment[] = {"PATH=/bin:/usr/bin", "PI_OFFLINE=1", NULL};
    b->options = (struct pi_agent_options)PI_AGENT_OPTIONS_INIT;
    b->options.cwd = b->dir;
    b->options.agent_dir = b->dir;
    b->options.environment = environment;
    b->options.tools = "";
    b->options.no_context_files = true;
    b->options.no_session = true;
    *state = b;
    return 0;
}

static int teardown(void **state)
{
    struct bed *b = *state;
    face_finish(&b->face);
    scratch_remove(b->dir);
    free(b);
    return 0;
}

static void start(struct bed *b)
{
    struct pi_error err = {0};
    if (!face_start(&b->face, &b->options, &err)) {
        fail_msg("%s", err.message);
    }
}

// The next event of this type after *at, which moves behind it.
static const struct json *next(struct bed *b, const char *type, size_t *at)
{
    *at = face_wait(&b->face, type, *at, 5000);
    if (*at == 0) {
        struct buf types = {0};
        face_types(&b->face, &types);
        fail_msg("no %s; there are %s", type, buf_cstr(&types));
    }
    return face_event(&b->face, *at - 1);
}

static void expect_model(struct bed *b, size_t *at, const char *id, const char *level)
{
    const struct json *e = next(b, "model_changed", at);
    assert_string_equal(json_get_str(json_get(e, "model"), "id"), id);
    assert_string_equal(json_get_str(e, "thinkingLevel"), level);
}

static void expect_notice(struct bed *b, size_t *at, const char *part)
{
    const char *text = json_get_str(next(b, "notice", at), "message");
    if (!strstr(text, part)) {
        fail_msg("\"%s\" is not in \"%s\"", part, text);
    }
}

static void test_models_are_changed(void **state)
{
    struct bed *b = *state;
    struct pi_error err = {0};
    size_t at = 0;
    start(b);
    assert_int_equal(pi_agent_set_model(b->face.agent, NULL, "plain", &err), PI_OK);
    expect_model(b, &at, "plain", "off");
    assert_int_equal(pi_agent_set_model(b->face.agent, "box", "deep:high", &err), PI_OK);
    size_t level = at;
    expect_model(b, &at, "deep", "high");
    const struct json *e = next(b, "thinking_level_changed", &level);
    assert_string_equal(json_get_str(e, "level"), "high");
    assert_int_equal(pi_agent_set_model(b->face.agent, NULL, "nosuch", &err), PI_OK);
    expect_notice(b, &at, "The model stays box/deep: no model \"nosuch\"");
    assert_int_equal(pi_agent_set_model(b->face.agent, "nobody", NULL, &err), PI_OK);
    expect_notice(b, &at, "The model stays box/deep: no provider \"nobody\"");
    assert_int_equal(pi_agent_set_model(b->face.agent, NULL, "", &err), PI_INVALID);
}

static void test_levels_are_fitted(void **state)
{
    struct bed *b = *state;
    struct pi_error err = {0};
    size_t at = 0;
    start(b);
    assert_int_equal(pi_agent_set_thinking(b->face.agent, "much", &err), PI_INVALID);
    assert_non_null(strstr(err.message, "off, minimal, low"));
    assert_int_equal(pi_agent_set_thinking(b->face.agent, "xhigh", &err), PI_OK);
    assert_int_equal(pi_agent_set_model(b->face.agent, NULL, "deep", &err), PI_OK);
    expect_model(b, &at, "deep", "xhigh");
    assert_int_equal(pi_agent_set_thinking(b->face.agent, "low", &err), PI_OK);
    const struct json *e = next(b, "thinking_level_changed", &at);
    assert_string_equal(json_get_str(e, "level"), "medium");
    expect_notice(b, &at, "deep does not think at the level low; it is set to medium");
    // What was asked for comes back with a model that has it.
    assert_int_equal(pi_agent_set_thinking(b->face.agent, "high", &err), PI_OK);
    next(b, "thinking_level_changed", &at);
    assert_int_equal(pi_agent_set_model(b->face.agent, NULL, "plain", &err), PI_OK);
    expect_model(b, &at, "plain", "off");
    assert_int_equal(pi_agent_set_model(b->face.agent, NULL, "deep", &err), PI_OK);
    expect_model(b, &at, "deep", "high");
}

static void test_the_first_choice_waits_for_a_prompt(void **state)
{
    struct bed *b = *state;
    struct pi_error err = {0};
    size_t at = 0;
    b->options.model = "nosuch";
    start(b);
    assert_int_equal(
        pi_agent_prompt(b->face.agent, "x", NULL, 0, PI_DELIVER_PROMPT, &err), PI_OK);
    const struct json *e = next(b, "turn_end", &at);
    const struct json *message = json_get(e, "message");
    assert_string_equal(json_get_str(message, "stopReason"), "error");
    assert_non_null(strstr(json_get_str(message, "errorMessage"), "no model \"nosuch\""));
    next(b, "agent_end", &at);
    // Another model, and the conversation can go on; nobody listens at its port.
    assert_int_equal(pi_agent_set_model(b->face.agent, NULL, "plain", &err), PI_OK);
    expect_model(b, &at, "plain", "off");
    assert_int_equal(pi_agent_continue(b->face.agent, &err), PI_OK);
    e = next(b, "auto_retry_start", &at);
    pi_agent_abort(b->face.agent);
    next(b, "agent_end", &at);
}

static void test_a_list(void **state)
{
    struct bed *b = *state;
    size_t at = 0;
    start(b);
    assert_int_equal(pi_agent_list_models(b->face.agent, "box e", NULL), PI_OK);
    const struct json *e = next(b, "model_list", &at);
    const struct json *m = json_first(json_get(e, "models"));
    assert_int_equal(json_len(json_get(e, "models")), 1);
    assert_string_equal(json_get_str(m, "id"), "deep");
    assert_true(json_get_bool(m, "available", false));
    assert_int_equal(pi_agent_list_models(b->face.agent, NULL, NULL), PI_OK);
    e = next(b, "model_list", &at);
    assert_true(json_len(json_get(e, "models")) > 15);
    const struct json *p = json_first(json_get(e, "providers"));
    assert_string_equal(json_get_str(p, "name"), "anthropic");
    assert_string_equal(json_get_str(p, "keyVariable"), "ANTHROPIC_API_KEY");
    assert_false(json_get_bool(p, "available", true));
}

static void test_options_that_are_wrong(void **state)
{
    struct bed *b = *state;
    struct pi_error err = {0};
    pi_agent *agent = NULL;
    b->options.thinking = "loud";
    assert_int_equal(pi_agent_create(&agent, &b->options, &err), PI_INVALID);
    assert_non_null(strstr(err.message, "no thinking level \"loud\""));
    b->options.thinking = NULL;
    b->options.api_key = "k";
    assert_int_equal(pi_agent_create(&agent, &b->options, &err), PI_INVALID);
    b->options.api_key = NULL;
    b->options.model = "replay:";
    assert_int_equal(pi_agent_create(&agent, &b->options, &err), PI_INVALID);
    b->options.model = NULL;
    start(b);
}

// Commands from one thread while another asks: nothing is lost, and the last one counts.
static void test_many_changes_during_runs(void **state)
{
    struct bed *b = *state;
    struct pi_error err = {0};
    size_t at = 0;
    b->options.model = "box/plain";
    scratch_text(b->dir, "settings.json", "{\"retry\":{\"enabled\":false}}");
    start(b);
    for (int i = 0; i < 20; i++) {
        assert_int_equal(
            pi_agent_prompt(b->face.agent, "x", NULL, 0, PI_DELIVER_STEER, &err), PI_OK);
        assert_int_equal(
            pi_agent_set_model(b->face.agent, "box", i % 2 ? "plain" : "deep", &err),
            PI_OK);
        assert_int_equal(
            pi_agent_set_thinking(b->face.agent, i % 3 ? "off" : "high", &err), PI_OK);
        // It is settled at the end of the run, whatever it was doing.
        next(b, "model_changed", &at);
    }
    at = face_len(&b->face);
    assert_int_equal(pi_agent_set_model(b->face.agent, "box", "deep:minimal", &err),
                     PI_OK);
    expect_model(b, &at, "deep", "minimal");
}

int main(void)
{
#define TEST(f) cmocka_unit_test_setup_teardown(f, setup, teardown)
    const struct CMUnitTest tests[] = {
        TEST(test_models_are_changed),
        TEST(test_levels_are_fitted),
        TEST(test_the_first_choice_waits_for_a_prompt),
        TEST(test_a_list),
        TEST(test_options_that_are_wrong),
        TEST(test_many_changes_during_runs),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
