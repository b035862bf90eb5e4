#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <pthread.h>

#include "llm/auth.h"
#include "scratch.h"
#include "sys/clock.h"

// A home with auth.json, and a model of the provider "p" and one of "openai".
struct place {
    char *dir;
    struct auth *auth;
    struct buf problems;
    struct model p, openai;
};

static int setup(void **state)
{
    struct place *at = calloc(1, sizeof *at);
    at->dir = scratch_make();
    at->p = (struct model){.id = "m", .provider = "p"};
    at->openai = (struct model){.id = "gpt", .provider = "openai"};
    *state = at;
    return 0;
}

static int teardown(void **state)
{
    struct place *at = *state;
    auth_destroy(at->auth);
    buf_finish(&at->problems);
    scratch_remove(at->dir);
    free(at);
    return 0;
}

static void open_with(struct place *at, const char *const *list, const char *api_key)
{
    struct env e;
    assert_int_equal(env_copy(&e, list, NULL), PI_OK);
    auth_destroy(at->auth);
    buf_clear(&at->problems);
    const struct auth_options options = {
        .file = scratch_path(at->dir, "auth.json"),
        .models_file = scratch_path(at->dir, "models.json"),
        .environment = &e,
        .guard_path = getenv("PI_GUARD"),
        .cwd = at->dir,
        .api_key = api_key,
    };
    assert_int_equal(auth_create(&at->auth, &options, NULL), PI_OK);
    env_finish(&e);
    assert_int_equal(auth_refresh(at->auth, &at->problems, NULL), PI_OK);
}

static void put(struct place *at, const char *text, mode_t mode)
{
    scratch_text(at->dir, "auth.json", text);
    assert_int_equal(chmod(scratch_path(at->dir, "auth.json"), mode), 0);
}

static void expect_key(struct place *at, const struct model *m, const char *expected)
{
    char *key = NULL;
    struct pi_error err = {0};
    enum pi_status status = auth_key(&key, at->auth, m, NULL, &err);
    if (status) {
        fail_msg("%s", err.message);
    }
    assert_true(auth_can_ask(at->auth, m));
    assert_string_equal(key ? key : "(none)", expected);
    free(key);
}

static void expect_error(struct place *at, const struct model *m, enum pi_status code,
                         const char *part)
{
    char *key = NULL;
    struct pi_error err = {0};
    assert_int_equal(auth_key(&key, at->auth, m, NULL, &err), code);
    assert_null(key);
    if (!strstr(err.message, part)) {
        fail_msg("\"%s\" is not in \"%s\"", part, err.message);
    }
}

static const char *const nothing[] = {"PATH=/bin:/usr/bin", NULL};
static const char *const full[] = {"PATH=/bin:/usr/bin", "OPENAI_API_KEY=from-variable",
                                   "MINE=from-mine", "EMPTY_KEY=", NULL};

static void test_the_order_of_sources(void **state)
{
    struct place *at = *state;
    at->openai.key_source = "from-models-json";
    put(at, "{\"openai\":{\"type\":\"api_key\",\"key\":\"from-auth-json\"}}", 0600);
    open_with(at, full, "from-option");
    expect_key(at, &at->openai, "from-auth-json"); // the option is for nobody yet
    assert_int_equal(auth_bind(at->auth, "openai", NULL), PI_OK);
    assert_int_equal(auth_bind(at->auth, "p", NULL), PI_OK);
    expect_key(at, &at->openai, "from-option");
    expect_error(at, &at->p, PI_NOT_FOUND, "no key for p");
    open_with(at, full, NULL);
    expect_key(at, &at->openai, "from-auth-json");
    scratch_check(unlink(scratch_path(at->dir, "auth.json")) == 0, "unlink");
    assert_int_equal(auth_refresh(at->auth, &at->problems, NULL), PI_OK);
    expect_key(at, &at->openai, "from-variable");
    open_with(at, nothing, NULL);
    expect_key(at, &at->openai, "from-models-json");
    at->openai.key_source = NULL;
    expect_error(at, &at->openai, PI_NOT_FOUND, "set OPENAI_API_KEY, put {\"openai\"");
    assert_false(auth_can_ask(at->auth, &at->openai));
    assert_int_equal(at->problems.len, 0);
}

static void test_a_server_that_wants_no_key(void **state)
{
    struct place *at = *state;
    open_with(at, full, NULL);
    at->p.keyless = true;
    expect_key(at, &at->p, "(none)");
    at->p.key_source = "abc";
    expect_key(at, &at->p, "abc");
}

static void test_values_are_literal_variables_or_commands(void **state)
{
    struct place *at = *state;
    open_with(at, full, NULL);
    at->p.key_source = "MINE";
    expect_key(at, &at->p, "from-mine");
    at->p.key_source = "sk-literal";
    expect_key(at, &at->p, "sk-literal");
    at->p.key_source = "!printf ' \\n'; printf '%s\\n\\n' \"$MINE\"; echo noise >&2";
    expect_key(at, &at->p, "from-mine");
    at->p.key_source = "EMPTY_KEY";
    expect_error(at, &at->p, PI_NOT_FOUND, "variable EMPTY_KEY, which is not set");
    at->p.key_source = "OTHER_TOKEN";
    expect_error(at, &at->p, PI_NOT_FOUND,
                 "the apiKey of provider \"p\" in models.json is the variable");
    at->p.key_source = "  ";
    expect_error(at, &at->p, PI_INVALID,
                 "the apiKey of provider \"p\" in models.json is blank");
}

static void test_commands_that_fail(void **state)
{
    struct place *at = *state;
    open_with(at, full, NULL);
    at->p.key_source = "!echo secret-words; exit 3";
    expect_error(at, &at->p, PI_IO, "exit code 3");
    at->p.key_source = "!true";
    expect_error(at, &at->p, PI_IO, "printed nothing");
    at->p.key_source = "!kill -9 $$";
    expect_error(at, &at->p, PI_IO, "was killed");
    at->p.key_source = "!printf 'two\\nlines-of-key'";
    expect_error(at, &at->p, PI_INVALID, "holds a line break");
    at->p.key_source = "!head -c 100000 /dev/zero";
    expect_error(at, &at->p, PI_INVALID, "no text of one line");
}

static void *abort_soon(void *cancel)
{
    usleep(50 * 1000);
    cancel_set(cancel);
    return NULL;
}

static void test_a_command_is_aborted(void **state)
{
    struct place *at = *state;
    open_with(at, full, NULL);
    struct cancel *cancel;
    pthread_t thread;
    assert_int_equal(cancel_create(&cancel, NULL, NULL), PI_OK);
    at->p.key_source = "!sleep 10";
    pthread_create(&thread, NULL, abort_soon, cancel);
    char *key = NULL;
    int64_t start = clock_mono_ms();
    assert_int_equal(auth_key(&key, at->auth, &at->p, cancel, NULL), PI_ABORTED);
    assert_in_range(clock_mono_ms() - start, 0, 1000);
    pthread_join(thread, NULL);
    cancel_unref(cancel);
}

// The command of auth.json runs once, that of models.json for each request.
static void test_which_output_is_kept(void **state)
{
    struct place *at = *state;
    put(at, "{\"openai\":{\"type\":\"api_key\",\"key\":\"!echo x >>a; cat a | wc -l\"}}",
        0600);
    open_with(at, nothing, NULL);
    expect_key(at, &at->openai, "1");
    expect_key(at, &at->openai, "1");
    at->p.key_source = "!echo x >>b; cat b | wc -l";
    expect_key(at, &at->p, "1");
    expect_key(at, &at->p, "2");
}

static void test_characters_that_no_header_can_hold(void **state)
{
    struct place *at = *state;
    const char *const list[] = {"OPENAI_API_KEY=sk-abcdef\nX: y", NULL};
    open_with(at, list, NULL);
    expect_error(at, &at->openai, PI_INVALID,
                 "the variable OPENAI_API_KEY holds a line break");
    at->p.key_source = "sk-\x7f";
    expect_error(at, &at->p, PI_INVALID, "holds a control character");
    at->p.key_source = "sk-\xC3\xA9";
    expect_error(at, &at->p, PI_INVALID, "outside ASCII");
    struct pi_error err = {0};
    char *key;
    assert_int_equal(auth_key(&key, at->auth, &at->openai, NULL, &err), PI_INVALID);
    assert_null(strstr(err.message, "abcdef"));
}

static void expect_problem(struct place *at, const char *part)
{
    if (!strstr(buf_cstr(&at->problems), part)) {
        fail_msg("\"%s\" is not in \"%s\"", part, buf_cstr(&at->problems));
    }
}

static void test_mistakes_in_auth_json(void **state)
{
    struct place *at = *state;
    put(at,
        "{ // mine\n\"p\": {\"type\":\"api_key\",\"key\":\"good-key\"},\n"
        "\"openai\": {\"type\":\"oauth\",\"access\":\"x\"},\n\"x\": \"key\",\n"
        "\"y\": {\"type\":\"api_key\"},}",
        0644);
    open_with(at, nothing, NULL);
    expect_key(at, &at->p, "good-key");
    expect_error(at, &at->openai, PI_NOT_FOUND, "the login in that file");
    expect_problem(at, "auth.json can be read by others: protect it with chmod 600\n");
    expect_problem(at, "auth.json: line 4: \"x\" must be {\"type\"");
    expect_problem(at, "auth.json: line 5: \"y\" must be");
    assert_null(strstr(buf_cstr(&at->problems), "openai"));
    buf_clear(&at->problems);
    assert_int_equal(auth_refresh(at->auth, &at->problems, NULL), PI_OK);
    assert_int_equal(at->problems.len, 0); // not told again
    put(at, "{\"p\": nonsense}", 0600);
    open_with(at, nothing, NULL);
    expect_problem(at, "auth.json: line 1, column ");
    put(at, "[]", 0600);
    open_with(at, nothing, NULL);
    expect_problem(at, "auth.json: must be an object");
    put(at, "", 0600);
    open_with(at, nothing, NULL);
    assert_int_equal(at->problems.len, 0);
    scratch_check(unlink(scratch_path(at->dir, "auth.json")) == 0, "unlink");
    scratch_check(mkdir(scratch_path(at->dir, "auth.json"), 0700) == 0, "mkdir");
    open_with(at, nothing, NULL);
    expect_problem(at, "directory");
}

struct writer {
    const char *file, *lock;
};

static void *finish_writing(void *data)
{
    const struct writer *w = data;
    usleep(60 * 1000);
    FILE *f = fopen(w->file, "w");
    scratch_check(
        f && fputs("{\"p\":{\"type\":\"api_key\",\"key\":\"complete\"}}", f) >= 0 &&
            fclose(f) == 0,
        w->file);
    rmdir(w->lock);
    return NULL;
}

static void test_another_program_is_writing(void **state)
{
    struct place *at = *state;
    pthread_t thread;
    char *paths[] = {strdup(scratch_path(at->dir, "auth.json")),
                     strdup(scratch_path(at->dir, "auth.json.lock"))};
    struct writer writer = {.file = paths[0], .lock = paths[1]};
    put(at, "{\"p\":{\"type\":\"api_k", 0600);
    scratch_check(mkdir(writer.lock, 0700) == 0, "mkdir");
    pthread_create(&thread, NULL, finish_writing, &writer);
    open_with(at, nothing, NULL);
    pthread_join(thread, NULL);
    expect_key(at, &at->p, "complete");
    assert_int_equal(at->problems.len, 0);
    free(paths[0]);
    free(paths[1]);
}

static void test_headers(void **state)
{
    struct place *at = *state;
    open_with(at, full, NULL);
    struct json *headers = NULL, *out = NULL;
    struct pi_error err = {0};
    assert_int_equal(json_parse(&headers,
                                sv_of("{\"X-Plain\":\"text\",\"X-Mine\":\"MINE\","
                                      "\"X-Run\":\"!echo made\"}"),
                                NULL, NULL),
                     PI_OK);
    assert_int_equal(auth_headers(&out, at->auth, &at->p, NULL, NULL, NULL), PI_OK);
    assert_null(out);
    at->p.headers = headers;
    at->p.auth_header = true;
    assert_int_equal(auth_headers(&out, at->auth, &at->p, "abc", NULL, NULL), PI_OK);
    assert_string_equal(json_get_str(out, "X-Plain"), "text");
    assert_string_equal(json_get_str(out, "X-Mine"), "from-mine");
    assert_string_equal(json_get_str(out, "X-Run"), "made");
    assert_string_equal(json_get_str(out, "Authorization"), "Bearer abc");
    json_destroy(out);
    assert_true(json_set_str(headers, "X Y", "a"));
    assert_int_equal(auth_headers(&out, at->auth, &at->p, NULL, NULL, &err), PI_INVALID);
    assert_non_null(strstr(err.message, "cannot have this name"));
    json_destroy(json_remove(headers, "X Y"));
    assert_true(json_set_str(headers, "X-Y", "a\r\nb: c"));
    assert_int_equal(auth_headers(&out, at->auth, &at->p, NULL, NULL, &err), PI_INVALID);
    assert_non_null(strstr(err.message, "the header \"X-Y\" of provider \"p\""));
    json_destroy(headers);
}

static void test_keys_are_redacted(void **state)
{
    struct place *at = *state;
    scratch_text(at->dir, "models.json", "{\"providers\":{\"p\":{\"apiKey\":\"MINE\"}}}");
    open_with(at, full, "from-option");
    at->p.key_source = "!echo from-a-command";
    expect_key(at, &at->p, "from-a-command");
    struct buf text = {0};
    buf_adds(&text, "a from-mine, from-variable and from-option from-a-command! short");
    auth_redact(at->auth, &text);
    assert_string_equal(buf_cstr(&text), "a [key], [key] and [key] [key]! short");
    buf_finish(&text);
}

static void test_variables_are_taken_from_commands(void **state)
{
    struct place *at = *state;
    scratch_text(at->dir, "models.json", "{\"providers\":{\"p\":{\"apiKey\":\"MINE\"}}}");
    open_with(at, full, NULL);
    struct env e;
    assert_int_equal(env_copy(&e, full, NULL), PI_OK);
    auth_clean(at->auth, &e);
    assert_null(env_get(&e, "MINE"));
    assert_null(env_get(&e, "OPENAI_API_KEY"));
    assert_non_null(env_get(&e, "PATH"));
    assert_non_null(env_get(&e, "EMPTY_KEY"));
    env_finish(&e);
}

int main(void)
{
#define TEST(f) cmocka_unit_test_setup_teardown(f, setup, teardown)
    const struct CMUnitTest tests[] = {
        TEST(test_the_order_of_sources),
        TEST(test_a_server_that_wants_no_key),
        TEST(test_values_are_literal_variables_or_commands),
        TEST(test_commands_that_fail),
        TEST(test_a_command_is_aborted),
        TEST(test_which_output_is_kept),
        TEST(test_characters_that_no_header_can_hold),
        TEST(test_mistakes_in_auth_json),
        TEST(test_another_program_is_writing),
        TEST(test_headers),
        TEST(test_keys_are_redacted),
        TEST(test_variables_are_taken_from_commands),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
