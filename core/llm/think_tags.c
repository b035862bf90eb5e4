#include "llm/think_tags.h"

#include <string.h>

enum { HELD_MAX = 64 }; // white space before a tag

static const struct sv opening = {"<think>", 7}, closing = {"</think>", 8};

void think_tags_finish(struct think_tags *t)
{
    buf_finish(&t->held);
}

static bool is_space(char c)
{
    return c == ' ' || c == '\n' || c == '\r' || c == '\t';
}

// White space, then the tag as far as it goes.
static void at_start(struct think_tags *t, char c, struct buf *answer)
{
    buf_addc(&t->held, c);
    struct sv seen = buf_sv(&t->held);
    while (seen.n > 0 && is_space(*seen.p)) {
        seen = sv_from(seen, 1);
    }
    if (sv_eq(seen, opening)) {
        t->state = TAGS_INSIDE;
        buf_clear(&t->held);
    } else if (!sv_starts(opening, seen) || t->held.len >= HELD_MAX) {
        t->state = TAGS_OVER;
        buf_addsv(answer, buf_sv(&t->held));
        buf_clear(&t->held);
    }
}

static void inside(struct think_tags *t, char c, struct buf *thinking)
{
    if (t->held.len == 0 && c != closing.p[0]) {
        buf_addc(thinking, c);
        return;
    }
    buf_addc(&t->held, c);
    while (buf_ok(&t->held) && !sv_starts(closing, buf_sv(&t->held))) {
        buf_addc(thinking, t->held.data[0]);
        buf_drop(&t->held, 1);
    }
    if (t->held.len == closing.n) {
        t->state = TAGS_BEHIND;
        buf_clear(&t->held);
    }
}

void think_tags_feed(struct think_tags *t, struct sv text, struct buf *thinking,
                     struct buf *answer)
{
    size_t i = 0;
    for (; i < text.n && t->state != TAGS_OVER && buf_ok(&t->held); i++) {
        char c = text.p[i];
        if (t->state == TAGS_START) {
            at_start(t, c, answer);
        } else if (t->state == TAGS_INSIDE) {
            inside(t, c, thinking);
        } else if (!is_space(c)) {
            t->state = TAGS_OVER;
            break;
        }
    }
    buf_addsv(answer, sv_from(text, i));
    answer->failed = answer->failed || !buf_ok(&t->held);
}

void think_tags_end(struct think_tags *t, struct buf *thinking, struct buf *answer)
{
    buf_addsv(t->state == TAGS_INSIDE ? thinking : answer, buf_sv(&t->held));
    buf_clear(&t->held);
    t->state = TAGS_OVER;
}
