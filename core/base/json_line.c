#include "base/json_line.h"

#include <string.h>

#include "base/json_relaxed.h"

// The number of values that begin before node. False: node is not below at.
static bool count_before(const struct json *at, const struct json *node, size_t *count)
{
    if (at == node) {
        return true;
    }
    ++*count;
    for (const struct json *c = json_first(at); c; c = json_next(c)) {
        if (count_before(c, node, count)) {
            return true;
        }
    }
    return false;
}

static bool is_blank(char c)
{
    return c == ' ' || c == '\t' || c == '\r' || c == '\n';
}

static size_t skip_blanks(struct sv text, size_t i)
{
    while (i < text.n && is_blank(text.p[i])) {
        i++;
    }
    return i;
}

static size_t skip_string(struct sv text, size_t i)
{
    for (i++; i < text.n && text.p[i] != '"'; i++) {
        i += text.p[i] == '\\';
    }
    return i < text.n ? i + 1 : text.n;
}

static size_t skip_word(struct sv text, size_t i)
{
    while (i < text.n && !is_blank(text.p[i]) && !strchr("{}[],:\"", text.p[i])) {
        i++;
    }
    return i;
}

// The offset where value number `wanted` begins. The text has no comments.
static size_t find_value(struct sv text, size_t wanted)
{
    size_t seen = 0;
    size_t i = skip_blanks(text, 0);
    while (i < text.n) {
        char c = text.p[i];
        size_t start = i;
        bool value = c != '}' && c != ']' && c != ',' && c != ':';
        if (c == '"') {
            i = skip_string(text, i);
            size_t next = skip_blanks(text, i);
            value = next >= text.n || text.p[next] != ':'; // else the key of a member
        } else if (!value || c == '{' || c == '[') {
            i++;
        } else {
            size_t end = skip_word(text, i);
            i = end > i ? end : i + 1;
        }
        if (value && seen++ == wanted) {
            return start;
        }
        i = skip_blanks(text, i);
    }
    return 0;
}

size_t json_line(struct sv text, const struct json *root, const struct json *node)
{
    size_t before = 0;
    struct buf copy = {0};
    buf_addsv(&copy, text);
    size_t line = 1;
    if (copy.len > 0 && buf_ok(&copy) && count_before(root, node, &before)) {
        json_relax(copy.data, copy.len);
        size_t end = find_value(buf_sv(&copy), before);
        for (size_t i = 0; i < end; i++) {
            line += copy.data[i] == '\n';
        }
    }
    buf_finish(&copy);
    return line;
}
