#include "edit_numbers.h"

#include <stdint.h>

enum { DIGITS_MAX = 8 };

struct prefix {
    size_t len; // 0 = the line has none
    uint32_t number;
    char separator; // its last byte
};

static size_t separator_at(struct sv s, size_t at)
{
    struct sv rest = sv_from(s, at);
    if (sv_starts(rest, sv_of("→"))) {
        return sizeof("→") - 1;
    }
    return rest.n > 0 && memchr("|:\t", rest.p[0], 3) ? 1 : 0;
}

static struct prefix prefix_of(struct sv line)
{
    struct prefix p = {0};
    size_t at = 0;
    while (at < line.n && line.p[at] == ' ') {
        at++;
    }
    size_t digits = at;
    while (at < line.n && at - digits < DIGITS_MAX && line.p[at] >= '0' &&
           line.p[at] <= '9') {
        p.number = p.number * 10 + (uint32_t)(line.p[at++] - '0');
    }
    if (at == digits) {
        return p;
    }
    size_t n = separator_at(line, at);
    if (n == 0 && at < line.n && line.p[at] == ' ') {
        n = separator_at(line, ++at);
    }
    if (n > 0) {
        p.len = at + n;
        p.separator = line.p[at + n - 1];
    }
    return p;
}

struct edit_numbers edit_numbers_look(struct sv text)
{
    struct edit_numbers seen = {.counting = true, .spaced = true};
    struct prefix last = {0};
    struct sv line;
    while (sv_next_line(&text, &line)) {
        struct prefix p = prefix_of(line);
        struct sv rest = sv_from(line, p.len);
        bool next = seen.lines == 0 ||
                    (p.number == last.number + 1 && p.separator == last.separator);
        if (seen.lines++ == 0) {
            seen.first = p.number;
            seen.colon = p.separator == ':';
        }
        seen.numbered += p.len > 0;
        seen.counting = seen.counting && p.len > 0 && next;
        seen.spaced =
            seen.spaced && (rest.n == 0 || rest.p[0] == ' ' || rest.p[0] == '\r');
        last = p;
    }
    seen.counting = seen.counting && seen.lines > 0;
    return seen;
}

void edit_numbers_drop(struct buf *out, struct sv text, bool blank)
{
    struct sv line;
    while (sv_next_line(&text, &line)) {
        struct sv rest = sv_from(line, prefix_of(line).len);
        if (blank && rest.n > 0 && rest.p[0] == ' ') {
            rest = sv_from(rest, 1);
        }
        buf_addsv(out, rest);
        if (text.p > line.p + line.n) {
            buf_addc(out, '\n');
        }
    }
}
