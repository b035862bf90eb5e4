#include <stdint.h>

#include "wire_check.h"

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t n);

// Reads the bytes as a conversation in which anything can happen: a byte says what comes,
// its texts follow up to a LF.
enum { MESSAGES_MAX = 64 };

struct script {
    struct sv rest;
    struct message *messages[MESSAGES_MAX];
    size_t len;
};

static char *text_or_null(struct sv text)
{
    return text.n > 0 ? strndup(text.p, text.n) : NULL;
}

static struct sv take_line(struct script *s)
{
    struct sv line = {0};
    sv_next_line(&s->rest, &line);
    return line;
}

static struct message *add_message(struct script *s, enum role role)
{
    struct message *m = message_create(role);
    s->messages[s->len++] = m;
    return m;
}

static void add_answer(struct script *s, char kind)
{
    struct message *m = add_message(s, ROLE_ASSISTANT);
    m->api = strdup(kind == 'A' ? "anthropic-messages" : "openai-completions");
    m->provider = strdup("p");
    m->model = strdup("m");
    m->stop_reason = kind == 'X' ? STOP_ERROR : STOP_STOP;
}

static void add_block(struct message *m, enum block_type type, struct script *s)
{
    struct block *b = content_add(&m->content, type);
    if (type == BLOCK_TOOL_CALL) {
        b->id = text_or_null(take_line(s));
        b->name = text_or_null(take_line(s));
        b->complete = true;
    }
    if (type == BLOCK_THINKING || type == BLOCK_TOOL_CALL) {
        b->signature = text_or_null(take_line(s));
    }
    b->mime_type = type == BLOCK_IMAGE ? strdup("image/png") : NULL;
    buf_addsv(&b->text, take_line(s));
}

static void take_step(struct script *s)
{
    char kind = *s->rest.p;
    s->rest = sv_from(s->rest, 1);
    struct message *last = s->len > 0 ? s->messages[s->len - 1] : NULL;
    if (kind == 'U') {
        add_message(s, ROLE_USER);
    } else if (kind == 'A' || kind == 'B' || kind == 'X') {
        add_answer(s, kind);
    } else if (kind == 'R' || kind == 'E') {
        struct message *m = add_message(s, ROLE_TOOL_RESULT);
        m->tool_call_id = text_or_null(take_line(s));
        m->is_error = kind == 'E';
    } else if (last && kind == 't') {
        add_block(last, BLOCK_TEXT, s);
    } else if (last && kind == 'h') {
        add_block(last, BLOCK_THINKING, s);
    } else if (last && kind == 'c') {
        add_block(last, BLOCK_TOOL_CALL, s);
    } else if (last && kind == 'i') {
        add_block(last, BLOCK_IMAGE, s);
    } else if (last && kind == 'd' && last->content.len > 0) {
        last->content.blocks[last->content.len - 1].redacted = true;
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t n)
{
    struct script s = {.rest = sv_make((const char *)bytes, n)};
    while (s.rest.n > 0 && s.len < MESSAGES_MAX) {
        take_step(&s);
    }
    const struct tool_schema tool = {.name = "read", .description = "reads"};
    const struct llm_request request = {.messages = s.messages,
                                        .messages_len = s.len,
                                        .tools = &tool,
                                        .tools_len = n % 2};
    check_requests(&request);
    for (size_t i = 0; i < s.len; i++) {
        message_destroy(s.messages[i]);
    }
    return 0;
}
