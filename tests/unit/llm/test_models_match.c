#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "llm/models_match.h"
#include "scratch.h"

static struct models *table;

static int setup(void **state)
{
    (void)state;
    char *dir = scratch_make();
    struct buf problems = {0};
    scratch_text(
        dir, "models.json",
        "{\"providers\":{\"box\":{\"baseUrl\":\"http://b/"
        "\",\"api\":\"openai-completions\","
        "\"models\":[{\"id\":\"qwen3:8b\"},{\"id\":\"a/b\"},{\"id\":\"v-9\"},{\"id\":"
        "\"v-10\"},{\"id\":\"dated-20250101\"},{\"id\":\"dated\"},{\"id\":\"m:high\"},"
        "{\"id\":\"gpt-5.5\"}]},\"shut\":{\"baseUrl\":\"http://s/\",\"apiKey\":\"k\"}}}");
    assert_int_equal(
        models_load(&table, scratch_path(dir, "models.json"), &problems, NULL), PI_OK);
    assert_int_equal(problems.len, 0);
    buf_finish(&problems);
    scratch_remove(dir);
    return 0;
}

static int teardown(void **state)
{
    (void)state;
    models_destroy(table);
    return 0;
}

// data: the providers that can be asked, with a blank before and behind each.
static bool can_ask(const void *data, const struct model *m)
{
    char word[64];
    snprintf(word, sizeof word, " %s ", m->provider);
    return strstr(data, word) != NULL;
}

struct expectation {
    const char *provider, *pattern, *keys;
    const char *found; // "provider/id[:level]", "?provider id" for an unknown one, or
                       // "!" with a part of the message
};

static void check(const struct expectation *e)
{
    struct model_match match;
    struct pi_error err = {0};
    const struct model_judge judge = {.can_ask = can_ask, .data = e->keys};
    char got[700];
    enum pi_status status =
        models_match(&match, table, e->provider, e->pattern, &judge, &err);
    if (status) {
        snprintf(got, sizeof got, "!%s", err.message);
        if (e->found[0] != '!' || !strstr(err.message, e->found + 1)) {
            fail_msg("%s: %s, not %s", e->pattern, got, e->found);
        }
        return;
    }
    const char *colon = match.level_given ? ":" : "";
    const char *level = match.level_given ? thinking_level_name(match.level) : "";
    if (match.model) {
        snprintf(got, sizeof got, "%s/%s%s%s", match.model->provider, match.model->id,
                 colon, level);
    } else {
        snprintf(got, sizeof got, "?%s %.*s%s%s", match.provider->name, (int)match.id.n,
                 match.id.p, colon, level);
    }
    if (strcmp(got, e->found) != 0) {
        fail_msg("%s %s: %s, not %s", e->provider ? e->provider : "-", e->pattern, got,
                 e->found);
    }
}

static const struct expectation patterns[] = {
    // Exact ids, in any case, and with their provider.
    {NULL, "claude-opus-4-8", "", "anthropic/claude-opus-4-8"},
    {NULL, "Claude-Opus-4-8", "", "anthropic/claude-opus-4-8"},
    {NULL, "anthropic/claude-opus-4-8", "", "anthropic/claude-opus-4-8"},
    {NULL, "ANTHROPIC/claude-opus-4-8", "", "anthropic/claude-opus-4-8"},
    {"anthropic", "claude-opus-4-8", "", "anthropic/claude-opus-4-8"},
    {"anthropic", "anthropic/claude-opus-4-8", "", "anthropic/claude-opus-4-8"},
    // Parts of ids and names.
    {NULL, "opus", "", "anthropic/claude-opus-5-5"},
    {NULL, "Haiku 4.5", "", "anthropic/claude-haiku-4-5"},
    {NULL, "anthropic/haiku", "", "anthropic/claude-haiku-5-5"},
    {"anthropic", "haiku", "", "anthropic/claude-haiku-5-5"},
    {NULL, "sonnet-4", "", "anthropic/claude-sonnet-4-6"},
    // Ids with slashes and colons.
    {NULL, "openai/gpt-oss-120b", "", "groq/openai/gpt-oss-120b"},
    {NULL, "groq/openai/gpt-oss-120b", "", "groq/openai/gpt-oss-120b"},
    {NULL, "qwen/qwen3-coder", "", "openrouter/qwen/qwen3-coder"},
    {NULL, "a/b", "", "box/a/b"},
    {NULL, "qwen3:8b", "", "box/qwen3:8b"},
    {NULL, "box/qwen3:8b", "", "box/qwen3:8b"},
    // Levels.
    {NULL, "opus:high", "", "anthropic/claude-opus-5-5:high"},
    {NULL, "anthropic/claude-opus-4-8:off", "", "anthropic/claude-opus-4-8:off"},
    {NULL, "qwen3:8b:xhigh", "", "box/qwen3:8b:xhigh"},
    {NULL, "m:high", "", "box/m:high"}, // it is the id
    {NULL, "m:high:low", "", "box/m:high:low"},
    {NULL, "opus:hihg", "", "!no thinking level; these are off, minimal"},
    {NULL, "opus:", "", "!no thinking level"},
    // Several fit: a key first, then the first provider.
    {NULL, "gpt-5.5", "", "openai/gpt-5.5"},
    {NULL, "gpt-5.5", " box ", "box/gpt-5.5"},
    {NULL, "gpt-5.5", " openai box ", "openai/gpt-5.5"},
    {NULL, "kimi", "", "moonshotai/kimi-k3.1-pro"},
    {NULL, "kimi", " openrouter ", "openrouter/moonshotai/kimi-k2.6"},
    // Versions count as numbers, and those without a date go first.
    {"box", "v-", "", "box/v-10"},
    {NULL, "dated", "", "box/dated"},
    {"box", "date", "", "box/dated"},
    {"box", "dated-2025", "", "box/dated-20250101"},
    // Ids that nobody knows.
    {NULL, "anthropic/claude-next-1", "", "?anthropic claude-next-1"},
    {NULL, "anthropic/claude-next-1:low", "", "?anthropic claude-next-1:low"},
    {"openai", "o9", "", "?openai o9"},
    {"openrouter", "maker/some-model", "", "?openrouter maker/some-model"},
    {NULL, "openrouter/maker/some-model:free", "", "?openrouter maker/some-model:free"},
    {"openrouter", "openrouter/maker/x", "", "?openrouter maker/x"},
    {NULL, "ollama/llama9:70b", "", "?ollama llama9:70b"},
    {NULL, "nosuch", "", "!no model \"nosuch\"; pi --list-models"},
    {NULL, "nosuch/model", "", "!no model \"nosuch/model\""},
    {NULL, "", "", "!no model"},
    {NULL, "anthropic/", "", "!no model"},
    {NULL, ":low", "", "!no model"},
    {"nosuch", "opus", "", "!no provider \"nosuch\"; there are anthropic, openai"},
    {"openai", "opus", "", "?openai opus"},
};

static void test_patterns(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof patterns / sizeof *patterns; i++) {
        check(&patterns[i]);
    }
}

static void test_the_default(void **state)
{
    (void)state;
    struct model_judge judge = {.can_ask = can_ask, .data = " openai anthropic "};
    assert_string_equal(models_default(table, &judge)->id, "claude-opus-5-5");
    judge.data = " box mistral ";
    assert_string_equal(models_default(table, &judge)->id, "devstral-latest");
    judge.data = "";
    assert_null(models_default(table, &judge));
}

static void test_the_named_provider(void **state)
{
    (void)state;
    assert_string_equal(models_named_provider(table, NULL, "ollama/x")->name, "ollama");
    assert_string_equal(models_named_provider(table, "vllm", "ollama/x")->name, "vllm");
    assert_string_equal(models_named_provider(table, "vllm", NULL)->name, "vllm");
    assert_null(models_named_provider(table, NULL, "x"));
    assert_null(models_named_provider(table, NULL, NULL));
    assert_null(models_named_provider(table, NULL, "x/y"));
}

static void test_queries(void **state)
{
    (void)state;
    const struct model m = {
        .provider = "openrouter", .id = "maker/big-1", .name = "Big One"};
    static const struct {
        const char *query;
        bool fits;
    } cases[] = {
        {NULL, true},
        {"", true},
        {"  ", true},
        {"big", true},
        {"one BIG", true},
        {"router big", true},
        {"openrouter/maker", true},
        {"openrouter/big-1 one", true},
        {"big two", false},
        {"open/big", false},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        if (models_fits(&m, cases[i].query) != cases[i].fits) {
            fail_msg("\"%s\"", cases[i].query ? cases[i].query : "NULL");
        }
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_patterns),
        cmocka_unit_test(test_the_default),
        cmocka_unit_test(test_the_named_provider),
        cmocka_unit_test(test_queries),
    };
    return cmocka_run_group_tests(tests, setup, teardown);
}
