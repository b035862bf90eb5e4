#include "llm/estimate.h"

#include <string.h>

enum { BYTES_PER_TOKEN = 4, LEAST_BYTES_PER_TOKEN = 3, IMAGE_TOKENS = 1600, MARGIN = 64 };

struct size {
    int64_t counted; // tokens, by the server
    int64_t images;
    int64_t bytes;
};

static void add_message(struct size *s, const struct message *m)
{
    for (size_t i = 0; i < m->content.len; i++) {
        const struct block *b = &m->content.blocks[i];
        if (b->type == BLOCK_IMAGE) {
            s->images++;
        } else {
            s->bytes += (int64_t)b->text.len + (b->name ? (int64_t)strlen(b->name) : 0);
        }
    }
}

static int64_t length(const char *text)
{
    return text ? (int64_t)strlen(text) : 0;
}

static void add_frame(struct size *s, const struct llm_request *r)
{
    s->bytes += length(r->system_prompt);
    for (size_t i = 0; i < r->tools_len; i++) {
        struct buf parameters = {0};
        json_write(&parameters, r->tools[i].parameters);
        s->bytes += length(r->tools[i].name) + length(r->tools[i].description) +
                    (int64_t)parameters.len;
        buf_finish(&parameters);
    }
}

static bool is_counted(const struct message *m)
{
    return m->role == ROLE_ASSISTANT && m->usage.total > 0 &&
           m->stop_reason != STOP_ERROR && m->stop_reason != STOP_ABORTED;
}

static struct size size_of(const struct llm_request *r)
{
    struct size s = {0};
    size_t first = r->messages_len;
    while (first > 0 && !is_counted(r->messages[first - 1])) {
        first--;
    }
    if (first > 0) {
        s.counted = r->messages[first - 1]->usage.total;
    } else {
        add_frame(&s, r);
    }
    for (size_t i = first; i < r->messages_len; i++) {
        add_message(&s, r->messages[i]);
    }
    return s;
}

int64_t estimate_tokens(const struct llm_request *request)
{
    struct size s = size_of(request);
    return s.counted + s.images * IMAGE_TOKENS + s.bytes / BYTES_PER_TOKEN;
}

int64_t estimate_at_most(const struct llm_request *request)
{
    struct size s = size_of(request);
    return s.counted + s.images * IMAGE_TOKENS + s.bytes / LEAST_BYTES_PER_TOKEN + MARGIN;
}
