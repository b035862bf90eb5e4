#include "tool/title.h"

#include <string.h>

#include "text/utf8.h"

enum { TITLE_MAX = 200 };

static void add_argument(struct buf *out, const struct json *args, struct sv name)
{
    for (const struct json *a = json_first(args); a; a = json_next(a)) {
        if (!sv_eqs(name, json_key(a))) {
            continue;
        }
        if (json_str(a)) {
            // A long command or content needs no more than the title can show.
            buf_addsv(out, sv_make(json_str(a), strnlen(json_str(a), TITLE_MAX + 4)));
        } else if (json_type(a) == JSON_NUMBER || json_type(a) == JSON_BOOL) {
            json_write(out, a);
        }
    }
}

static void fill(struct buf *out, const char *title_template, const struct json *args)
{
    struct sv rest = sv_of(title_template);
    while (rest.n > 0) {
        const char *open = memchr(rest.p, '{', rest.n);
        const char *close =
            open ? memchr(open, '}', rest.n - (size_t)(open - rest.p)) : NULL;
        if (!close) {
            buf_addsv(out, rest);
            return;
        }
        buf_add(out, rest.p, (size_t)(open - rest.p));
        add_argument(out, args, sv_make(open + 1, (size_t)(close - open - 1)));
        rest = sv_from(rest, (size_t)(close + 1 - rest.p));
    }
}

static void first_text(struct buf *out, const struct json *args)
{
    for (const struct json *a = json_first(args); a; a = json_next(a)) {
        if (json_str(a)) {
            add_argument(out, args, sv_of(json_key(a)));
            return;
        }
    }
}

void tool_title(struct buf *out, const char *title_template, const struct json *args)
{
    size_t start = out->len;
    if (title_template) {
        fill(out, title_template, args);
    } else {
        first_text(out, args);
    }
    struct sv title = sv_from(buf_sv(out), start);
    if (title.n > TITLE_MAX) {
        buf_truncate(out, start + utf8_floor(title, TITLE_MAX));
        buf_adds(out, "…");
    }
    for (size_t i = start; i < out->len; i++) {
        if ((unsigned char)out->data[i] < ' ') {
            out->data[i] = ' ';
        }
    }
}
