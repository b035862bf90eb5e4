#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "agent/settings.h"
#include "sys/file.h"
#include "sys/path.h"

// A home with an agent folder, and a project.
struct place {
    char *dir, *home, *project;
};

static int setup(void **state)
{
    struct place *p = calloc(1, sizeof(*p));
    char name[512];
    snprintf(name, sizeof(name), "%s/settings-XXXXXX",
             getenv("TMPDIR") ? getenv("TMPDIR") : "/tmp");
    assert_non_null(mkdtemp(name));
    p->dir = strdup(name);
    p->home = path_join(name, "home");
    p->project = path_join(name, "project");
    *state = p;
    unsetenv("PI_CODING_AGENT_DIR");
    return 0;
}

static int teardown(void **state)
{
    struct place *p = *state;
    char command[600];
    snprintf(command, sizeof(command), "rm -rf '%s'", p->dir);
    int gone = system(command);
    free(p->dir);
    free(p->home);
    free(p->project);
    free(p);
    return gone;
}

static void put(const struct place *p, const char *name, const char *text)
{
    char *path = path_join(p->dir, name);
    char *dir = path_dir(path);
    assert_int_equal(file_make_dirs(dir, 0777, NULL), PI_OK);
    FILE *file = fopen(path, "w");
    assert_non_null(file);
    fputs(text, file);
    fclose(file);
    free(dir);
    free(path);
}

static void load(struct settings *s, const struct place *p)
{
    assert_int_equal(settings_load(s, NULL, p->project, p->home, NULL), PI_OK);
}

static void expect_problem(const struct settings *s, const char *part)
{
    if (!strstr(buf_cstr(&s->problems), part)) {
        fail_msg("\"%s\" is not in \"%s\"", part, buf_cstr(&s->problems));
    }
}

static void test_nothing_there(void **state)
{
    struct place *p = *state;
    struct settings s;
    load(&s, p);
    char *expected = path_join(p->home, ".pi/agent");
    assert_string_equal(s.agent_dir, expected);
    assert_null(s.shell_path);
    assert_null(s.shell_command_prefix);
    assert_false(s.steering_all || s.follow_up_all);
    assert_int_equal(s.problems.len, 0);
    free(expected);
    settings_finish(&s);
    settings_finish(&s);
    settings_finish(NULL);
}

static void test_agent_dir(void **state)
{
    struct place *p = *state;
    struct settings s;
    assert_int_equal(settings_load(&s, "/x/../y/", p->project, p->home, NULL), PI_OK);
    assert_string_equal(s.agent_dir, "/y");
    settings_finish(&s);
    setenv("PI_CODING_AGENT_DIR", "~/elsewhere", 1);
    load(&s, p);
    char *expected = path_join(p->home, "elsewhere");
    assert_string_equal(s.agent_dir, expected);
    free(expected);
    settings_finish(&s);
}

static void test_project_over_global(void **state)
{
    struct place *p = *state;
    struct settings s;
    put(p, "home/.pi/agent/settings.json",
        "{\n  // mine\n  \"shellPath\": \"/bin/sh\",\n  \"steeringMode\": \"all\",\n"
        "  \"shellCommandPrefix\": \"set -e\",\n  \"unknown\": {\"a\": [1,]},\n}\n");
    put(p, "project/.pi/settings.json",
        "{\"shellPath\": \"/bin/zsh\", \"followUpMode\": \"all\", \"unknown\": {}}");
    load(&s, p);
    assert_string_equal(buf_cstr(&s.problems), "");
    assert_string_equal(s.shell_path, "/bin/zsh");
    assert_string_equal(s.shell_command_prefix, "set -e");
    assert_true(s.steering_all);
    assert_true(s.follow_up_all);
    settings_finish(&s);
}

static void test_project_alone(void **state)
{
    struct place *p = *state;
    struct settings s;
    put(p, "project/.pi/settings.json", "{\"shellPath\": \"/bin/zsh\"}");
    load(&s, p);
    assert_string_equal(s.shell_path, "/bin/zsh");
    settings_finish(&s);
}

static void test_wrong_types(void **state)
{
    struct place *p = *state;
    struct settings s;
    put(p, "home/.pi/agent/settings.json",
        "{\n  \"shellPath\": \"/bin/sh\",\n  \"steeringMode\": \"both\"\n}");
    put(p, "project/.pi/settings.json",
        "{\"shellPath\": 7, \"shellCommandPrefix\": null}");
    load(&s, p);
    // The user's own value holds where the project's is of no use.
    assert_string_equal(s.shell_path, "/bin/sh");
    assert_false(s.steering_all);
    expect_problem(&s, "home/.pi/agent/settings.json: line 3: steeringMode must be "
                       "\"one-at-a-time\" or \"all\"");
    expect_problem(&s, "project/.pi/settings.json: line 1: shellPath must be a string");
    assert_null(strstr(buf_cstr(&s.problems), "shellCommandPrefix"));
    settings_finish(&s);
}

static void test_broken_files(void **state)
{
    struct place *p = *state;
    struct settings s;
    put(p, "home/.pi/agent/settings.json", "{\n  \"shellPath\": /bin/sh\n}\n");
    put(p, "project/.pi/settings.json", "[\"steeringMode\"]");
    load(&s, p);
    assert_null(s.shell_path);
    expect_problem(&s, "home/.pi/agent/settings.json: line 2, column ");
    expect_problem(&s, "project/.pi/settings.json: must be an object");
    settings_finish(&s);
}

static void test_folder_and_empty_file(void **state)
{
    struct place *p = *state;
    struct settings s;
    put(p, "home/.pi/agent/settings.json/x", "");
    put(p, "project/.pi/settings.json", "");
    load(&s, p);
    expect_problem(&s, "directory");
    settings_finish(&s);
}

static void test_all_keys(void **state)
{
    struct place *p = *state;
    struct settings s;
    put(p, "home/.pi/agent/settings.json",
        "{\"defaultProvider\": \"openai\", \"defaultModel\": \"gpt\",\n"
        " \"defaultThinkingLevel\": \"high\", \"thinkingBudgets\": {\"low\": 3000},\n"
        " \"compaction\": {\"enabled\": false, \"reserveTokens\": 100},\n"
        " \"retry\": {\"maxRetries\": 5, \"baseDelayMs\": 10,\n"
        "   \"provider\": {\"timeoutMs\": 7000, \"maxRetryDelayMs\": 500}},\n"
        " \"images\": {\"blockImages\": true, \"autoResize\": false}}");
    put(p, "project/.pi/settings.json",
        "{\"compaction\": {\"keepRecentTokens\": 50}, \"defaultModel\": \"other\",\n"
        " \"retry\": {\"enabled\": false}}");
    load(&s, p);
    assert_string_equal(buf_cstr(&s.problems), "");
    assert_string_equal(s.default_provider, "openai");
    assert_string_equal(s.default_model, "other");
    assert_int_equal(s.thinking, THINKING_HIGH);
    assert_int_equal(s.thinking_budgets[THINKING_LOW], 3000);
    assert_int_equal(s.thinking_budgets[THINKING_HIGH], 0);
    assert_false(s.compaction.enabled);
    assert_int_equal(s.compaction.reserve_tokens, 100);
    assert_int_equal(s.compaction.keep_recent_tokens, 50);
    assert_false(s.retry.enabled);
    assert_int_equal(s.retry.max_retries, 5);
    assert_int_equal(s.retry.base_delay_ms, 10);
    assert_int_equal(s.retry.max_delay_ms, 500);
    assert_int_equal(s.idle_timeout_ms, 7000);
    assert_true(s.block_images && !s.resize_images);
    settings_finish(&s);
}

static void test_defaults(void **state)
{
    struct place *p = *state;
    struct settings s;
    load(&s, p);
    assert_null(s.default_provider);
    assert_int_equal(s.thinking, THINKING_MEDIUM);
    assert_true(s.compaction.enabled && s.retry.enabled && s.resize_images);
    assert_int_equal(s.compaction.reserve_tokens, 16384);
    assert_int_equal(s.retry.max_retries, 3);
    assert_int_equal(s.idle_timeout_ms, 0);
    assert_false(s.block_images);
    settings_finish(&s);
}

// A mistake deep inside costs that value alone.
static void test_mistakes_inside(void **state)
{
    struct place *p = *state;
    struct settings s;
    put(p, "home/.pi/agent/settings.json",
        "{\"retry\": {\n\"maxRetries\": 1e99, \"baseDelayMs\": 9,\n"
        "\"provider\": {\"timeoutMs\": -1, // no\n\"maxRetryDelayMs\": 8}},\n"
        "\"thinkingBudgets\": {\"lots\": 1},\n\"compaction\": true,\n"
        "\"images\": {\"blockImages\": \"yes\"}, \"defaultThinkingLevel\": null}");
    load(&s, p);
    expect_problem(&s, "line 2: retry.maxRetries must be a number, 0 or more; it is");
    expect_problem(&s, "line 3: retry.provider.timeoutMs must be a number");
    expect_problem(&s, "line 5: thinkingBudgets must be an object of levels");
    expect_problem(&s, "line 6: compaction must be an object");
    expect_problem(&s, "line 7: images.blockImages must be true or false");
    assert_int_equal(s.retry.max_retries, 3);
    assert_int_equal(s.retry.base_delay_ms, 9);
    assert_int_equal(s.retry.max_delay_ms, 8);
    assert_int_equal(s.idle_timeout_ms, 0);
    assert_true(s.compaction.enabled && !s.block_images);
    settings_finish(&s);
}

int main(void)
{
#define TEST(f) cmocka_unit_test_setup_teardown(f, setup, teardown)
    const struct CMUnitTest tests[] = {
        TEST(test_nothing_there),
        TEST(test_agent_dir),
        TEST(test_project_over_global),
        TEST(test_project_alone),
        TEST(test_wrong_types),
        TEST(test_broken_files),
        TEST(test_folder_and_empty_file),
        TEST(test_all_keys),
        TEST(test_defaults),
        TEST(test_mistakes_inside),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
