// The loop with recorded turns and tools made for the test.

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "agent/agent.h"
#include "face.h"
#include "tool/definition.h"

static char dir[] = "/tmp/pi-loop-XXXXXX";
static char turns[64];

static int setup(void **state)
{
    (void)state;
    if (!mkdtemp(dir)) {
        return 1;
    }
    snprintf(turns, sizeof turns, "%s/turns.json", dir);
    return 0;
}

static int teardown(void **state)
{
    (void)state;
    unlink(turns);
    return rmdir(dir);
}

/* -- tools -- */

static enum pi_status plan_read(struct tool_plan *plan, const struct json *args,
                                const struct tool_context *context, struct pi_error *err)
{
    (void)args;
    (void)context;
    (void)err;
    plan->effect = TOOL_READ;
    return PI_OK;
}

static enum pi_status echo(struct tool_result *result, struct tool_call *call,
                           struct pi_error *err)
{
    const char *text = json_get_str(call->args, "text");
    struct tool_update update = {.text = sv_of("working\n")};
    call->progress(call, &update);
    return tool_result_text(result, sv_of(text ? text : "")) ? PI_OK : error_nomem(err);
}

static enum pi_status last_word(struct tool_result *result, struct tool_call *call,
                                struct pi_error *err)
{
    (void)call;
    result->terminate = true;
    return tool_result_text(result, sv_of("enough")) ? PI_OK : error_nomem(err);
}

static enum pi_status wait_for_abort(struct tool_result *result, struct tool_call *call,
                                     struct pi_error *err)
{
    (void)result;
    struct pollfd p = {.fd = cancel_fd(call->cancel), .events = POLLIN};
    poll(&p, 1, 10000);
    return cancel_check(call->cancel, err);
}

static const char text_schema[] =
    "{\"type\":\"object\",\"properties\":{\"text\":{\"type\":\"string\"}},"
    "\"required\":[\"text\"]}";

static const struct pi_tool_definition echo_tool = {.name = "echo",
                                                    .description = "says it",
                                                    .parameters = text_schema,
                                                    .mode = TOOL_PARALLEL,
                                                    .plan = plan_read,
                                                    .execute = echo};
static const struct pi_tool_definition end_tool = {.name = "end",
                                                   .description = "ends",
                                                   .parameters = "{\"type\":\"object\"}",
                                                   .mode = TOOL_PARALLEL,
                                                   .plan = plan_read,
                                                   .execute = last_word};
static const struct pi_tool_definition wait_tool = {.name = "wait",
                                                    .description = "waits",
                                                    .parameters = "{\"type\":\"object\"}",
                                                    .mode = TOOL_PARALLEL,
                                                    .plan = plan_read,
                                                    .execute = wait_for_abort};
static const struct pi_tool_definition ask_tool = {
    .name = "mail", .description = "asks", .parameters = text_schema, .execute = echo};
static const struct pi_tool_definition *const definitions[] = {&echo_tool, &end_tool,
                                                               &wait_tool, &ask_tool};

/* -- support -- */

static void start(struct face *f, const char *json)
{
    FILE *file = fopen(turns, "w");
    assert_non_null(file);
    fputs(json, file);
    fclose(file);
    char model[96];
    snprintf(model, sizeof model, "replay:%s", turns);
    struct pi_agent_options o = PI_AGENT_OPTIONS_INIT;
    o.cwd = dir;
    o.agent_dir = dir;
    o.model = model;
    o.tools = "echo,end,wait,mail";
    o.no_context_files = true;
    o.definitions = definitions;
    o.definitions_len = 4;
    struct pi_error err = {0};
    if (!face_start(f, &o, &err)) {
        print_error("%s\n", err.message);
        fail();
    }
}

static void prompt(struct face *f, const char *text)
{
    struct pi_error err = {0};
    if (pi_agent_prompt(f->agent, text, NULL, 0, PI_DELIVER_PROMPT, &err)) {
        print_error("%s\n", err.message);
        fail();
    }
}

static void run(struct face *f, const char *json)
{
    start(f, json);
    prompt(f, "go");
    assert_true(face_wait(f, "agent_end", 0, 10000) > 0);
}

// The last agent_end's messages as "user:go,assistant:text,toolResult!:text": ! marks
// errors.
static char *messages(struct face *f)
{
    struct buf out = {0};
    size_t at = 0;
    size_t last = 0;
    while ((at = face_wait(f, "agent_end", at, 0)) > 0) {
        last = at;
    }
    assert_true(last > 0);
    const struct json *list = json_get(face_event(f, last - 1), "messages");
    for (const struct json *m = json_first(list); m; m = json_next(m)) {
        buf_addf(&out, "%s%s%s:", out.len ? "," : "", json_get_str(m, "role"),
                 json_get_bool(m, "isError", false) ? "!" : "");
        for (const struct json *b = json_first(json_get(m, "content")); b;
             b = json_next(b)) {
            const char *text = json_get_str(b, "text");
            buf_adds(&out, text ? text : json_get_str(b, "type"));
        }
    }
    return buf_take(&out);
}

static void expect_messages(struct face *f, const char *want)
{
    char *got = messages(f);
    assert_string_equal(got, want);
    free(got);
}

static size_t count(struct face *f, const char *type)
{
    size_t n = 0;
    size_t at = 0;
    while ((at = face_wait(f, type, at, 0)) > 0) {
        n++;
    }
    return n;
}

#define TEXT_TURN(t) "{\"blocks\":[{\"text\":\"" t "\"}]}"
#define CALL(id, name, args)                                                             \
    "{\"call\":{\"id\":\"" id "\",\"name\":\"" name "\",\"arguments\":" args "}}"
#define FILE_OF(t) "{\"turns\":[" t "]}"

/* -- tests -- */

static void a_run_without_tools_has_the_order_of_the_reference(void **state)
{
    (void)state;
    struct face f = {0};
    run(&f, FILE_OF(TEXT_TURN("hello")));
    struct buf types = {0};
    face_types(&f, &types);
    assert_string_equal(buf_cstr(&types),
                        "agent_start,turn_start,message_start,message_end,message_start,"
                        "message_update,message_end,turn_end,agent_end");
    buf_finish(&types);
    expect_messages(&f, "user:go,assistant:hello");
    face_finish(&f);
}

static void results_come_in_the_order_of_the_calls(void **state)
{
    (void)state;
    struct face f = {0};
    run(&f,
        FILE_OF("{\"blocks\":[" CALL("1", "echo", "{\"text\":\"one\"}") "," CALL(
            "2", "nothing",
            "{}") "," CALL("3", "echo",
                           "{\"text\":{}}") "," CALL("4", "echo",
                                                     "{\"text\":\"four\"}") "]},{"
                                                                            "\"expect\":"
                                                                            "\"four\","
                                                                            "\"blocks\":["
                                                                            "{"
                                                                            "\"text\":"
                                                                            "\"done\"}]"
                                                                            "}"));
    size_t at = 0;
    const char *const ids[] = {"1", "2", "3", "4"};
    const bool errors[] = {false, true, true, false};
    for (int i = 0; i < 4; i++) {
        const struct json *m = NULL;
        do {
            at = face_wait(&f, "message_end", at, 1000);
            assert_true(at > 0);
            m = json_get(face_event(&f, at - 1), "message");
        } while (strcmp(json_get_str(m, "role"), "toolResult") != 0);
        assert_string_equal(json_get_str(m, "toolCallId"), ids[i]);
        assert_int_equal(json_get_bool(m, "isError", false), errors[i]);
    }
    assert_int_equal(count(&f, "tool_execution_start"), 4);
    assert_int_equal(count(&f, "tool_execution_end"), 4);
    assert_int_equal(count(&f, "turn_end"), 2);
    face_finish(&f);
}

static void a_cut_call_is_never_run(void **state)
{
    (void)state;
    struct face f = {0};
    run(&f,
        FILE_OF(
            "{\"stopReason\":\"length\",\"blocks\":[{\"call\":{\"id\":\"1\",\"name\":"
            "\"echo\",\"argumentsText\":\"{\\\"text\\\":\\\"ha\"}}]}," TEXT_TURN("ok")));
    char *got = messages(&f);
    assert_non_null(strstr(got, "toolResult!:"));
    assert_non_null(strstr(got, "were cut off"));
    free(got);
    assert_int_equal(count(&f, "tool_execution_update"), 0);
    face_finish(&f);
}

static void all_terminating_results_end_the_run(void **state)
{
    (void)state;
    struct face f = {0};
    run(&f,
        FILE_OF("{\"blocks\":[" CALL("1", "end", "{}") "," CALL("2", "end", "{}") "]}"));
    expect_messages(&f, "user:go,assistant:toolCalltoolCall,toolResult:enough,"
                        "toolResult:enough");
    face_finish(&f);
}

static void a_failing_answer_ends_the_run_and_is_left_out_later(void **state)
{
    (void)state;
    struct face f = {0};
    run(&f, FILE_OF("{\"error\":\"overloaded\"}," TEXT_TURN("again")));
    const struct json *end = face_event(&f, face_wait(&f, "turn_end", 0, 1000) - 1);
    assert_string_equal(json_get_str(json_get(end, "message"), "stopReason"), "error");
    size_t from = face_len(&f);
    assert_int_equal(pi_agent_continue(f.agent, NULL), PI_OK);
    assert_true(face_wait(&f, "agent_end", from, 5000) > 0);
    face_finish(&f);
}

static void the_same_call_again_and_again_gets_a_hint_then_an_end(void **state)
{
    (void)state;
    struct face f = {0};
    run(&f, FILE_OF("{\"repeat\":9,\"blocks\":[" CALL("x", "echo",
                                                      "{\"text\":\"same\"}") "]}"));
    assert_int_equal(count(&f, "turn_end"), 6);
    assert_int_equal(count(&f, "notice"), 1);
    char *got = messages(&f);
    size_t hints = 0;
    for (const char *p = got; (p = strstr(p, "in a row")); p++) {
        hints++;
    }
    assert_int_equal(hints, 4); // the third to the sixth
    free(got);
    face_finish(&f);
}

static void abort_while_tools_run_asks_no_further(void **state)
{
    (void)state;
    struct face f = {0};
    start(&f, FILE_OF("{\"blocks\":[" CALL("1", "wait", "{}") "," CALL(
                  "2", "wait", "{}") "]}," TEXT_TURN("never")));
    prompt(&f, "go");
    assert_true(face_wait(&f, "tool_execution_start", 0, 5000) > 0);
    pi_agent_abort(f.agent);
    assert_true(face_wait(&f, "agent_end", 0, 5000) > 0);
    char *got = messages(&f);
    assert_null(strstr(got, "never"));
    size_t results = 0;
    for (const char *p = got; (p = strstr(p, "toolResult!")); p++) {
        results++;
    }
    assert_int_equal(results, 2);
    free(got);
    // The next prompt works.
    size_t from = face_len(&f);
    prompt(&f, "again");
    assert_true(face_wait(&f, "agent_end", from, 5000) > 0);
    face_finish(&f);
}

static void abort_while_the_answer_streams(void **state)
{
    (void)state;
    struct face f = {0};
    start(&f,
          FILE_OF("{\"chunk\":1,\"chunkDelayMs\":20,\"blocks\":[{\"repeatText\":{\"s\":"
                  "\"word \",\"n\":1000}}]}," TEXT_TURN("next")));
    prompt(&f, "go");
    assert_true(face_wait(&f, "message_update", 0, 5000) > 0);
    pi_agent_abort(f.agent);
    size_t at = face_wait(&f, "turn_end", 0, 2000);
    assert_true(at > 0);
    const struct json *m = json_get(face_event(&f, at - 1), "message");
    assert_string_equal(json_get_str(m, "stopReason"), "aborted");
    face_finish(&f);
}

static void steering_comes_before_the_next_request_follow_up_at_the_end(void **state)
{
    (void)state;
    struct face f = {0};
    start(&f, FILE_OF("{\"delayMs\":300,\"blocks\":[" CALL(
                  "1", "echo",
                  "{\"text\":\"r\"}") "]},{\"expect\":\"steer\",\"blocks\":[{\"text\":"
                                      "\"a\"}]},{\"expect\":"
                                      "\"later\",\"blocks\":[{\"text\":\"b\"}]}"));
    prompt(&f, "go");
    assert_true(face_wait(&f, "turn_start", 0, 5000) > 0);
    assert_int_equal(pi_agent_prompt(f.agent, "x", NULL, 0, PI_DELIVER_PROMPT, NULL),
                     PI_BUSY);
    assert_int_equal(
        pi_agent_prompt(f.agent, "later", NULL, 0, PI_DELIVER_FOLLOW_UP, NULL), PI_OK);
    assert_int_equal(pi_agent_prompt(f.agent, "steer", NULL, 0, PI_DELIVER_STEER, NULL),
                     PI_OK);
    assert_true(face_wait(&f, "agent_end", 0, 5000) > 0);
    expect_messages(&f, "user:go,assistant:toolCall,toolResult:r,user:steer,assistant:a,"
                        "user:later,assistant:b");
    face_finish(&f);
}

// What the agent thread did after a run is over when it has answered twice.
static void settle(struct face *f)
{
    size_t at = 0;
    for (int i = 0; i < 2; i++) {
        assert_int_equal(pi_agent_list_messages(f->agent, 1, NULL), PI_OK);
        at = face_wait(f, "transcript", at, 5000);
        assert_true(at > 0);
    }
}

static void a_message_that_a_run_has_taken_starts_no_other(void **state)
{
    (void)state;
    struct face f = {0};
    start(&f, FILE_OF("{\"delayMs\":300,\"blocks\":[{\"text\":\"a\"}]}," TEXT_TURN("b")));
    prompt(&f, "go");
    assert_true(face_wait(&f, "turn_start", 0, 5000) > 0);
    assert_int_equal(
        pi_agent_prompt(f.agent, "later", NULL, 0, PI_DELIVER_FOLLOW_UP, NULL), PI_OK);
    assert_true(face_wait(&f, "agent_end", 0, 5000) > 0);
    settle(&f);
    expect_messages(&f, "user:go,assistant:a,user:later,assistant:b");
    assert_int_equal(count(&f, "notice"), 0);
    assert_int_equal(count(&f, "agent_start"), 1);
    face_finish(&f);
}

static void an_abort_is_the_end_also_after_a_steering_message(void **state)
{
    (void)state;
    struct face f = {0};
    start(
        &f,
        FILE_OF("{\"delayMs\":300,\"blocks\":[" CALL(
            "1", "echo",
            "{\"text\":\"r\"}") "]},{\"blocks\":[" CALL("2", "wait",
                                                        "{}") "]}," TEXT_TURN("never")));
    prompt(&f, "go");
    assert_true(face_wait(&f, "turn_start", 0, 5000) > 0);
    assert_int_equal(pi_agent_prompt(f.agent, "steer", NULL, 0, PI_DELIVER_STEER, NULL),
                     PI_OK);
    size_t at = face_wait(&f, "tool_execution_start", 0, 5000);
    assert_true(at > 0);
    assert_true(face_wait(&f, "tool_execution_start", at, 5000) > 0);
    pi_agent_abort(f.agent);
    assert_true(face_wait(&f, "agent_end", 0, 5000) > 0);
    settle(&f);
    assert_int_equal(count(&f, "agent_start"), 1);
    face_finish(&f);
}

static void a_message_that_an_abort_left_waits_for_the_next_prompt(void **state)
{
    (void)state;
    struct face f = {0};
    start(&f,
          FILE_OF("{\"delayMs\":10000,\"blocks\":[{\"text\":\"a\"}]},{\"blocks\":[" CALL(
              "1", "echo", "{\"text\":\"r\"}") "]}," TEXT_TURN("b") "," TEXT_TURN("c")));
    prompt(&f, "go");
    assert_true(face_wait(&f, "turn_start", 0, 5000) > 0);
    assert_int_equal(
        pi_agent_prompt(f.agent, "later", NULL, 0, PI_DELIVER_FOLLOW_UP, NULL), PI_OK);
    pi_agent_abort(f.agent);
    size_t at = face_wait(&f, "agent_end", 0, 5000);
    assert_true(at > 0);
    settle(&f);
    assert_int_equal(count(&f, "agent_start"), 1);
    prompt(&f, "on");
    assert_true(face_wait(&f, "agent_end", at, 5000) > 0);
    expect_messages(&f, "user:on,assistant:toolCall,toolResult:r,"
                        "assistant:b,user:later,assistant:c");
    face_finish(&f);
}

static void clearing_gives_the_messages_back(void **state)
{
    (void)state;
    struct face f = {0};
    start(&f, FILE_OF("{\"delayMs\":200,\"blocks\":[{\"text\":\"a\"}]}"));
    prompt(&f, "go");
    assert_int_equal(
        pi_agent_prompt(f.agent, "later", NULL, 0, PI_DELIVER_FOLLOW_UP, NULL), PI_OK);
    pi_agent_clear_queue(f.agent);
    assert_true(face_wait(&f, "agent_end", 0, 5000) > 0);
    expect_messages(&f, "user:go,assistant:a");
    bool dropped = false;
    size_t at = 0;
    while ((at = face_wait(&f, "queue_update", at, 0)) > 0) {
        const struct json *d = json_get(face_event(&f, at - 1), "dropped");
        dropped =
            dropped || (json_first(d) && strcmp(json_str(json_first(d)), "later") == 0);
    }
    assert_true(dropped);
    face_finish(&f);
}

static void questions_are_asked_answered_and_withdrawn(void **state)
{
    (void)state;
    struct face f = {0};
    start(&f,
          FILE_OF("{\"blocks\":[" CALL(
              "1", "mail",
              "{\"text\":\"sent\"}") "]},"
                                     "{\"blocks\":[" CALL(
                                         "2", "mail",
                                         "{\"text\":\"sent\"}") "]}," TEXT_TURN("end")));
    prompt(&f, "go");
    size_t at = face_wait(&f, "permission_request", 0, 5000);
    assert_true(at > 0);
    assert_int_equal(count(&f, "tool_execution_start"), 0);
    const char *id = json_get_str(face_event(&f, at - 1), "id");
    pi_agent_answer_permission(f.agent, id, PI_PERMISSION_DENY, "not now");
    pi_agent_answer_permission(f.agent, id, PI_PERMISSION_ONCE, NULL); // too late
    at = face_wait(&f, "permission_request", at, 5000);
    assert_true(at > 0);
    size_t ends = face_wait(&f, "permission_end", 0, 0);
    assert_string_equal(json_get_str(face_event(&f, ends - 1), "outcome"), "denied");
    pi_agent_abort(f.agent);
    assert_true(face_wait(&f, "agent_end", 0, 5000) > 0);
    ends = face_wait(&f, "permission_end", ends, 0);
    assert_true(ends > 0);
    assert_string_equal(json_get_str(face_event(&f, ends - 1), "outcome"), "withdrawn");
    char *got = messages(&f);
    assert_non_null(strstr(got, "not now"));
    free(got);
    face_finish(&f);
}

static enum run_verdict block_two(void *data, const struct tool_call *call,
                                  struct json *args, struct pi_error *err)
{
    (void)data;
    if (strcmp(call->id, "2") == 0) {
        error_set(err, PI_DENIED, "not this one");
        return RUN_DENY;
    }
    json_set_str(args, "text", "changed by the hook");
    return RUN_ALLOW;
}

static void make_error(void *data, const struct tool_call *call,
                       struct tool_result *result)
{
    (void)data;
    result->is_error = result->is_error || strcmp(call->id, "1") == 0;
}

static void hooks_change_and_block(void **state)
{
    (void)state;
    struct face f = {0};
    start(&f, FILE_OF("{\"blocks\":[" CALL("1", "echo", "{\"text\":\"a\"}") "," CALL(
                  "2", "echo", "{\"text\":\"b\"}") "]}," TEXT_TURN("end")));
    struct agent_hooks hooks = {.before_call = block_two, .after_call = make_error};
    agent_set_hooks(f.agent, &hooks);
    prompt(&f, "go");
    assert_true(face_wait(&f, "agent_end", 0, 5000) > 0);
    expect_messages(&f,
                    "user:go,assistant:toolCalltoolCall,toolResult!:changed by the hook,"
                    "toolResult!:not this one,assistant:end");
    face_finish(&f);
}

static void no_partial_update_enters_the_transcript(void **state)
{
    (void)state;
    struct face f = {0};
    run(&f, FILE_OF("{\"blocks\":[" CALL("1", "echo",
                                         "{\"text\":\"r\"}") "]}," TEXT_TURN("e")));
    assert_true(count(&f, "tool_execution_update") > 0);
    char *got = messages(&f);
    assert_null(strstr(got, "working"));
    free(got);
    face_finish(&f);
}

static void bad_prompts_are_refused_at_once(void **state)
{
    (void)state;
    struct face f = {0};
    start(&f, FILE_OF(TEXT_TURN("x")));
    assert_int_equal(pi_agent_prompt(f.agent, " \n", NULL, 0, PI_DELIVER_PROMPT, NULL),
                     PI_INVALID);
    assert_int_equal(pi_agent_set_tools(f.agent, "echo,nothing", NULL), PI_INVALID);
    assert_int_equal(pi_agent_set_tools(f.agent, "echo", NULL), PI_OK);
    face_finish(&f);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_run_without_tools_has_the_order_of_the_reference),
        cmocka_unit_test(results_come_in_the_order_of_the_calls),
        cmocka_unit_test(a_cut_call_is_never_run),
        cmocka_unit_test(all_terminating_results_end_the_run),
        cmocka_unit_test(a_failing_answer_ends_the_run_and_is_left_out_later),
        cmocka_unit_test(the_same_call_again_and_again_gets_a_hint_then_an_end),
        cmocka_unit_test(abort_while_tools_run_asks_no_further),
        cmocka_unit_test(abort_while_the_answer_streams),
        cmocka_unit_test(steering_comes_before_the_next_request_follow_up_at_the_end),
        cmocka_unit_test(a_message_that_a_run_has_taken_starts_no_other),
        cmocka_unit_test(an_abort_is_the_end_also_after_a_steering_message),
        cmocka_unit_test(a_message_that_an_abort_left_waits_for_the_next_prompt),
        cmocka_unit_test(clearing_gives_the_messages_back),
        cmocka_unit_test(questions_are_asked_answered_and_withdrawn),
        cmocka_unit_test(hooks_change_and_block),
        cmocka_unit_test(no_partial_update_enters_the_transcript),
        cmocka_unit_test(bad_prompts_are_refused_at_once),
    };
    return cmocka_run_group_tests(tests, setup, teardown);
}
