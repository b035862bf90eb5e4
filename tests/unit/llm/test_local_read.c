#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <string.h>

#include "llm/local_read.h"

static struct json *list_of(const char *models)
{
    struct json *list = json_new_array();
    assert_true(local_read_models(list, sv_of(models)));
    return list;
}

static void expect(struct json *list, const char *text)
{
    struct buf b = {0};
    assert_true(local_finish(&list));
    json_write(&b, list);
    if (strcmp(buf_cstr(&b), text) != 0) {
        fail_msg("%s", buf_cstr(&b));
    }
    buf_finish(&b);
    json_destroy(list);
}

static const char two[] =
    "{\"object\":\"list\",\"data\":[{\"id\":\"a\",\"object\":\"model\"},{\"id\":\"b\"}]}";

static void test_models(void **state)
{
    (void)state;
    expect(list_of(two), "[{\"id\":\"a\"},{\"id\":\"b\"}]");
    // vLLM says the window here.
    expect(list_of("{\"data\":[{\"id\":\"a\",\"max_model_len\":4096}]}"),
           "[{\"id\":\"a\",\"contextWindow\":4096}]");
    expect(list_of("{\"data\":[{\"id\":\"\"},{\"id\":7},3,null,{\"id\":\"x\","
                   "\"max_model_len\":-1}]}"),
           "[{\"id\":\"x\"}]");
    expect(list_of("{\"data\":{}}"), "[]");
    expect(list_of("<html>nginx</html>"), "[]");
    expect(list_of("[]"), "[]");
    expect(list_of(""), "[]");
    expect(list_of("{\"data\":[{\"id\":\"a\""), "[]");
}

static void test_props_of_llama_cpp(void **state)
{
    (void)state;
    struct json *list = list_of("{\"data\":[{\"id\":\"a\"}]}");
    assert_true(
        local_read_props(list, sv_of("{\"default_generation_settings\":{\"n_ctx\":8192},"
                                     "\"modalities\":{\"vision\":true}}")));
    expect(list,
           "[{\"id\":\"a\",\"contextWindow\":8192,\"input\":[\"text\",\"image\"]}]");
    list = list_of(two);
    assert_true(local_read_props(list, sv_of("{\"error\":\"not here\"}")));
    expect(list, "[{\"id\":\"a\"},{\"id\":\"b\"}]");
}

static void test_ollama(void **state)
{
    (void)state;
    struct json *list = list_of("{\"data\":[{\"id\":\"a\"},{\"id\":\"b\"},{\"id\":\"c\"},"
                                "{\"id\":\"embed\"}]}");
    bool ollama = false;
    assert_true(local_read_ps(list,
                              sv_of("{\"models\":[{\"name\":\"b\",\"model\":\"b\","
                                    "\"context_length\":4096},{\"name\":\"z\"}]}"),
                              &ollama));
    assert_true(ollama);
    struct json *a = json_first(list), *b = json_next(a), *c = json_next(b);
    const char *shown =
        "{\"model_info\":{\"general.architecture\":\"llama\",\"llama.context_length\":"
        "131072},\"capabilities\":[\"completion\",\"tools\",\"thinking\",\"vision\"]}";
    assert_true(local_read_show(a, sv_of(shown)));
    assert_true(local_read_show(b, sv_of(shown)));
    assert_true(
        local_read_show(c, sv_of("{\"parameters\":\"stop \\\"<s>\\\"\\nnum_ctx   "
                                 "32768\",\"model_info\":{\"x.context_length\":9}}")));
    assert_true(
        local_read_show(json_next(c), sv_of("{\"capabilities\":[\"embedding\"]}")));
    // The one that is loaded comes first, and its window is what is served.
    expect(list,
           "[{\"id\":\"b\",\"contextWindow\":4096,\"(loaded)\":true,\"reasoning\":true,"
           "\"input\":[\"text\",\"image\"]},{\"id\":\"a\",\"contextWindow\":131072,"
           "\"reasoning\":true,\"input\":[\"text\",\"image\"]},{\"id\":\"c\","
           "\"contextWindow\":32768}]");
    list = list_of(two);
    assert_true(local_read_ps(list, sv_of("{\"detail\":\"Not Found\"}"), &ollama));
    assert_false(ollama);
    expect(list, "[{\"id\":\"a\"},{\"id\":\"b\"}]");
}

static void test_lm_studio(void **state)
{
    (void)state;
    struct json *list =
        list_of("{\"data\":[{\"id\":\"a\"},{\"id\":\"b\"},{\"id\":\"e\"}]}");
    assert_true(local_read_studio(
        list, sv_of("{\"models\":[{\"type\":\"llm\",\"key\":\"a\",\"max_context_length\":"
                    "32000,\"loaded_instances\":[],\"capabilities\":{\"vision\":false}},"
                    "{\"type\":\"llm\",\"key\":\"b\",\"max_context_length\":32000,"
                    "\"loaded_instances\":[{\"id\":\"b\",\"config\":{\"context_length\":"
                    "8000}}]},{\"type\":\"embedding\",\"key\":\"e\"}]}")));
    expect(list, "[{\"id\":\"b\",\"contextWindow\":8000,\"(loaded)\":true},"
                 "{\"id\":\"a\",\"contextWindow\":32000}]");
    list = list_of(two);
    assert_true(local_read_studio(
        list,
        sv_of("{\"data\":[{\"id\":\"a\",\"type\":\"vlm\",\"state\":\"not-loaded\","
              "\"max_context_length\":32000},{\"id\":\"b\",\"type\":\"embeddings\"}]}")));
    expect(list,
           "[{\"id\":\"a\",\"contextWindow\":32000,\"input\":[\"text\",\"image\"]}]");
}

// Whatever is sent: no reader falls over it.
static void test_strange_answers(void **state)
{
    (void)state;
    static const char *const answers[] = {
        "null",
        "7",
        "\"x\"",
        "[[]]",
        "{\"models\":7}",
        "{\"models\":[7,null,[],{}]}",
        "{\"data\":[[]]}",
        "{\"model_info\":[1]}",
        "{\"capabilities\":{\"a\":1}}",
        "{\"parameters\":7}",
        "{\"default_generation_settings\":[]}",
        "{\"models\":[{\"key\":\"a\",\"loaded_instances\":7,\"capabilities\":[]}]}",
        "{\"models\":[{\"name\":\"a\",\"context_length\":1e300}]}",
    };
    for (size_t i = 0; i < sizeof answers / sizeof *answers; i++) {
        struct json *list = list_of(two);
        struct sv body = sv_of(answers[i]);
        bool ollama;
        assert_true(local_read_models(list, body));
        assert_true(local_read_props(list, body));
        assert_true(local_read_ps(list, body, &ollama));
        assert_true(local_read_studio(list, body));
        assert_true(local_read_show(json_first(list), body));
        assert_true(local_finish(&list));
        json_destroy(list);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_models),          cmocka_unit_test(test_props_of_llama_cpp),
        cmocka_unit_test(test_ollama),          cmocka_unit_test(test_lm_studio),
        cmocka_unit_test(test_strange_answers),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
