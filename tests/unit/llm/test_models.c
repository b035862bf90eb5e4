#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "llm/model_copy.h"
#include "llm/models.h"
#include "scratch.h"
#include "sys/clock.h"

struct place {
    char *dir;
    struct models *t;
    struct buf problems;
};

static int setup(void **state)
{
    struct place *at = calloc(1, sizeof *at);
    at->dir = scratch_make();
    *state = at;
    return 0;
}

static int teardown(void **state)
{
    struct place *at = *state;
    models_destroy(at->t);
    buf_finish(&at->problems);
    scratch_remove(at->dir);
    free(at);
    return 0;
}

static void load(struct place *at, const char *text)
{
    models_destroy(at->t);
    at->t = NULL;
    buf_clear(&at->problems);
    if (text) {
        scratch_text(at->dir, "models.json", text);
    }
    assert_int_equal(
        models_load(&at->t, scratch_path(at->dir, "models.json"), &at->problems, NULL),
        PI_OK);
}

static const struct model *find(const struct place *at, const char *provider,
                                const char *id)
{
    for (size_t i = 0; i < models_len(at->t); i++) {
        const struct model *m = models_at(at->t, i);
        if (strcmp(m->provider, provider) == 0 && strcmp(m->id, id) == 0) {
            return m;
        }
    }
    return NULL;
}

static void expect_problem(const struct place *at, const char *part)
{
    if (!strstr(buf_cstr(&at->problems), part)) {
        fail_msg("\"%s\" is not in \"%s\"", part, buf_cstr(&at->problems));
    }
}

static void test_the_built_in_table(void **state)
{
    struct place *at = *state;
    load(at, NULL);
    assert_string_equal(buf_cstr(&at->problems), "");
    const struct model *m = find(at, "anthropic", "claude-haiku-4-5");
    assert_non_null(m);
    assert_string_equal(m->api, "anthropic-messages");
    assert_string_equal(m->base_url, "https://api.anthropic.com");
    assert_int_equal(m->context_window, 200000);
    assert_int_equal(m->max_tokens, 64000);
    assert_true(m->reasoning && m->input_image && !m->keyless);
    assert_true(m->cost.cache_write > 1.24 && m->cost.cache_write < 1.26);
    m = find(at, "anthropic", "claude-opus-5-5");
    assert_true(m->thinking_unsupported[THINKING_OFF]);
    assert_string_equal(m->thinking_values[THINKING_MINIMAL], "low");
    assert_string_equal(models_at(at->t, 0)->provider, "anthropic");
    const struct model_provider *p = models_find_provider(at->t, sv_of("Ollama"));
    assert_non_null(p);
    assert_true(p->keyless && p->discovered && p->builtin);
    assert_false(models_find_provider(at->t, sv_of("openai"))->discovered);
}

// Every model of the table can be reached and has sensible numbers.
static void test_the_built_in_table_is_complete(void **state)
{
    struct place *at = *state;
    load(at, NULL);
    for (size_t i = 0; i < models_len(at->t); i++) {
        const struct model *m = models_at(at->t, i);
        assert_non_null(m->base_url);
        assert_non_null(m->api);
        assert_true(strcmp(m->name, m->id) != 0);
        assert_true(m->context_window >= 100000);
        assert_true(m->max_tokens >= 16384 && m->max_tokens <= m->context_window);
        assert_true(m->cost.output >= m->cost.input);
    }
    assert_true(models_len(at->t) > 15);
}

static void test_a_provider_of_the_user(void **state)
{
    struct place *at = *state;
    load(at,
         "{ // mine\n"
         "  \"providers\": {\n"
         "    \"box\": {\n"
         "      \"baseUrl\": \"http://box:8080/v1\", \"api\": \"openai-completions\",\n"
         "      \"apiKey\": \"BOX_KEY\", \"headers\": {\"A\": \"1\", \"B\": \"1\"},\n"
         "      \"compat\": {\"supportsStore\": false}, \"authHeader\": true,\n"
         "      \"models\": [{\"id\": \"small\"}, {\"id\": \"big\", \"name\": \"Big\",\n"
         "        \"reasoning\": true, \"input\": [\"text\", \"image\"],\n"
         "        \"cost\": {\"input\": 1.5}, \"contextWindow\": 1000,\n"
         "        \"maxTokens\": 100, \"headers\": {\"B\": \"2\"},\n"
         "        \"compat\": {\"supportsStore\": true, \"x\": 1},\n"
         "        \"api\": \"anthropic-messages\", \"baseUrl\": \"http://other/\",\n"
         "        \"thinkingLevelMap\": {\"low\": \"lo\", \"high\": null}},],\n"
         "    },\n"
         "  },\n"
         "}\n");
    assert_string_equal(buf_cstr(&at->problems), "");
    const struct model *m = find(at, "box", "small");
    assert_string_equal(m->name, "small");
    assert_string_equal(m->key_source, "BOX_KEY");
    assert_int_equal(m->context_window, 128000);
    assert_int_equal(m->max_tokens, 16384);
    assert_true(!m->reasoning && !m->input_image && m->auth_header && !m->keyless);
    assert_string_equal(json_get_str(m->headers, "B"), "1");
    m = find(at, "box", "big");
    assert_string_equal(m->name, "Big");
    assert_string_equal(m->api, "anthropic-messages");
    assert_string_equal(m->base_url, "http://other/");
    assert_int_equal(m->context_window, 1000);
    assert_string_equal(json_get_str(m->headers, "A"), "1");
    assert_string_equal(json_get_str(m->headers, "B"), "2");
    assert_true(json_get_bool(m->compat, "supportsStore", false));
    assert_string_equal(m->thinking_values[THINKING_LOW], "lo");
    assert_true(m->thinking_unsupported[THINKING_HIGH]);
    const struct model_provider *p = models_find_provider(at->t, sv_of("box"));
    assert_false(p->discovered);
}

static void test_built_in_providers_are_changed(void **state)
{
    struct place *at = *state;
    load(at,
         "{\"providers\": {\n"
         "\"anthropic\": {\"baseUrl\": \"http://proxy/\", \"headers\": {\"H\": \"h\"},\n"
         "  \"models\": [{\"id\": \"claude-next\", \"contextWindow\": 5000},\n"
         "               {\"id\": \"claude-haiku-4-5\", \"maxTokens\": 7}],\n"
         "  \"modelOverrides\": {\"claude-opus-4-8\": {\"name\": \"Opus\",\n"
         "    \"cost\": {\"input\": 9}, \"headers\": {\"I\": \"i\"}}}},\n"
         "\"ollama\": {\"baseUrl\": \"http://gpu:11434/v1\"}}}");
    assert_string_equal(buf_cstr(&at->problems), "");
    const struct model *m = find(at, "anthropic", "claude-next");
    assert_string_equal(m->base_url, "http://proxy/");
    assert_string_equal(m->api, "anthropic-messages");
    assert_int_equal(m->context_window, 5000);
    assert_false(m->keyless);
    m = find(at, "anthropic", "claude-haiku-4-5"); // replaced as a whole
    assert_int_equal(m->max_tokens, 7);
    assert_int_equal(m->context_window, 128000);
    m = find(at, "anthropic", "claude-opus-4-8");
    assert_string_equal(m->name, "Opus");
    assert_string_equal(m->base_url, "http://proxy/");
    assert_true(m->cost.input > 8.9 && m->cost.output > 24.9);
    assert_string_equal(json_get_str(m->headers, "H"), "h");
    assert_string_equal(json_get_str(m->headers, "I"), "i");
    const struct model_provider *p = models_find_provider(at->t, sv_of("ollama"));
    assert_string_equal(p->base_url, "http://gpu:11434/v1");
    assert_true(p->discovered);
}

static void test_a_server_without_models_is_asked(void **state)
{
    struct place *at = *state;
    load(at, "{\"providers\": {\"box\": {\"baseUrl\": \"http://box:1/v1\"},\n"
             "\"shut\": {\"baseUrl\": \"http://shut:1/v1\", \"apiKey\": \"abc\"}}}");
    assert_string_equal(buf_cstr(&at->problems), "");
    assert_true(models_find_provider(at->t, sv_of("box"))->discovered);
    assert_true(models_find_provider(at->t, sv_of("box"))->keyless);
    assert_false(models_find_provider(at->t, sv_of("shut"))->discovered);
}

static void test_mistakes_name_the_line(void **state)
{
    static const struct {
        const char *text, *problem;
    } cases[] = {
        {"{\n\"providers\": {\n\"p\": {\"baseUrl\" \"x\"}}}", "line 3, column 18: "},
        {"{\n\"providers\": [\n]}",
         "line 2: providers must be an object {\"name\": {...}}; it is ignored"},
        {"[]", "line 1: the file must be an object"},
        {"{\"providers\":\n{\"p\": 7}}", "line 2: provider \"p\": it must be an object"},
        {"{\"providers\":{\"p\":{\n\"baseUrl\":\"box:8080\"}}}",
         "line 2: provider \"p\": baseUrl must be a URL like"},
        {"{\"providers\":{\"p\":{\n\"baseURL\":\"http://x/\"}}}",
         "line 2: provider \"p\": baseURL is not known; is \"baseUrl\" meant?"},
        {"{\"providers\":{\"p\":{\n\"models\":[]}}}",
         "line 1: provider \"p\": \"baseUrl\" is missing"},
        {"{\"providers\":{\"p\":{\"baseUrl\":\"http://x/"
         "\",\n\"models\":[{\"id\":\"m\"}]}}}",
         "provider \"p\": \"api\" is missing"},
        {"{\"providers\":{\"p\":{\n\"api\":\"openai\"}}}",
         "line 2: provider \"p\": api must be \"anthropic-messages\" or"},
        {"{\"providers\":{\"openai\":{\"models\":[\n{\"id\":\"m\",\n\"contextWindow\":"
         "\"1k\"}]}}}",
         "line 3: provider \"openai\": model \"m\": contextWindow must be a number"},
        {"{\"providers\":{\"openai\":{\"models\":[\n{\"name\":\"m\"}]}}}",
         "line 2: provider \"openai\": \"id\" is missing"},
        {"{\"providers\":{\"openai\":{\"models\":[{\"id\":\"m\"},\n\"n\"]}}}",
         "line 2: provider \"openai\": each of \"models\" must be an object"},
        {"{\"providers\":{\"openai\":{\"models\":[{\"id\":\"m\",\n\"input\":\"text\"}]}}"
         "}",
         "line 2: provider \"openai\": model \"m\": input must be [\"text\"] or"},
        {"{\"providers\":{\"openai\":{\"models\":[{\"id\":\"m\",\n\"cost\":{\"input\":"
         "\"1\"}"
         "}]}}}",
         "line 2: provider \"openai\": model \"m\": cost must be an object of numbers"},
        {"{\"providers\":{\"openai\":{\"models\":[{\"id\":\"m\",\n\"thinkingLevelMap\":{"
         "\"hihg\":\"x\"}}]}}}",
         "model \"m\": thinkingLevelMap must be an object with off, minimal"},
        {"{\"providers\":{\"openai\":{\"modelOverrides\":{\n\"m\":{\"reasoning\":1}}}}}",
         "line 2: provider \"openai\": model \"m\": reasoning must be true or false"},
        {"{\"providers\":{\"openai\":{\"modelOverrides\":{\n\"m\":1}}}}",
         "line 2: provider \"openai\": model \"m\": its override must be an object"},
        {"{\"providers\":{\"openai\":{\"headers\":{\n\"A\":1}}}}",
         "line 1: provider \"openai\": headers must be an object of strings"},
        {"{\"providers\":{\"openai\":{\"models\":[{\"id\":\"m\",\n\"maxTokesn\":5}]}}}",
         "line 2: provider \"openai\": model \"m\": maxTokesn is not known; is "
         "\"maxTokens\" meant?"},
        {"{\"provider\":\n{}}", "line 2: provider is not known; is \"providers\" meant?"},
    };
    struct place *at = *state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        load(at, cases[i].text);
        expect_problem(at, "models.json: line ");
        expect_problem(at, cases[i].problem);
        assert_non_null(find(at, "openai", "gpt-5.5")); // the rest still works
    }
}

static void test_what_is_right_beside_a_mistake_counts(void **state)
{
    struct place *at = *state;
    load(at,
         "{\"providers\": {\"p\": {\"baseUrl\": \"http://x/\", \"api\": "
         "\"openai-completions\", \"models\": [{\"id\": 7}, {\"id\": \"a\", "
         "\"contextWindow\": -1, \"maxTokens\": 99}, {\"id\": \"b\", \"name\": \"\"}]},"
         "\"q\": {\"models\": [{\"id\": \"lost\"}, {\"id\": \"kept\", \"baseUrl\": "
         "\"http://y/\"}]}}, \"other\": {\"a\": 1}}");
    const struct model *m = find(at, "p", "a");
    assert_int_equal(m->context_window, 128000);
    assert_int_equal(m->max_tokens, 99);
    assert_string_equal(find(at, "p", "b")->name, "b");
    assert_null(find(at, "q", "lost"));
    assert_string_equal(find(at, "q", "kept")->api, "openai-completions");
    assert_null(strstr(buf_cstr(&at->problems), "other"));
}

static void test_no_file_a_folder_and_an_empty_file(void **state)
{
    struct place *at = *state;
    load(at, "");
    assert_int_equal(at->problems.len, 0);
    scratch_check(unlink(scratch_path(at->dir, "models.json")) == 0, "unlink");
    scratch_check(mkdir(scratch_path(at->dir, "models.json"), 0700) == 0, "mkdir");
    load(at, NULL);
    expect_problem(at, "models.json");
    expect_problem(at, "directory");
    assert_true(models_len(at->t) > 15);
}

static void test_ten_thousand_models(void **state)
{
    struct place *at = *state;
    struct buf text = {0};
    buf_adds(&text, "{\"providers\":{\"openrouter\":{\"models\":[");
    for (int i = 0; i < 10000; i++) {
        buf_addf(&text,
                 "{\"id\":\"maker/model-%d\",\"name\":\"Model %d\",\"reasoning\":true,"
                 "\"cost\":{\"input\":1,\"output\":2},\"contextWindow\":%d},\n",
                 i, i, i < 5000 ? 1000 + i : -1);
    }
    buf_adds(&text, "]}}}");
    int64_t start = clock_mono_ms();
    load(at, buf_cstr(&text));
    int64_t took = clock_mono_ms() - start;
    assert_non_null(find(at, "openrouter", "maker/model-9999"));
    assert_int_equal(find(at, "openrouter", "maker/model-4999")->context_window, 5999);
    expect_problem(at, "and 4980 more mistakes");
    assert_in_range(took, 0, 5000);
    buf_finish(&text);
}

static void test_what_a_server_says(void **state)
{
    struct place *at = *state;
    load(at,
         "{\"providers\":{\"ollama\":{\"models\":[{\"id\":\"mine\",\"name\":\"Mine\"}],"
         "\"modelOverrides\":{\"theirs\":{\"reasoning\":true}}}}}");
    const struct model_provider *p = models_find_provider(at->t, sv_of("ollama"));
    struct json *spec;
    assert_int_equal(
        json_parse(&spec, sv_of("{\"id\":\"mine\",\"contextWindow\":8000}"), NULL, NULL),
        PI_OK);
    assert_true(models_add_found(at->t, p, spec));
    assert_int_equal(json_parse(&spec,
                                sv_of("{\"id\":\"theirs\",\"contextWindow\":8000}"), NULL,
                                NULL),
                     PI_OK);
    assert_true(models_add_found(at->t, p, spec));
    assert_true(models_add_found(at->t, p, json_new_object())); // nothing to go by
    const struct model *m = find(at, "ollama", "mine");
    assert_string_equal(m->name, "Mine");
    assert_int_equal(m->context_window, 8000);
    m = find(at, "ollama", "theirs");
    assert_int_equal(m->max_tokens, 2000);
    assert_true(m->reasoning && m->keyless);
    m = models_add_unknown(at->t, p, sv_of("other"));
    assert_string_equal(m->id, "other");
    assert_int_equal(m->context_window, 0);
}

static void test_a_copy_outlives_its_table(void **state)
{
    struct place *at = *state;
    load(at, "{\"providers\":{\"anthropic\":{\"baseUrl\":\"http://me:word@proxy/?k=1\","
             "\"apiKey\":\"secret-key\",\"headers\":{\"X-Key\":\"secret\"},"
             "\"compat\":{\"a\":1}}}}");
    struct model_copy c = {0};
    const struct model *m = find(at, "anthropic", "claude-opus-4-8");
    assert_int_equal(model_copy_init(&c, m, NULL), PI_OK);
    struct json *shown = model_json(m);
    models_destroy(at->t);
    at->t = NULL;
    assert_string_equal(c.model.id, "claude-opus-4-8");
    assert_string_equal(c.model.provider, "anthropic");
    assert_string_equal(c.model.base_url, "http://me:word@proxy/?k=1");
    assert_string_equal(c.model.key_source, "secret-key");
    assert_string_equal(json_get_str(c.model.headers, "X-Key"), "secret");
    assert_string_equal(c.model.thinking_values[THINKING_XHIGH], "max");
    assert_int_equal(c.model.context_window, 1000000);
    assert_true(c.model.reasoning && c.model.input_image);
    assert_true(c.model.cost.output > 24);
    model_copy_finish(&c);
    // What faces get to see holds no secret.
    struct buf text = {0};
    json_write(&text, shown);
    assert_null(strstr(buf_cstr(&text), "secret"));
    assert_null(strstr(buf_cstr(&text), "word"));
    assert_non_null(strstr(buf_cstr(&text), "http://proxy/"));
    buf_finish(&text);
    json_destroy(shown);
}

int main(void)
{
#define TEST(f) cmocka_unit_test_setup_teardown(f, setup, teardown)
    const struct CMUnitTest tests[] = {
        TEST(test_the_built_in_table),
        TEST(test_the_built_in_table_is_complete),
        TEST(test_a_provider_of_the_user),
        TEST(test_built_in_providers_are_changed),
        TEST(test_a_server_without_models_is_asked),
        TEST(test_mistakes_name_the_line),
        TEST(test_what_is_right_beside_a_mistake_counts),
        TEST(test_no_file_a_folder_and_an_empty_file),
        TEST(test_ten_thousand_models),
        TEST(test_what_a_server_says),
        TEST(test_a_copy_outlives_its_table),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
