#include "progress.h"

#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>

#include "base/vec.h"
#include "show.h"
#include "sys/clock.h"

enum {
    TICK_MS = 1000,
    REDRAW_MS = 100,
    PATIENCE_MS = 150, // shorter calls never get a live line
    TITLE_COLUMNS = 60,
    OUTCOME_COLUMNS = 60,
    TAIL_COLUMNS = 40,
};

struct progress_call {
    char *id;
    struct buf title; // fit for a terminal
    struct buf tail;  // the last line of the output, fit for a terminal
    int64_t started_ms;
};

static struct progress_call *find(struct progress *p, const char *id)
{
    for (size_t i = 0; id && i < p->len; i++) {
        if (strcmp(p->calls[i].id, id) == 0) {
            return &p->calls[i];
        }
    }
    return NULL;
}

static void call_finish(struct progress_call *c)
{
    free(c->id);
    buf_finish(&c->title);
    buf_finish(&c->tail);
}

// Some titles begin with the tool's name, others with a sign that stands for it.
static void add_title(struct buf *b, const struct json *event)
{
    struct sv name = sv_of(json_get_str(event, "toolName"));
    struct sv title = sv_of(json_get_str(event, "title"));
    if (!sv_starts(title, name)) {
        show_line(b, name, TITLE_COLUMNS);
        buf_adds(b, title.n > 0 ? " " : "");
    }
    show_line(b, title, TITLE_COLUMNS);
    // A title without its argument ends in a blank.
    while (b->len > 0 && b->data[b->len - 1] == ' ') {
        buf_truncate(b, b->len - 1);
    }
}

void progress_start(struct progress *p, const struct json *event)
{
    const char *id = json_get_str(event, "toolCallId");
    if (!id) {
        return;
    }
    void *grown = vec_grow(p->calls, &p->cap, p->len + 1, sizeof *p->calls);
    if (!grown) {
        return;
    }
    p->calls = grown;
    struct progress_call call = {.id = strdup(id), .started_ms = clock_mono_ms()};
    if (!call.id) {
        return;
    }
    add_title(&call.title, event);
    p->calls[p->len++] = call;
}

void progress_output(struct progress *p, const char *id, struct sv text)
{
    struct progress_call *call = p->live ? find(p, id) : NULL;
    if (!call) {
        return;
    }
    struct sv line, last = {0};
    while (sv_next_line(&text, &line)) {
        last = line.n > 0 ? line : last;
    }
    if (last.n > 0) {
        buf_clear(&call->tail);
        show_line(&call->tail, last, TAIL_COLUMNS);
    }
}

static void add_time(struct buf *b, int64_t ms)
{
    if (ms < 1000) {
        buf_addf(b, "%d ms", (int)ms);
    } else if (ms < 100000) {
        buf_addf(b, "%d.%d s", (int)(ms / 1000), (int)(ms % 1000 / 100));
    } else {
        long long s = ms / 1000;
        buf_addf(b, "%lld min %lld s", s / 60, s % 60);
    }
}

static void add_painted(struct progress *p, struct buf *b, const char *colour,
                        const char *text)
{
    buf_addf(b, "%s%s%s", p->colour ? colour : "", text, p->colour ? "\033[0m" : "");
}

// A failure is told by its first line; commands say why they ended in the last one.
static struct sv failure_line(struct sv first, struct sv last)
{
    return sv_starts(last, sv_of("Command ")) ? last : first;
}

static void add_outcome(struct buf *b, const struct json *result, bool failed)
{
    struct json *content = json_get(result, "content");
    struct sv line, first = {0}, second = {0}, last = {0};
    size_t lines = 0, images = 0;
    for (struct json *block = json_first(content); block; block = json_next(block)) {
        const char *text = json_get_str(block, "text");
        struct sv rest = sv_of(text);
        images += text == NULL;
        while (sv_next_line(&rest, &line)) {
            first = first.n > 0 ? first : line;
            last = line.n > 0 ? line : last;
            second = lines == 1 ? line : second;
            lines++;
        }
    }
    if (failed) {
        buf_adds(b, "failed: ");
        show_line(b, failure_line(first, last), OUTCOME_COLUMNS);
    } else if (lines == 1 && images == 0) {
        show_line(b, last, OUTCOME_COLUMNS);
    } else if (images == 0 && sv_starts(second, sv_of("["))) {
        // A note on the one line above it matters more than the number of lines.
        show_line(b, second, OUTCOME_COLUMNS);
    } else if (images > 0) {
        buf_addf(b, "%zu image%s", images, images == 1 ? "" : "s");
    } else {
        buf_addf(b, "%zu lines", lines);
    }
}

void progress_end(struct progress *p, const struct json *event)
{
    struct progress_call *call = find(p, json_get_str(event, "toolCallId"));
    bool failed = json_get_bool(event, "isError", false);
    struct buf b = {0};
    add_painted(p, &b, failed ? "\033[31m" : "\033[32m", "●");
    buf_addc(&b, ' ');
    if (call) {
        buf_addsv(&b, buf_sv(&call->title));
    } else {
        add_title(&b, event);
    }
    buf_adds(&b, "  ");
    add_outcome(&b, json_get(event, "result"), failed);
    if (call) {
        struct buf time = {0};
        add_time(&time, clock_mono_ms() - call->started_ms);
        buf_adds(&b, "  ");
        add_painted(p, &b, "\033[2m", buf_cstr(&time));
        buf_finish(&time);
        call_finish(call);
        size_t i = (size_t)(call - p->calls);
        memmove(call, call + 1, (--p->len - i) * sizeof *call);
    }
    buf_addc(&b, '\n');
    progress_hide(p);
    out_add(p->out, buf_sv(&b));
    out_flush(p->out);
    buf_finish(&b);
}

void progress_hide(struct progress *p)
{
    if (p->drawn) {
        out_adds(p->out, "\r\033[K");
        out_flush(p->out);
        p->drawn = false;
    }
}

static size_t screen_columns(const struct progress *p)
{
    struct winsize size;
    bool known = ioctl(p->out->fd, TIOCGWINSZ, &size) == 0 && size.ws_col > 0;
    return known ? size.ws_col : 80;
}

int progress_draw(struct progress *p)
{
    if (!p->live || p->len == 0) {
        progress_hide(p);
        return -1;
    }
    int64_t since_ms = clock_mono_ms() - p->drawn_ms;
    if (p->drawn && since_ms < REDRAW_MS) {
        return (int)(REDRAW_MS - since_ms);
    }
    struct progress_call *oldest = &p->calls[0];
    int64_t running_ms = clock_mono_ms() - oldest->started_ms;
    if (running_ms < PATIENCE_MS) {
        return (int)(PATIENCE_MS - running_ms);
    }
    struct buf text = {0}, line = {0};
    buf_addf(&text, "○ %s  %lld s", buf_cstr(&oldest->title),
             (long long)(running_ms / 1000));
    if (p->len > 1) {
        buf_addf(&text, "  and %zu more", p->len - 1);
    }
    if (oldest->tail.len > 0) {
        buf_addf(&text, "  %s", buf_cstr(&oldest->tail));
    }
    buf_adds(&line, "\r\033[K");
    show_line(&line, buf_sv(&text), screen_columns(p) - 1);
    out_add(p->out, buf_sv(&line));
    out_flush(p->out);
    p->drawn = true;
    p->drawn_ms = clock_mono_ms();
    buf_finish(&text);
    buf_finish(&line);
    return TICK_MS - (int)(running_ms % TICK_MS);
}

void progress_note(struct progress *p, const char *text)
{
    progress_hide(p);
    struct buf b = {0};
    buf_adds(&b, "pi: ");
    show_text(&b, sv_of(text));
    buf_addc(&b, '\n');
    out_add(p->out, buf_sv(&b));
    out_flush(p->out);
    buf_finish(&b);
}

void progress_finish(struct progress *p)
{
    for (size_t i = 0; i < p->len; i++) {
        call_finish(&p->calls[i]);
    }
    free(p->calls);
    p->calls = NULL;
    p->len = p->cap = 0;
}
