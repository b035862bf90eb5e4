#pragma once

// Conversations, requests and answers for tests of wire formats. Include after cmocka.h.

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "llm/wire.h"

/** A conversation under construction. Zeroed but for the model. */
struct talk {
    struct model model;
    struct message *messages[64];
    size_t len;
    struct tool_schema tools[4];
    size_t tools_len;
    const char *system_prompt;
    struct wire_input input; // model and request are filled in
    struct llm_request request;
};

static inline struct message *talk_add(struct talk *t, enum role role)
{
    struct message *m = message_create(role);
    assert_non_null(m);
    m->timestamp_ms = 1000;
    assert_true(t->len < 64);
    t->messages[t->len++] = m;
    return m;
}

static inline void talk_user(struct talk *t, const char *text)
{
    assert_true(content_add_text(&talk_add(t, ROLE_USER)->content, sv_of(text)));
}

/** An empty answer of the talk's own model. */
static inline struct message *talk_answer(struct talk *t)
{
    struct message *m = talk_add(t, ROLE_ASSISTANT);
    m->api = strdup(t->model.api);
    m->provider = strdup(t->model.provider);
    m->model = strdup(t->model.id);
    return m;
}

static inline void talk_text(struct message *m, const char *text)
{
    assert_true(content_add_text(&m->content, sv_of(text)));
}

static inline struct block *talk_thinking(struct message *m, const char *text,
                                          const char *signature)
{
    struct block *b = content_add(&m->content, BLOCK_THINKING);
    buf_adds(&b->text, text);
    b->signature = signature ? strdup(signature) : NULL;
    return b;
}

static inline struct block *talk_call(struct message *m, const char *id, const char *name,
                                      const char *arguments)
{
    struct block *b = content_add(&m->content, BLOCK_TOOL_CALL);
    b->id = id ? strdup(id) : NULL;
    b->name = name ? strdup(name) : NULL;
    buf_adds(&b->text, arguments);
    b->complete = true;
    return b;
}

static inline struct message *talk_result(struct talk *t, const char *id,
                                          const char *text)
{
    struct message *m = talk_add(t, ROLE_TOOL_RESULT);
    m->tool_call_id = strdup(id);
    m->tool_name = strdup("read");
    if (text) {
        talk_text(m, text);
    }
    return m;
}

static inline void talk_image(struct message *m, const char *mime_type,
                              const char *base64)
{
    struct block *b = content_add(&m->content, BLOCK_IMAGE);
    b->mime_type = strdup(mime_type);
    buf_adds(&b->text, base64);
}

static inline void talk_tool(struct talk *t, const char *name)
{
    t->tools[t->tools_len++] =
        (struct tool_schema){.name = name, .description = "does it"};
}

static inline struct llm_request *talk_request(struct talk *t)
{
    t->request.system_prompt = t->system_prompt;
    t->request.messages = t->messages;
    t->request.messages_len = t->len;
    t->request.tools = t->tools;
    t->request.tools_len = t->tools_len;
    t->input.model = &t->model;
    t->input.request = &t->request;
    return &t->request;
}

static inline void talk_finish(struct talk *t)
{
    for (size_t i = 0; i < t->len; i++) {
        message_destroy(t->messages[i]);
    }
    t->len = 0;
}

/** The request of the talk; the caller finishes it. */
static inline void talk_encode(struct wire_request *out, struct talk *t,
                               const struct wire *wire)
{
    struct pi_error err = {0};
    talk_request(t);
    if (wire->encode(out, &t->input, &err)) {
        fail_msg("%s", err.message);
    }
}

/** The body's member as text; freed by the caller. */
static inline char *talk_member(struct talk *t, const struct wire *wire, const char *key)
{
    struct wire_request r;
    struct json *body = NULL;
    unsigned repairs = 0;
    struct buf text = {0};
    talk_encode(&r, t, wire);
    assert_int_equal(json_parse(&body, buf_sv(&r.body), &repairs, NULL), PI_OK);
    assert_int_equal(repairs, 0);
    const struct json *member = json_get(body, key);
    if (member) {
        json_write(&text, member);
    }
    json_destroy(body);
    wire_request_finish(&r);
    return member ? buf_take(&text) : strdup("(none)");
}

/** Compares a member of the request's body, as compact JSON, "(none)" when missing. */
static inline void talk_expect(struct talk *t, const struct wire *wire, const char *key,
                               const char *want)
{
    char *got = talk_member(t, wire, key);
    if (strcmp(got, want) != 0) {
        fail_msg("%s is\n%s\nand not\n%s", key, got, want);
    }
    free(got);
}

/* -- answers -- */

/** What the events told, to be compared with the message. */
struct told {
    struct buf texts[64];
    unsigned char steps[64]; // 0 unseen, 1 open, 2 closed
};

static inline void told_take(struct told *t, const struct wire_answer *a)
{
    for (size_t i = 0; i < a->events_len; i++) {
        const struct llm_event *e = &a->events[i];
        int step = ((int)e->type - LLM_TEXT_START) % 3;
        static const enum block_type types[] = {BLOCK_TEXT, BLOCK_THINKING,
                                                BLOCK_TOOL_CALL};
        assert_true(e->type >= LLM_TEXT_START && e->type <= LLM_TOOL_CALL_END);
        assert_true(e->content_index < a->message->content.len && e->content_index < 64);
        assert_int_equal(types[((int)e->type - LLM_TEXT_START) / 3],
                         a->message->content.blocks[e->content_index].type);
        assert_int_equal(t->steps[e->content_index], step == 0 ? 0 : 1);
        t->steps[e->content_index] = step == 2 ? 2 : 1;
        buf_addsv(&t->texts[e->content_index], e->delta);
        assert_true(step == 1 ? e->delta.n > 0 : e->delta.n == 0);
    }
}

static inline void told_check(struct told *t, const struct message *m)
{
    for (size_t i = 0; i < m->content.len && i < 64; i++) {
        const struct block *b = &m->content.blocks[i];
        assert_int_equal(t->steps[i], 2);
        if (b->type != BLOCK_TOOL_CALL) {
            assert_string_equal(buf_cstr(&t->texts[i]), buf_cstr(&b->text));
        } else {
            assert_true(b->id && b->id[0] && b->name);
        }
        buf_finish(&t->texts[i]);
    }
}

static inline void describe_block(struct buf *out, const struct block *b)
{
    if (b->type == BLOCK_TEXT) {
        buf_addf(out, "text(%s)", buf_cstr(&b->text));
    } else if (b->type == BLOCK_THINKING) {
        buf_addf(out, "%s(%s|%s)", b->redacted ? "redacted" : "thinking",
                 buf_cstr(&b->text), b->signature ? b->signature : "-");
    } else {
        buf_addf(out, "call(%s,%s,%s%s%s%s)", b->id, b->name, buf_cstr(&b->text),
                 b->complete ? "" : ",incomplete", b->signature ? "," : "",
                 b->signature ? b->signature : "");
    }
    buf_addc(out, ' ');
}

static inline void describe_answer(struct buf *out, const struct wire_answer *a)
{
    const struct message *m = a->message;
    for (size_t i = 0; i < m->content.len; i++) {
        describe_block(out, &m->content.blocks[i]);
    }
    if (a->failed) {
        buf_addf(out, "failed %d: %s", a->http_like_status, buf_cstr(&a->error));
    } else if (!a->terminal) {
        buf_adds(out, "cut");
    } else {
        buf_addf(out, "%s%s", stop_reason_name(m->stop_reason),
                 a->continue_turn ? " continue" : "");
    }
}

/** Decodes events ("name|data", or only data), NULL at the end; describes the answer. */
static inline char *talk_decode(struct talk *t, const struct wire *wire,
                                const char *const *events, struct usage *usage)
{
    struct message *m = message_create(ROLE_ASSISTANT);
    struct wire_answer *a = NULL;
    struct told told = {0};
    struct buf out = {0};
    m->timestamp_ms = 1000;
    talk_request(t);
    assert_int_equal(wire->begin(&a, &t->input, m, NULL), PI_OK);
    for (; *events; events++) {
        const char *bar = strchr(*events, '|');
        bool named = bar && strcspn(*events, "{[ ") > (size_t)(bar - *events);
        struct sv name = named ? sv_make(*events, (size_t)(bar - *events)) : sv_of("");
        struct sv data = named ? sv_of(bar + 1) : sv_of(*events);
        assert_int_equal(wire->decode(a, name, data, NULL), PI_OK);
        told_take(&told, a);
    }
    assert_int_equal(wire->end(a, NULL), PI_OK);
    told_take(&told, a);
    told_check(&told, m);
    describe_answer(&out, a);
    for (size_t i = 0; i < m->content.len && (!a->terminal || a->failed); i++) {
        assert_false(m->content.blocks[i].complete);
    }
    if (usage) {
        *usage = m->usage;
    }
    wire->finish(a);
    message_destroy(m);
    return buf_take(&out);
}

#define EXPECT_ANSWER(talk, wire, want, ...)                                             \
    do {                                                                                 \
        const char *const events_[] = {__VA_ARGS__, NULL};                               \
        char *got_ = talk_decode(talk, wire, events_, NULL);                             \
        if (strcmp(got_, want) != 0) {                                                   \
            fail_msg("the answer is\n%s\nand not\n%s", got_, want);                      \
        }                                                                                \
        free(got_);                                                                      \
    } while (0)
