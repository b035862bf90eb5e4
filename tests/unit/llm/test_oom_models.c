#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <cjson/cJSON.h>

#include "llm/auth.h"
#include "llm/local_read.h"
#include "llm/model_copy.h"
#include "llm/models_match.h"
#include "llm/secrets.h"
#include "oom.h"
#include "scratch.h"

// wrap: malloc calloc realloc strdup

// Every allocation fails once. Memory must be given back (the address sanitizer looks)
// and the failure must be told.

static char *dir;

static int setup(void **state)
{
    (void)state;
    dir = scratch_make();
    scratch_text(
        dir, "models.json",
        "{\"providers\":{\"p\":{\"baseUrl\":\"http://h/\",\"apiKey\":\"MINE\","
        "\"headers\":{\"A\":\"1\"},\"compat\":{\"a\":1},\"models\":[{\"id\":\"m\","
        "\"headers\":{\"B\":\"MINE\"},\"compat\":{\"b\":1}},{\"id\":7}],"
        "\"modelOverrides\":{\"m\":{\"compat\":{\"c\":1}}}}}}");
    scratch_text(dir, "auth.json", "{\"q\":{\"type\":\"api_key\",\"key\":\"abcdefgh\"}}");
    scratch_check(chmod(scratch_path(dir, "auth.json"), 0600) == 0, "chmod");
    return 0;
}

static int teardown(void **state)
{
    (void)state;
    scratch_remove(dir);
    return 0;
}

static bool can_ask(const void *data, const struct model *m)
{
    (void)data;
    (void)m;
    return true;
}

static enum pi_status use_table(struct models *t)
{
    const struct model_judge judge = {.can_ask = can_ask};
    struct model_match match;
    struct model_copy copy = {0};
    struct json *spec = json_new_object();
    const struct model_provider *p = models_find_provider(t, sv_of("ollama"));
    if (!json_set_str(spec, "id", "found")) {
        json_destroy(spec);
        return PI_NOMEM;
    }
    if (!models_add_found(t, p, spec) || !models_add_unknown(t, p, sv_of("new"))) {
        return PI_NOMEM;
    }
    enum pi_status status = models_match(&match, t, NULL, "p/m", &judge, NULL);
    if (!status) {
        status = model_copy_init(&copy, match.model, NULL);
    }
    model_copy_finish(&copy);
    return status;
}

static void test_the_table(void **state)
{
    (void)state;
    bool failed = true;
    for (size_t n = 1; failed; n++) {
        struct models *t = NULL;
        struct buf problems = {0};
        struct pi_error err = {0};
        oom_start(n);
        enum pi_status status =
            models_load(&t, scratch_path(dir, "models.json"), &problems, &err);
        if (!status) {
            status = use_table(t);
        }
        failed = oom_stop();
        // The line of a mistake is worth no failure; it may be wrong then.
        assert_true(failed || status == PI_OK);
        assert_true(status == PI_OK || status == PI_NOMEM);
        models_destroy(t);
        buf_finish(&problems);
    }
}

static enum pi_status use_auth(struct auth *a)
{
    struct buf problems = {0}, text = {0};
    struct json *headers = NULL, *given = NULL;
    char *key = NULL;
    struct model m = {.id = "m", .provider = "q", .auth_header = true};
    enum pi_status status = auth_refresh(a, &problems, NULL);
    if (!status) {
        status = json_parse(&given, sv_of("{\"B\":\"MINE\"}"), NULL, NULL);
        m.headers = given;
    }
    if (!status) {
        status = auth_key(&key, a, &m, NULL, NULL);
    }
    if (!status) {
        status = auth_headers(&headers, a, &m, key, NULL, NULL);
    }
    buf_adds(&text, "my-own-value and abcdefgh");
    auth_redact(a, &text);
    if (!status && !buf_ok(&text)) {
        status = PI_NOMEM;
    }
    if (!status) {
        assert_string_equal(buf_cstr(&text), "[key] and [key]");
    }
    json_destroy(headers);
    json_destroy(given);
    free(key);
    buf_finish(&text);
    buf_finish(&problems);
    return status;
}

static void test_keys(void **state)
{
    (void)state;
    const char *const list[] = {"MINE=my-own-value", "OPENAI_API_KEY=12345678", NULL};
    struct env env;
    assert_int_equal(env_copy(&env, list, NULL), PI_OK);
    const char *files[] = {scratch_path(dir, "auth.json"),
                           scratch_path(dir, "models.json")};
    const struct auth_options options = {.file = files[0],
                                         .models_file = files[1],
                                         .environment = &env,
                                         .cwd = "/",
                                         .api_key = "option-key"};
    bool failed = true;
    for (size_t n = 1; failed; n++) {
        struct auth *a = NULL;
        struct pi_error err = {0};
        oom_start(n);
        enum pi_status status = auth_create(&a, &options, &err);
        if (!status) {
            status = auth_bind(a, "other", &err);
        }
        if (!status) {
            status = use_auth(a);
        }
        failed = oom_stop();
        if (status != (failed ? PI_NOMEM : PI_OK)) {
            fail_msg("allocation %zu: %d", n, status);
        }
        auth_destroy(a);
    }
    env_finish(&env);
}

static void test_answers_of_servers(void **state)
{
    (void)state;
    bool failed = true;
    for (size_t n = 1; failed; n++) {
        struct json *list = json_new_array();
        bool ollama;
        oom_start(n);
        bool ok =
            local_read_models(list,
                              sv_of("{\"data\":[{\"id\":\"a\"},{\"id\":\"b\"}]}")) &&
            local_read_props(list, sv_of("{\"default_generation_settings\":{\"n_ctx\":9},"
                                         "\"modalities\":{\"vision\":true}}")) &&
            local_read_ps(list,
                          sv_of("{\"models\":[{\"name\":\"b\",\"context_length\":7}]}"),
                          &ollama) &&
            local_read_studio(list,
                              sv_of("{\"models\":[{\"key\":\"a\",\"type\":\"vlm\"}]}")) &&
            local_read_show(json_first(list),
                            sv_of("{\"capabilities\":[\"thinking\",\"completion\"]}")) &&
            local_finish(&list);
        failed = oom_stop();
        assert_true(failed || ok);
        json_destroy(list);
    }
}

int main(void)
{
    cJSON_InitHooks(&(cJSON_Hooks){.malloc_fn = oom_malloc, .free_fn = free});
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_the_table),
        cmocka_unit_test(test_keys),
        cmocka_unit_test(test_answers_of_servers),
    };
    return cmocka_run_group_tests(tests, setup, teardown);
}
