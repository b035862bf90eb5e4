#pragma once

// Any bytes as the answer of a server: see that what comes of them is sound, and that the
// next request is.

#include "net/sse.h"
#include "wire_check.h"

struct wire_fuzz {
    const struct wire *wire;
    struct wire_answer *answer;
    size_t opened, closed;
};

static inline void fuzz_demand(bool condition)
{
    if (!condition) {
        abort();
    }
}

static inline void fuzz_take_events(struct wire_fuzz *f)
{
    const struct wire_answer *a = f->answer;
    struct sv bytes = buf_sv(&a->bytes);
    for (size_t i = 0; i < a->events_len; i++) {
        const struct llm_event *e = &a->events[i];
        int step = ((int)e->type - LLM_TEXT_START) % 3;
        fuzz_demand(e->type >= LLM_TEXT_START && e->type <= LLM_TOOL_CALL_END);
        fuzz_demand(e->content_index < a->message->content.len);
        fuzz_demand((step == 1) == (e->delta.n > 0));
        fuzz_demand(step != 1 || (e->delta.p >= bytes.p &&
                                  e->delta.p + e->delta.n <= bytes.p + bytes.n));
        f->opened += step == 0;
        f->closed += step == 2;
    }
}

static inline bool fuzz_take(void *data, const struct sse_event *event)
{
    struct wire_fuzz *f = data;
    fuzz_demand(f->wire->decode(f->answer, event->name, event->data, NULL) == PI_OK);
    fuzz_take_events(f);
    return !f->answer->over;
}

static inline void fuzz_check_answer(const struct wire_fuzz *f)
{
    const struct wire_answer *a = f->answer;
    fuzz_demand(f->opened == a->message->content.len && f->closed == f->opened);
    fuzz_demand(!a->failed || a->message->stop_reason == STOP_ERROR);
    for (size_t i = 0; i < a->message->content.len; i++) {
        const struct block *b = &a->message->content.blocks[i];
        struct json *arguments = NULL;
        if (b->type != BLOCK_TOOL_CALL) {
            continue;
        }
        fuzz_demand(b->id && b->id[0] && b->name);
        if (b->complete) {
            fuzz_demand(a->terminal && !a->failed);
            fuzz_demand(json_parse(&arguments, buf_sv(&b->text), NULL, NULL) == PI_OK);
            fuzz_demand(json_type(arguments) == JSON_OBJECT);
        }
        json_destroy(arguments);
    }
}

static inline int wire_fuzz(const struct wire *wire, const uint8_t *bytes, size_t n)
{
    struct message *told = message_create(ROLE_USER);
    struct message *answer = message_create(ROLE_ASSISTANT);
    struct message *const messages[] = {told, answer};
    const struct tool_schema tool = {.name = "read", .description = "reads"};
    struct llm_request request = {
        .messages = messages, .messages_len = 1, .tools = &tool, .tools_len = 1};
    const struct model model = {.id = "m", .api = wire->api, .provider = "p"};
    const struct wire_input input = {.model = &model, .request = &request};
    struct wire_fuzz f = {.wire = wire};
    struct sse sse = {0};

    fuzz_demand(content_add_text(&told->content, sv_of("go")));
    answer->api = strdup(wire->api);
    answer->provider = strdup("p");
    answer->model = strdup("m");
    fuzz_demand(wire->begin(&f.answer, &input, answer, NULL) == PI_OK);
    fuzz_demand(sse_feed(&sse, sv_make((const char *)bytes, n), fuzz_take, &f, NULL) ==
                PI_OK);
    sse_end(&sse, fuzz_take, &f);
    fuzz_demand(wire->end(f.answer, NULL) == PI_OK);
    fuzz_take_events(&f);
    fuzz_check_answer(&f);
    answer->stop_reason = STOP_STOP; // as if it had arrived
    request.messages_len = 2;
    check_requests(&request);
    wire->finish(f.answer);
    sse_finish(&sse);
    message_destroy(told);
    message_destroy(answer);
    return 0;
}
