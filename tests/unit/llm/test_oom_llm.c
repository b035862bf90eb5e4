#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <cjson/cJSON.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "llm/partial_json.h"
#include "llm/provider.h"
#include "oom.h"

// wrap: malloc calloc realloc strdup

// Every allocation fails once. Memory must be given back (the address sanitizer looks)
// and the failure must be told.

static void fill(struct content *c)
{
    assert_true(content_add_text(c, sv_of("some text")));
    struct block *b = content_add(c, BLOCK_TOOL_CALL);
    b->id = strdup("id");
    b->name = strdup("name");
    b->signature = strdup("sig");
    b->complete = true;
    buf_adds(&b->text, "{\"a\":[1,2]}");
    b = content_add(c, BLOCK_IMAGE);
    b->mime_type = strdup("image/png");
}

static void test_message(void **state)
{
    (void)state;
    for (int role = ROLE_USER; role <= ROLE_TOOL_RESULT; role++) {
        bool failed = true;
        for (size_t n = 1; failed; n++) {
            struct message *m = message_create((enum role)role);
            struct content copy = {0};
            fill(&m->content);
            m->details = json_new_object();
            m->error_message = strdup("e");
            oom_start(n);
            struct json *j = message_json(m);
            bool copied = content_copy(&copy, &m->content);
            failed = oom_stop();
            // Arguments that memory did not suffice for may show as {}.
            assert_true(failed || (j && copied));
            json_destroy(j);
            content_finish(&copy);
            message_destroy(m);
        }
    }
}

static void test_partial_json(void **state)
{
    (void)state;
    bool failed = true;
    for (size_t n = 1; failed; n++) {
        struct json *j = NULL;
        bool complete;
        oom_start(n);
        enum pi_status status =
            partial_json(&j, &complete, sv_of("{\"a\":[\"\\d\",{\"b\":1"), NULL);
        failed = oom_stop();
        assert_int_equal(status, failed ? PI_NOMEM : PI_OK);
        json_destroy(j);
    }
}

static enum pi_status stream_answer(const char *path)
{
    const struct model model = {
        .id = "replay", .api = "replay", .provider = "replay", .source = path};
    struct message *told = message_create(ROLE_USER);
    if (!told || !content_add_text(&told->content, sv_of("go"))) {
        message_destroy(told);
        return PI_NOMEM;
    }
    const struct llm_request request = {.messages = &told, .messages_len = 1};
    struct llm_stream *s = NULL;
    struct llm_event event = {0};
    struct pi_error err = {0};
    int wait_ms;
    enum pi_status status = provider_replay.open(&s, &model, &request, &err);
    while (!status && event.type != LLM_DONE && event.type != LLM_ERROR) {
        status = provider_replay.next(s, &event, &wait_ms, &err);
    }
    assert_true(!status || err.message[0]);
    if (!status && event.type == LLM_ERROR) {
        status = PI_NOMEM; // an expectation that memory did not suffice for
    }
    provider_replay.close(s);
    message_destroy(told);
    return status;
}

static void test_replay(void **state)
{
    (void)state;
    const char *dir = getenv("TMPDIR");
    char path[256];
    snprintf(path, sizeof path, "%s/oom-%d", dir ? dir : "/tmp", (int)getpid());
    FILE *f = fopen(path, "w");
    assert_non_null(f);
    fputs("{\"turns\":[{\"expect\":\"go\",\"blocks\":[{\"thinking\":\"t\",\"signature\":"
          "\"s\"},"
          "{\"repeatText\":{\"s\":\"ab\",\"n\":50}},{\"call\":{\"name\":\"read\","
          "\"arguments\":"
          "{\"path\":\"a\"}}}]}]}",
          f);
    fclose(f);
    bool failed = true;
    for (size_t n = 1; failed; n++) {
        oom_start(n);
        enum pi_status status = stream_answer(path);
        failed = oom_stop();
        assert_int_equal(status, failed ? PI_NOMEM : PI_OK);
    }
    unlink(path);
}

int main(void)
{
    cJSON_InitHooks(&(cJSON_Hooks){.malloc_fn = oom_malloc, .free_fn = free});
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_message),
        cmocka_unit_test(test_partial_json),
        cmocka_unit_test(test_replay),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
