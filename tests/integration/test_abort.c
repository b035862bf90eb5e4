// The user aborts a request in each of its phases: the run ends at once, and the next
// prompt, to a model that answers, works.

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "face.h"
#include "pi_tools.h"
#include "process_mock.h"
#include "sys/clock.h"

// Sanitizers make reading the CA certificates slow. A busy machine may hold a try up, but
// not all of them.
#if defined(__SANITIZE_THREAD__) || defined(__SANITIZE_ADDRESS__)
enum { ABORT_MS = 2000, TRIES = 3 };
#else
enum { ABORT_MS = 200, TRIES = 3 };
#endif

static const char good_script[] = "{\"turns\":[{\"expect\":\"again\",\"absent\":\"half\","
                                  "\"blocks\":[{\"text\":\"here I am\"}],\"repeat\":9}]}";

struct phase {
    const char *script;
    const char *scheme;
    const char *until; // the event after which it is reached
    const char *log;   // what the server must have seen, or NULL
};

static const struct phase phases[] = {
    // the connection, its encryption, the silence before the answer
    {"{\"accept\":\"full\"}", "http", "turn_start", NULL},
    {"{\"accept\":\"silent\"}", "https", "turn_start", NULL},
    {"{\"turns\":[{\"delayMs\":60000}]}", "http", "turn_start", "\"request\""},
    // in the first event, in a later one, in the arguments of a call
    {"{\"turns\":[{\"blocks\":[],\"stallBytes\":30,\"stallMs\":60000}]}", "http",
     "turn_start", "\"request\""},
    {"{\"turns\":[{\"blocks\":[{\"text\":\"half\"}],\"stallBytes\":500,\"stallMs\":60000}"
     "]}",
     "http", "message_start", "\"request\""},
    {"{\"turns\":[{\"blocks\":[{\"call\":{\"name\":\"bash\",\"arguments\":{\"command\":"
     "\"touch never\"}}}],\"stallAfter\":4,\"stallMs\":60000}]}",
     "http", "message_update", "\"request\""},
    // a flood
    {"{\"turns\":[{\"blocks\":[{\"repeatText\":{\"s\":\"half\",\"n\":1000000}}]}]}",
     "http", "message_update", "\"request\""},
    // the pause before another try
    {"{\"turns\":[{\"status\":429,\"headers\":{\"retry-after\":\"30\"},\"repeat\":9}]}",
     "http", "auto_retry_start", "\"request\""},
    // a command of the answer
    {"{\"turns\":[{\"blocks\":[{\"call\":{\"name\":\"bash\",\"arguments\":{\"command\":"
     "\"sleep 60\"}}},{\"call\":{\"name\":\"bash\",\"arguments\":{\"command\":"
     "\"touch never\"}}}]}]}",
     "http", "tool_execution_start", "\"answered\""},
};

static char dir[] = "/tmp/pi-abort-XXXXXX";

static int setup(void **state)
{
    (void)state;
    return mkdtemp(dir) ? 0 : 1;
}

static int teardown(void **state)
{
    (void)state;
    char path[96];
    snprintf(path, sizeof path, "%s/models.json", dir);
    unlink(path);
    return rmdir(dir);
}

static void write_models(const char *api, const char *scheme, unsigned bad, unsigned good)
{
    const char *end = strcmp(api, "openai-completions") == 0 ? "/v1" : "";
    char path[96];
    snprintf(path, sizeof path, "%s/models.json", dir);
    FILE *f = fopen(path, "we");
    assert_non_null(f);
    fprintf(
        f,
        "{\"providers\":{"
        "\"bad\":{\"baseUrl\":\"%s://127.0.0.1:%u%s\",\"api\":\"%s\",\"apiKey\":\"k\","
        "\"models\":[{\"id\":\"m\"}]},"
        "\"good\":{\"baseUrl\":\"http://127.0.0.1:%u%s\",\"api\":\"%s\","
        "\"apiKey\":\"k\",\"models\":[{\"id\":\"m\"}]}}}",
        scheme, bad, end, api, good, end, api);
    assert_int_equal(fclose(f), 0);
}

static void prompt(struct face *f, const char *text)
{
    struct pi_error err = {0};
    if (pi_agent_prompt(f->agent, text, NULL, 0, PI_DELIVER_PROMPT, &err)) {
        fail_msg("%s", err.message);
    }
}

static void wait_logged(const struct process_mock *m, const char *text)
{
    for (int i = 0; i < 1000 && process_mock_logged(m, text) == 0; i++) {
        nanosleep(&(struct timespec){.tv_nsec = 10 * 1000 * 1000}, NULL);
    }
    assert_true(process_mock_logged(m, text) > 0);
}

// The answer of the run that ended last.
static const struct json *last_answer(struct face *f)
{
    const struct json *answer = NULL;
    size_t at = 0;
    while ((at = face_wait(f, "message_end", at, 0)) > 0) {
        const struct json *m = json_get(face_event(f, at - 1), "message");
        answer = strcmp(json_get_str(m, "role"), "assistant") == 0 ? m : answer;
    }
    return answer;
}

// How long the abort took.
static int64_t abort_in(const struct phase *phase, const char *api)
{
    struct process_mock bad, good;
    assert_true(process_mock_start(&bad, phase->script));
    assert_true(process_mock_start(&good, good_script));
    write_models(api, phase->scheme, bad.port, good.port);
    struct pi_agent_options o = PI_AGENT_OPTIONS_INIT;
    struct pi_error err = {0};
    struct face f = {0};
    o.cwd = dir;
    o.agent_dir = dir;
    o.model = "bad/m";
    o.tools = "coding";
    o.permissions = PI_PERMISSIONS_YOLO;
    o.guard_path = getenv("PI_GUARD");
    o.no_context_files = true;
    o.no_session = true;
    o.definitions = pi_tools_builtin(&o.definitions_len);
    if (!face_start(&f, &o, &err)) {
        fail_msg("%s", err.message);
    }
    prompt(&f, "go");
    assert_true(face_wait(&f, phase->until, 0, 60000) > 0);
    if (phase->log) {
        wait_logged(&bad, phase->log);
    }
    nanosleep(&(struct timespec){.tv_nsec = 100 * 1000 * 1000}, NULL);
    int64_t start_ms = clock_mono_ms();
    pi_agent_abort(f.agent);
    size_t end = face_wait(&f, "agent_end", 0, 10000);
    int64_t took_ms = clock_mono_ms() - start_ms;
    assert_true(end > 0);
    assert_int_equal(pi_agent_set_model(f.agent, NULL, "good/m", &err), PI_OK);
    prompt(&f, "again");
    assert_true(face_wait(&f, "agent_end", end, 10000) > 0);
    struct buf said = {0};
    json_write(&said, last_answer(&f));
    assert_non_null(strstr(buf_cstr(&said), "here I am"));
    buf_finish(&said);
    face_finish(&f);
    assert_int_equal(process_mock_logged(&good, "\"violations\":[{"), 0);
    assert_true(process_mock_stop(&good));
    assert_true(process_mock_stop(&bad));
    return took_ms;
}

static void abort_everywhere(const char *api)
{
    for (size_t i = 0; i < sizeof phases / sizeof *phases; i++) {
        int64_t took_ms = abort_in(&phases[i], api);
        for (int try = 1; took_ms > ABORT_MS && try < TRIES; try++) {
            took_ms = abort_in(&phases[i], api);
        }
        if (took_ms > ABORT_MS) {
            fail_msg("%s: the run ended after %d ms", phases[i].script, (int)took_ms);
        }
    }
    char path[96];
    snprintf(path, sizeof path, "%s/never", dir);
    struct stat st;
    assert_int_equal(stat(path, &st), -1);
}

static void anthropic(void **state)
{
    (void)state;
    abort_everywhere("anthropic-messages");
}

static void chat(void **state)
{
    (void)state;
    abort_everywhere("openai-completions");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(anthropic),
        cmocka_unit_test(chat),
    };
    return cmocka_run_group_tests(tests, setup, teardown);
}
