// What a face adds to an agent: tools of its own, reviews before changes, notes for the
// model, a word before commands; and what it asks for: the transcript.

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "face.h"
#include "pi_tools.h"
#include "sys/file.h"

static char dir[] = "/tmp/pi-parts-XXXXXX";
static char file[64], script[64];

static void put(const char *path, const char *text)
{
    FILE *f = fopen(path, "w");
    assert_non_null(f);
    fputs(text, f);
    fclose(f);
}

static int setup(void **state)
{
    (void)state;
    if (!mkdtemp(dir)) {
        return 1;
    }
    snprintf(file, sizeof file, "%s/f.txt", dir);
    snprintf(script, sizeof script, "%s/turns.json", dir);
    return 0;
}

static int teardown(void **state)
{
    (void)state;
    unlink(file);
    unlink(script);
    return rmdir(dir);
}

struct bed {
    struct face face;
    struct fake_host host;
    bool no_host;
    bool asks;
    enum pi_review review;
};

static void start(struct bed *b, const char *turns)
{
    size_t n = 0;
    char model[96];
    struct pi_agent_options o = PI_AGENT_OPTIONS_INIT;
    put(file, "alpha\nbeta\ngamma\n");
    put(script, turns ? turns : "{\"turns\":[]}");
    snprintf(model, sizeof model, "replay:%s", script);
    o.cwd = dir;
    o.agent_dir = dir;
    o.model = model;
    o.no_context_files = true;
    o.no_session = true;
    o.permissions = b->asks ? PI_PERMISSIONS_ASK : PI_PERMISSIONS_YOLO;
    o.review = b->review;
    o.definitions = pi_tools_builtin(&n);
    o.definitions_len = n;
    b->face.host = b->no_host ? NULL : &b->host;
    struct pi_error err = {0};
    if (!face_start(&b->face, &o, &err)) {
        fail_msg("%s", err.message);
    }
}

static void call(struct bed *b, const char *name, const char *arguments)
{
    struct pi_tool_call c = {.id = "1",
                             .name = name,
                             .arguments = arguments,
                             .arguments_len = strlen(arguments),
                             .abort_after_ms = -1};
    assert_int_equal(pi_agent_call_tool(b->face.agent, &c, NULL), PI_OK);
}

// The next event of a type, from *at on.
static const struct json *next(struct bed *b, const char *type, size_t *at)
{
    *at = face_wait(&b->face, type, *at, 10000);
    if (*at == 0) {
        fail_msg("no %s came", type);
    }
    return face_event(&b->face, *at - 1);
}

static const char *text_of(const struct json *end)
{
    return json_get_str(json_first(json_get(json_get(end, "result"), "content")), "text");
}

static void prompt(struct bed *b, const char *text)
{
    assert_int_equal(
        pi_agent_prompt(b->face.agent, text, NULL, 0, PI_DELIVER_PROMPT, NULL), PI_OK);
}

static void file_is(const char *want)
{
    struct buf text = {0};
    assert_int_equal(file_load(&text, file, 1000, NULL), PI_OK);
    assert_string_equal(buf_cstr(&text), want);
    buf_finish(&text);
}

/* -- added tools -- */

static const struct pi_added_tool lookup = {
    .name = "lookup",
    .description = "looks a name up",
    .parameters = "{\"type\":\"object\",\"properties\":{\"name\":{\"type\":\"string\"}},"
                  "\"required\":[\"name\"]}",
    .snippet = "look names up",
    .title = "lookup {name}",
    .reads = true,
};

static void an_added_tool_runs_in_the_face(void **state)
{
    (void)state;
    struct bed b = {.asks = true};
    size_t at = 0;
    start(&b, "{\"turns\":[{\"blocks\":[{\"call\":{\"name\":\"lookup\",\"arguments\":"
              "{\"name\":\"x\"}}}]},{\"expect\":\"lookup({\\\"name\\\":\\\"x\\\"})\","
              "\"blocks\":[{\"text\":\"found\"}]}]}");
    assert_int_equal(pi_agent_add_tool(b.face.agent, &lookup, NULL), PI_OK);
    prompt(&b, "go");
    const struct json *begin = next(&b, "tool_execution_start", &at);
    assert_string_equal(json_get_str(begin, "title"), "lookup x");
    const struct json *end = next(&b, "tool_execution_end", &at);
    assert_false(json_get_bool(end, "isError", true));
    assert_string_equal(text_of(end), "lookup({\"name\":\"x\"})");
    next(&b, "agent_end", &at);
    char *system_prompt = pi_agent_system_prompt(b.face.agent);
    assert_non_null(strstr(system_prompt, "look names up"));
    pi_free(system_prompt);
    face_finish(&b.face);
}

static void arguments_are_checked_before_the_face_is_asked(void **state)
{
    (void)state;
    struct bed b = {0};
    size_t at = 0;
    start(&b, NULL);
    assert_int_equal(pi_agent_add_tool(b.face.agent, &lookup, NULL), PI_OK);
    call(&b, "lookup", "{}");
    const struct json *end = next(&b, "tool_execution_end", &at);
    assert_true(json_get_bool(end, "isError", false));
    assert_non_null(strstr(text_of(end), "name"));
    assert_int_equal(atomic_load(&b.host.requests), 0);
    face_finish(&b.face);
}

static void a_tool_that_acts_asks_first(void **state)
{
    (void)state;
    struct bed b = {.asks = true};
    struct pi_added_tool acting = lookup;
    size_t at = 0;
    acting.reads = false;
    start(&b, NULL);
    assert_int_equal(pi_agent_add_tool(b.face.agent, &acting, NULL), PI_OK);
    call(&b, "lookup", "{\"name\":\"x\"}");
    const struct json *question = next(&b, "permission_request", &at);
    assert_string_equal(json_get_str(question, "effect"), "other");
    pi_agent_answer_permission(b.face.agent, json_get_str(question, "id"),
                               PI_PERMISSION_DENY, "not now");
    const struct json *end = next(&b, "tool_execution_end", &at);
    assert_true(json_get_bool(end, "isError", false));
    assert_non_null(strstr(text_of(end), "not now"));
    assert_int_equal(atomic_load(&b.host.requests), 0);
    face_finish(&b.face);
}

static void a_failure_of_the_face_is_the_tools(void **state)
{
    (void)state;
    struct bed b = {.host = {.answers = {FAKE_IO, FAKE_NOT_OPEN}, .answers_len = 2}};
    size_t at = 0;
    start(&b, NULL);
    assert_int_equal(pi_agent_add_tool(b.face.agent, &lookup, NULL), PI_OK);
    call(&b, "lookup", "{\"name\":\"x\"}");
    const struct json *end = next(&b, "tool_execution_end", &at);
    assert_true(json_get_bool(end, "isError", false));
    assert_non_null(strstr(text_of(end), "fake editor says no"));
    call(&b, "lookup", "{\"name\":\"x\"}");
    end = next(&b, "tool_execution_end", &at);
    assert_true(json_get_bool(end, "isError", false));
    assert_non_null(strstr(text_of(end), "no tool lookup"));
    face_finish(&b.face);
}

static void a_call_that_the_face_never_answers_ends_with_an_abort(void **state)
{
    (void)state;
    struct bed b = {.host = {.answers = {FAKE_NEVER}, .answers_len = 1}};
    size_t at = 0;
    start(&b, NULL);
    assert_int_equal(pi_agent_add_tool(b.face.agent, &lookup, NULL), PI_OK);
    call(&b, "lookup", "{\"name\":\"x\"}");
    next(&b, "tool_execution_start", &at);
    while (atomic_load(&b.host.requests) == 0) {
        usleep(500);
    }
    pi_agent_abort(b.face.agent);
    const struct json *end = next(&b, "tool_execution_end", &at);
    assert_true(json_get_bool(end, "isError", false));
    face_finish(&b.face);
}

static void a_tool_can_be_replaced_and_removed(void **state)
{
    (void)state;
    struct bed b = {0};
    struct pi_added_tool other = lookup;
    struct pi_error err = {0};
    size_t at = 0;
    other.title = "second {name}";
    start(&b, NULL);
    assert_int_equal(pi_agent_remove_tool(b.face.agent, "lookup", &err), PI_NOT_FOUND);
    assert_int_equal(pi_agent_remove_tool(b.face.agent, "read", &err), PI_NOT_FOUND);
    assert_int_equal(pi_agent_add_tool(b.face.agent, &lookup, NULL), PI_OK);
    assert_int_equal(pi_agent_add_tool(b.face.agent, &other, NULL), PI_OK);
    call(&b, "lookup", "{\"name\":\"x\"}");
    const struct json *begin = next(&b, "tool_execution_start", &at);
    assert_string_equal(json_get_str(begin, "title"), "second x");
    next(&b, "tool_execution_end", &at);
    assert_int_equal(pi_agent_set_tools(b.face.agent, "read,lookup", &err), PI_OK);
    assert_int_equal(pi_agent_remove_tool(b.face.agent, "lookup", &err), PI_OK);
    assert_int_equal(pi_agent_set_tools(b.face.agent, "read,lookup", &err), PI_INVALID);
    call(&b, "lookup", "{\"name\":\"x\"}");
    const struct json *end = next(&b, "tool_execution_end", &at);
    assert_true(json_get_bool(end, "isError", false));
    call(&b, "read", "{\"path\":\"f.txt\"}");
    end = next(&b, "tool_execution_end", &at);
    assert_false(json_get_bool(end, "isError", true));
    face_finish(&b.face);
}

static void what_is_wrong_with_a_tool_is_named(void **state)
{
    (void)state;
    struct bed b = {0};
    struct pi_error err = {0};
    const struct {
        struct pi_added_tool tool;
        const char *says;
    } rows[] = {
        {{.name = "Bad name", .description = "d"}, "\"Bad name\" is no name"},
        {{.name = "", .description = "d"}, "is no name"},
        {{.name = "9lives", .description = "d"}, "is no name"},
        {{.name = "read", .description = "d"}, "built-in"},
        {{.name = "x"}, "no description"},
        {{.name = "x", .description = "d", .parameters = "{"}, "no JSON"},
        {{.name = "x", .description = "d", .parameters = "[]"}, "\"type\": \"object\""},
    };
    start(&b, NULL);
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        assert_int_equal(pi_agent_add_tool(b.face.agent, &rows[i].tool, &err),
                         PI_INVALID);
        if (!strstr(err.message, rows[i].says)) {
            fail_msg("row %zu: %s", i, err.message);
        }
    }
    face_finish(&b.face);
}

/* -- review before a change -- */

#define EDIT                                                                             \
    "{\"path\":\"f.txt\",\"edits\":[{\"oldText\":\"beta\",\"newText\":\"BETA\"}]}"

static const struct json *question_of(struct bed *b, size_t *at)
{
    const struct json *question = next(b, "permission_request", at);
    assert_string_equal(json_get_str(question, "effect"), "change");
    assert_int_equal(json_len(json_get(question, "answers")), 2);
    return question;
}

static void a_change_waits_for_its_review(void **state)
{
    (void)state;
    struct bed b = {.no_host = true, .review = PI_REVIEW_BEFORE};
    size_t at = 0;
    start(&b, NULL);
    call(&b, "edit", EDIT);
    const struct json *question = question_of(&b, &at);
    const char *diff = json_get_str(question, "diff");
    assert_non_null(strstr(diff, "@@ -1,3 +1,3 @@\n alpha\n-beta\n+BETA\n gamma\n"));
    assert_string_equal(json_get_str(question, "path"), file);
    file_is("alpha\nbeta\ngamma\n");
    pi_agent_answer_permission(b.face.agent, json_get_str(question, "id"),
                               PI_PERMISSION_ONCE, NULL);
    const struct json *over = next(&b, "permission_end", &at);
    assert_string_equal(json_get_str(over, "outcome"), "allowed");
    const struct json *end = next(&b, "tool_execution_end", &at);
    assert_false(json_get_bool(end, "isError", true));
    file_is("alpha\nBETA\ngamma\n");
    face_finish(&b.face);
}

static void a_refused_change_is_not_made(void **state)
{
    (void)state;
    struct bed b = {.no_host = true, .review = PI_REVIEW_BEFORE};
    size_t at = 0;
    start(&b, NULL);
    call(&b, "write", "{\"path\":\"f.txt\",\"content\":\"other\\n\"}");
    const struct json *question = question_of(&b, &at);
    assert_non_null(strstr(json_get_str(question, "diff"), "+other\n"));
    pi_agent_answer_permission(b.face.agent, json_get_str(question, "id"),
                               PI_PERMISSION_DENY, "keep the names");
    const struct json *end = next(&b, "tool_execution_end", &at);
    assert_true(json_get_bool(end, "isError", false));
    assert_non_null(strstr(text_of(end), "keep the names"));
    file_is("alpha\nbeta\ngamma\n");
    face_finish(&b.face);
}

static void a_stale_change_is_shown_anew(void **state)
{
    (void)state;
    struct bed b = {.no_host = true, .review = PI_REVIEW_BEFORE};
    size_t at = 0;
    start(&b, NULL);
    call(&b, "edit", EDIT);
    const struct json *question = question_of(&b, &at);
    put(file, "zero\nalpha\nbeta\ngamma\n");
    pi_agent_answer_permission(b.face.agent, json_get_str(question, "id"),
                               PI_PERMISSION_ONCE, NULL);
    question = question_of(&b, &at);
    assert_non_null(strstr(json_get_str(question, "diff"), " zero\n"));
    file_is("zero\nalpha\nbeta\ngamma\n");
    pi_agent_answer_permission(b.face.agent, json_get_str(question, "id"),
                               PI_PERMISSION_ONCE, NULL);
    next(&b, "tool_execution_end", &at);
    file_is("zero\nalpha\nBETA\ngamma\n");
    face_finish(&b.face);
}

static void a_review_dies_with_its_call(void **state)
{
    (void)state;
    struct bed b = {.no_host = true, .review = PI_REVIEW_BEFORE};
    size_t at = 0, ends = 0;
    start(&b, NULL);
    call(&b, "edit", EDIT);
    question_of(&b, &at);
    pi_agent_abort(b.face.agent);
    const struct json *over = next(&b, "permission_end", &at);
    assert_string_equal(json_get_str(over, "outcome"), "withdrawn");
    const struct json *end = next(&b, "tool_execution_end", &ends);
    assert_true(json_get_bool(end, "isError", false));
    file_is("alpha\nbeta\ngamma\n");
    // The end of the agent with a review that waits.
    call(&b, "edit", EDIT);
    question_of(&b, &at);
    face_finish(&b.face);
    file_is("alpha\nbeta\ngamma\n");
}

static void reviews_can_be_switched_off(void **state)
{
    (void)state;
    struct bed b = {.no_host = true, .asks = true, .review = PI_REVIEW_BEFORE};
    size_t at = 0;
    start(&b, NULL);
    pi_agent_set_review(b.face.agent, PI_REVIEW_AFTER);
    call(&b, "edit", EDIT);
    next(&b, "tool_execution_end", &at);
    file_is("alpha\nBETA\ngamma\n");
    face_finish(&b.face);
}

/* -- the rest -- */

static void a_note_comes_with_the_next_request(void **state)
{
    (void)state;
    struct bed b = {0};
    size_t at = 0;
    start(&b, "{\"turns\":[{\"expect\":[\"[Note: the user took x back]\",\"go\"],"
              "\"blocks\":[{\"text\":\"I see.\"}]}]}");
    assert_int_equal(pi_agent_add_note(b.face.agent, "the user took x back", NULL),
                     PI_OK);
    prompt(&b, "go");
    const struct json *end = next(&b, "turn_end", &at);
    assert_string_equal(json_get_str(json_get(end, "message"), "stopReason"), "stop");
    face_finish(&b.face);
}

static void the_transcript_brings_the_newest_messages(void **state)
{
    (void)state;
    struct bed b = {0};
    struct pi_image image = {.mime_type = "image/png", .data = "AAAA"};
    size_t at = 0;
    start(&b, "{\"turns\":[{\"blocks\":[{\"text\":\"one\"}]},"
              "{\"blocks\":[{\"text\":\"two\"}]}]}");
    prompt(&b, "first");
    next(&b, "agent_end", &at);
    assert_int_equal(
        pi_agent_prompt(b.face.agent, "second", &image, 1, PI_DELIVER_FOLLOW_UP, NULL),
        PI_OK);
    next(&b, "agent_end", &at);
    pi_agent_list_messages(b.face.agent, 2, NULL);
    const struct json *event = next(&b, "transcript", &at);
    const struct json *messages = json_get(event, "messages");
    assert_int_equal(json_get_num(event, "omitted", -1), 2);
    assert_int_equal(json_len(messages), 2);
    const struct json *content = json_get(json_first(messages), "content");
    assert_string_equal(json_get_str(json_first(content), "text"), "second");
    const struct json *picture = json_next(json_first(content));
    assert_null(json_get(picture, "data"));
    assert_int_equal(json_get_num(picture, "dataOmitted", 0), 4);
    pi_agent_list_messages(b.face.agent, 0, NULL);
    event = next(&b, "transcript", &at);
    assert_int_equal(json_len(json_get(event, "messages")), 4);
    face_finish(&b.face);
}

static void the_face_hears_of_a_command_before_it_runs(void **state)
{
    (void)state;
    struct bed b = {
        .host = {.answers = {FAKE_OK, FAKE_NOT_OPEN, FAKE_CONFLICT}, .answers_len = 3}};
    size_t at = 0;
    start(&b, NULL);
    for (int i = 0; i < 3; i++) {
        call(&b, "bash", "{\"command\":\"echo ran\"}");
        const struct json *end = next(&b, "tool_execution_end", &at);
        assert_string_equal(b.host.called, "command(echo ran)");
        assert_int_equal(json_get_bool(end, "isError", false), i == 2);
        assert_non_null(strstr(text_of(end), i == 2 ? "fake editor says no" : "ran"));
    }
    face_finish(&b.face);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(an_added_tool_runs_in_the_face),
        cmocka_unit_test(arguments_are_checked_before_the_face_is_asked),
        cmocka_unit_test(a_tool_that_acts_asks_first),
        cmocka_unit_test(a_failure_of_the_face_is_the_tools),
        cmocka_unit_test(a_call_that_the_face_never_answers_ends_with_an_abort),
        cmocka_unit_test(a_tool_can_be_replaced_and_removed),
        cmocka_unit_test(what_is_wrong_with_a_tool_is_named),
        cmocka_unit_test(a_change_waits_for_its_review),
        cmocka_unit_test(a_refused_change_is_not_made),
        cmocka_unit_test(a_stale_change_is_shown_anew),
        cmocka_unit_test(a_review_dies_with_its_call),
        cmocka_unit_test(reviews_can_be_switched_off),
        cmocka_unit_test(a_note_comes_with_the_next_request),
        cmocka_unit_test(the_transcript_brings_the_newest_messages),
        cmocka_unit_test(the_face_hears_of_a_command_before_it_runs),
    };
    return cmocka_run_group_tests(tests, setup, teardown);
}
