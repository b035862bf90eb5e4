#include "agent/ask.h"

#include <stdlib.h>
#include <string.h>
#include <sys/random.h>

#include "agent/window.h"
#include "sys/clock.h"

enum {
    EVENTS_BETWEEN_MAIL = 256, // other mail is served that often while an answer streams
    LESSONS_MAX = 8,           // requests made anew because of what a refusal taught
};

// An answer that could not even be started, as a message like any other.
static struct message *failed_answer(struct pi_agent *a, const char *why)
{
    struct message *m = message_create(ROLE_ASSISTANT);
    if (!m) {
        return NULL;
    }
    const struct model *model = &a->model;
    m->api = strdup(model->api ? model->api : "");
    m->provider = strdup(model->provider ? model->provider : "");
    m->model = strdup(model->id ? model->id : "");
    m->error_message = strdup(why);
    m->stop_reason = STOP_ERROR;
    return m;
}

static void mark_aborted(struct message *m)
{
    m->stop_reason = STOP_ABORTED;
    free(m->error_message);
    m->error_message = strdup("the user aborted the answer");
}

static void mark_failed(struct message *m, const char *why)
{
    m->stop_reason = STOP_ERROR;
    free(m->error_message);
    m->error_message = strdup(why);
}

// An answer that was left early may hold calls that the server had not named yet; others
// refer to calls by their ids.
static void name_calls(struct message *m)
{
    for (size_t i = 0; i < m->content.len; i++) {
        struct block *b = &m->content.blocks[i];
        if (b->type == BLOCK_TOOL_CALL && !b->id) {
            struct buf id = {0};
            buf_addf(&id, "call_%lld_%zu", (long long)m->timestamp_ms, i);
            b->id = buf_take(&id);
        }
        if (b->type == BLOCK_TOOL_CALL && !b->name) {
            b->name = strdup("");
        }
    }
}

// Servers repeat what they were sent.
static void hide_keys(const struct pi_agent *a, struct message *answer)
{
    struct buf text = {0};
    if (answer->error_message) {
        buf_adds(&text, answer->error_message);
        auth_redact(a->choice.auth, &text);
        free(answer->error_message);
        answer->error_message = buf_take(&text);
    }
}

// Takes the stream's events until its terminal one or the abort. True: message_start was
// shown.
static bool follow(struct pi_agent *a, struct cancel *cancel, struct llm_stream *stream)
{
    bool shown = false;
    unsigned since_mail = 0;
    struct pi_error err = {0};
    while (!cancel_is_set(cancel)) {
        struct llm_event event;
        int wait_ms = -1;
        enum pi_status status = stream->provider->next(stream, &event, &wait_ms, &err);
        if (status == PI_MORE) {
            agent_pump(a, wait_ms);
            continue;
        }
        if (status) {
            mark_failed(stream->message, err.message);
            return shown;
        }
        if (event.type == LLM_DONE || event.type == LLM_ERROR) {
            return shown;
        }
        if (event.type == LLM_START) {
            shown = true;
            hide_keys(a, stream->message); // what failed at once has its error already
            agent_emit(a, event_message_start(stream->message));
        } else {
            agent_emit(a, event_update(&event, stream->message));
        }
        if (++since_mail >= EVENTS_BETWEEN_MAIL) {
            since_mail = 0;
            agent_pump(a, 0);
        }
    }
    mark_aborted(stream->message);
    return shown;
}

// Connections are made when the first request needs them: most of what an agent does at
// its start needs none.
enum pi_status ask_connect(struct pi_agent *a, struct pi_error *err)
{
    if (a->http) {
        return PI_OK;
    }
    struct http_options options = http_options_of(&a->environment);
    return http_create(&a->http, &options, err);
}

static enum pi_status find_provider(const struct provider **out, const struct pi_agent *a,
                                    struct pi_error *err)
{
    *out = provider_find(a->model.api);
    return *out
               ? PI_OK
               : error_set(err, PI_UNSUPPORTED,
                           "the model %s speaks the API \"%s\", which this version of pi "
                           "does not; choose another model",
                           a->model.id, a->model.api);
}

static enum pi_status open_stream(struct llm_stream **out, struct pi_agent *a,
                                  struct cancel *cancel, struct pi_error *err)
{
    struct context_request built = {0};
    struct choice_loan loan = {0};
    const struct provider *provider = NULL;
    enum pi_status status = cancel_check(cancel, err);
    if (!status) {
        status = choice_make(a, cancel, err);
    }
    if (!status) {
        status = find_provider(&provider, a, err);
    }
    if (!status && provider && provider->needs_http) {
        status = ask_connect(a, err);
    }
    if (!status) {
        status = context_build(&built, &a->context, &a->registry, err);
    }
    if (!status) {
        status = window_check(&a->model, &built.request, err);
    }
    if (!status) {
        status = choice_fill(a, &loan, &built.request, cancel, err);
    }
    if (!status) {
        built.request.http = a->http;
        built.request.tuning = &a->tuning;
        log_line(a->log, "request with %zu messages", built.request.messages_len);
        status = provider->open(out, &a->model, &built.request, err);
    }
    choice_loan_finish(&loan);
    context_request_finish(&built);
    return status;
}

static void show_end(struct pi_agent *a, struct message *answer, bool shown)
{
    log_line(a->log, "answer ends: %s%s%s", stop_reason_name(answer->stop_reason),
             answer->error_message ? ", " : "",
             answer->error_message ? answer->error_message : "");
    if (!shown) {
        agent_emit(a, event_message_start(answer));
    }
    agent_emit(a, event_message_end(answer));
}

struct message *ask_model(struct pi_agent *a, struct cancel *cancel,
                          struct ask_outcome *outcome)
{
    struct pi_error err = {0};
    struct llm_stream *stream = NULL;
    struct message *answer = NULL;
    bool shown = false;
    *outcome = (struct ask_outcome){0};
    enum pi_status status = open_stream(&stream, a, cancel, &err);
    for (unsigned lessons = 0; !status; lessons++) {
        shown = follow(a, cancel, stream);
        if (stream->failure.kind != FAILURE_LEARNT || lessons == LESSONS_MAX) {
            break;
        }
        log_line(a->log, "the request is made anew: %s", stream->message->error_message);
        stream->provider->close(stream);
        stream = NULL;
        status = open_stream(&stream, a, cancel, &err);
    }
    if (status) {
        answer = failed_answer(a, err.message);
        if (answer && status == PI_ABORTED) {
            mark_aborted(answer);
        }
    } else {
        outcome->failure = stream->failure;
        outcome->continue_turn = stream->continue_turn;
        answer = stream->message;
        stream->message = NULL;
        stream->provider->close(stream);
    }
    if (answer) {
        name_calls(answer);
        hide_keys(a, answer);
        show_end(a, answer, shown);
    }
    return answer;
}

/* -- again -- */

static uint32_t roll(void)
{
    uint32_t dice = 0;
    ssize_t ignored = getrandom(&dice, sizeof dice, GRND_NONBLOCK);
    (void)ignored;
    return dice;
}

static void tell_too_long(struct pi_agent *a, int64_t delay_ms)
{
    struct buf text = {0};
    buf_addf(&text,
             "The server asks for a pause of %lld seconds, which is longer than the %lld "
             "seconds that pi waits by itself. Send a message after that time to go on.",
             (long long)((delay_ms + 999) / 1000),
             (long long)(a->settings.retry.max_delay_ms / 1000));
    agent_notice(a, "error", buf_cstr(&text));
    buf_finish(&text);
}

// False when the user has had enough.
static bool pause(struct pi_agent *a, struct cancel *cancel, int64_t delay_ms)
{
    int64_t end_ms = clock_mono_ms() + delay_ms;
    int64_t left = delay_ms;
    while (!cancel_is_set(cancel) && left > 0) {
        agent_pump(a, (int)left);
        left = end_ms - clock_mono_ms();
    }
    return !cancel_is_set(cancel);
}

bool ask_again(struct pi_agent *a, struct cancel *cancel, const struct message *answer,
               const struct llm_failure *failure, unsigned *retries)
{
    unsigned done = *retries;
    int64_t delay_ms;
    if (answer->stop_reason != STOP_ERROR && answer->stop_reason != STOP_ABORTED) {
        if (done > 0) {
            agent_emit(a, event_retry_end(true, done, NULL));
        }
        *retries = 0;
        return false;
    }
    enum retry_verdict verdict = RETRY_NO;
    if (answer->stop_reason == STOP_ERROR && !cancel_is_set(cancel)) {
        verdict = retry_decide(&delay_ms, &a->settings.retry, failure, done, roll());
    }
    const char *words = answer->error_message ? answer->error_message : "";
    if (verdict == RETRY_TOO_LONG) {
        tell_too_long(a, delay_ms);
    }
    if (verdict == RETRY_WAIT) {
        *retries = ++done;
        agent_emit(
            a, event_retry_start(done, a->settings.retry.max_retries, delay_ms, words));
        if (pause(a, cancel, delay_ms)) {
            return true;
        }
        words = "the user aborted the pause before the next try";
    }
    if (done > 0) {
        agent_emit(a, event_retry_end(false, done, words));
    }
    *retries = 0;
    return false;
}
