#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <cjson/cJSON.h>
#include <poll.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "oom.h"
#include "tool/registry.h"
#include "tool/run.h"
#include "tool/validate.h"

// wrap: malloc calloc realloc strdup

// Every allocation fails once. Memory must be given back (the address sanitizer looks),
// and each call must still have its one end.

static const char schema_text[] =
    "{\"type\":\"object\",\"properties\":{\"path\":{\"type\":\"string\"},"
    "\"either\":{\"anyOf\":[{\"type\":\"integer\"},{\"type\":\"array\",\"items\":{"
    "\"type\":"
    "\"string\"}}]},\"list\":{\"type\":\"array\",\"items\":{\"type\":\"integer\"}}},"
    "\"required\":[\"path\"]}";

static void test_validate(void **state)
{
    (void)state;
    static const char *const texts[] = {
        "{\"path\":7,\"list\":\"[1,\\\"2\\\"]\",\"either\":\"x\",\"n\":null}",
        "{\"path\":\"\\d\"}",
        "\"{\\\"path\\\":1}\"",
        "{\"list\":[\"x\"],\"either\":{},\"long\":\"zzzzzzzzzzzzzzzzzzz\"}",
        "{\"path\":\"a\\u0000\"}",
        "{\"path\":",
    };
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
        bool failed = true;
        for (size_t n = 1; failed; n++) {
            struct json *schema = NULL, *args = NULL;
            struct buf problems = {0};
            struct pi_error err = {0};
            assert_int_equal(json_parse(&schema, sv_of(schema_text), NULL, NULL), PI_OK);
            oom_start(n);
            enum pi_status status =
                validate_parse(&args, NULL, "t", sv_of(texts[i]), &err);
            bool parsed = status == PI_OK;
            if (parsed) {
                status = validate_arguments(&args, schema, "t", &problems);
            }
            failed = oom_stop();
            assert_true(parsed || err.message[0]);
            assert_true(status != PI_INVALID || !parsed || problems.len > 0 || failed);
            buf_finish(&problems);
            json_destroy(args);
            json_destroy(schema);
        }
    }
}

/* A batch */

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct run_note *first;

static void post(void *data, struct run_note *note)
{
    (void)data;
    pthread_mutex_lock(&lock);
    struct run_note **end = &first;
    while (*end) {
        end = run_note_link(*end);
    }
    *run_note_link(note) = NULL;
    *end = note;
    pthread_mutex_unlock(&lock);
}

static struct run_note *take(void)
{
    pthread_mutex_lock(&lock);
    struct run_note *note = first;
    first = note ? *run_note_link(note) : NULL;
    pthread_mutex_unlock(&lock);
    return note;
}

static enum pi_status plan(struct tool_plan *p, const struct json *args,
                           const struct tool_context *context, struct pi_error *err)
{
    (void)args;
    (void)context;
    p->effect = TOOL_CHANGE;
    p->target.key = strdup("key");
    p->target.path = strdup("path");
    return p->target.key && p->target.path ? PI_OK : error_nomem(err);
}

static enum pi_status execute(struct tool_result *result, struct tool_call *call,
                              struct pi_error *err)
{
    struct tool_update update = {.text = sv_of("piece")};
    call->progress(call, &update);
    return tool_result_text(result, sv_of("ok")) ? PI_OK : error_nomem(err);
}

static enum run_verdict judge(void *data, const struct tool_call *call,
                              struct pi_error *err)
{
    (void)data;
    (void)err;
    return strcmp(call->id, "asked") == 0 ? RUN_ASK : RUN_ALLOW;
}

static void ask(void *data, const struct tool_call *call)
{
    run_answer(*(struct run **)data, call->id, false, "no");
}

static void ask_end(void *data, const struct tool_call *call)
{
    (void)data;
    (void)call;
}

static int starts, ends;

static void started(void *data, const struct tool_call *call)
{
    (void)data;
    (void)call;
    starts++;
}

static void updated(void *data, const struct tool_call *call, struct sv text)
{
    (void)data;
    (void)call;
    assert_true(sv_eqs(text, "piece"));
}

static void ended(void *data, const struct tool_call *call, struct tool_result *result)
{
    (void)data;
    (void)call;
    assert_true(result->is_error || result->content.len == 1);
    ends++;
}

static const struct pi_tool_definition edit = {
    .name = "edit", .parameters = schema_text, .plan = plan, .execute = execute};
static const struct pi_tool_definition other = {
    .name = "other", .parameters = schema_text, .execute = execute};
static const struct pi_tool_definition *const definitions[] = {&edit, &other};

// Runs the batch; returns how many calls it took.
static int run_batch(struct registry *registry, struct cancel *cancel)
{
    static const char *const calls[][2] = {{"a", "edit"},
                                           {"b", "edit"},
                                           {"asked", "edit"},
                                           {"c", "other"},
                                           {"d", "nothing"}};
    struct tool_context context = {.cwd = "/"};
    struct run *run = NULL;
    struct run_port port = {.data = &run,
                            .post = post,
                            .judge = judge,
                            .ask = ask,
                            .ask_end = ask_end,
                            .started = started,
                            .updated = updated,
                            .ended = ended};
    if (run_create(&run, registry, &context, &port, cancel, true, NULL)) {
        return 0;
    }
    int added = 0;
    for (size_t i = 0; i < sizeof calls / sizeof *calls; i++) {
        struct run_request request = {.id = calls[i][0],
                                      .name = calls[i][1],
                                      .arguments = sv_of("{\"path\":7}"),
                                      .complete = true,
                                      .abort_after_ms = -1};
        added += run_add(run, &request, NULL) == PI_OK;
    }
    int wait_ms;
    while (run_step(run, &wait_ms) == PI_MORE) {
        poll(NULL, 0, 0);
        for (struct run_note *n = take(); n; n = take()) {
            run_take(run, n);
        }
    }
    run_destroy(run);
    return added;
}

static void test_run(void **state)
{
    (void)state;
    bool failed = true;
    for (size_t n = 1; failed; n++) {
        struct registry registry;
        struct cancel *cancel = NULL;
        starts = ends = 0;
        assert_int_equal(registry_init(&registry, definitions, 2, NULL), PI_OK);
        assert_int_equal(registry_set_active(&registry, "edit,other", NULL), PI_OK);
        assert_int_equal(cancel_create(&cancel, NULL, NULL), PI_OK);
        oom_start(n);
        int added = run_batch(&registry, cancel);
        failed = oom_stop();
        assert_int_equal(starts, added);
        assert_int_equal(ends, added);
        cancel_unref(cancel);
        registry_finish(&registry);
    }
}

static void test_registry(void **state)
{
    (void)state;
    bool failed = true;
    for (size_t n = 1; failed; n++) {
        struct registry r = {0};
        oom_start(n);
        enum pi_status status = registry_init(&r, definitions, 2, NULL);
        if (!status) {
            status = registry_set_active(&r, "other,edit", NULL);
        }
        failed = oom_stop();
        assert_int_equal(status, failed ? PI_NOMEM : PI_OK);
        registry_finish(&r);
    }
}

int main(void)
{
    cJSON_InitHooks(&(cJSON_Hooks){.malloc_fn = oom_malloc, .free_fn = free});
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_validate),
        cmocka_unit_test(test_registry),
        cmocka_unit_test(test_run),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
