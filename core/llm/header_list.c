#include "llm/header_list.h"

#include <stdlib.h>
#include <string.h>
#include <strings.h>

static bool has_name(struct sv line, const char *name)
{
    size_t n = strlen(name);
    return line.n > n && line.p[n] == ':' && strncasecmp(line.p, name, n) == 0;
}

static bool is_replaced(struct sv line, const struct json *own)
{
    for (const struct json *h = json_first(own); h; h = json_next(h)) {
        if (json_str(h) && has_name(line, json_key(h))) {
            return true;
        }
    }
    return false;
}

static void end_line(struct header_list *l, size_t *count)
{
    buf_addc(&l->text, '\0');
    ++*count;
}

static bool index_lines(struct header_list *l, size_t count)
{
    l->lines = calloc(count + 1, sizeof *l->lines);
    if (!l->lines || !buf_ok(&l->text)) {
        return false;
    }
    const char *at = buf_cstr(&l->text);
    for (size_t i = 0; i < count; i++) {
        l->lines[i] = at;
        at += strlen(at) + 1;
    }
    return true;
}

bool header_list_build(struct header_list *out, struct sv format, const struct json *own)
{
    size_t count = 0;
    struct sv line;
    *out = (struct header_list){0};
    while (sv_next_line(&format, &line)) {
        if (line.n > 0 && !is_replaced(line, own)) {
            buf_addsv(&out->text, line);
            end_line(out, &count);
        }
    }
    for (const struct json *h = json_first(own); h; h = json_next(h)) {
        if (json_str(h)) {
            buf_addf(&out->text, "%s: %s", json_key(h), json_str(h));
            end_line(out, &count);
        }
    }
    if (!index_lines(out, count)) {
        header_list_finish(out);
        return false;
    }
    return true;
}

void header_list_finish(struct header_list *l)
{
    if (l) {
        free(l->lines);
        buf_finish(&l->text);
        l->lines = NULL;
    }
}
