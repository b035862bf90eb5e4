#include "text/glob.h"

#include <stdint.h>
#include <string.h>

#include "text/utf8.h"

// Braces and stars try alternatives one inside the other; a pattern made to explode ends
// here.
enum { STEPS_MAX = 1000000, DEPTH_MAX = 200 };

struct glob {
    unsigned flags;
    unsigned steps;
    unsigned depth;
    bool star_failed; // what was tried last came to a star and failed behind it
};

static bool match(struct glob *g, struct sv p, struct sv s, bool at_start);

static unsigned char lower(unsigned char c)
{
    return c >= 'A' && c <= 'Z' ? (unsigned char)(c + 32) : c;
}

// One character off the front: a UTF-8 sequence, or a byte where there is none.
static struct sv next_character(struct sv *s)
{
    size_t n = utf8_sequence(*s);
    struct sv c = sv_make(s->p, n ? n : 1);
    *s = sv_from(*s, c.n);
    return c;
}

static uint32_t value(struct sv c)
{
    if (c.n == 1 && (unsigned char)c.p[0] >= 0x80) {
        return 0x110000u + (unsigned char)c.p[0]; // a byte that is no character
    }
    struct sv rest = c;
    return utf8_next(&rest);
}

static uint32_t folded(const struct glob *g, uint32_t v)
{
    return (g->flags & GLOB_IGNORE_CASE) && v < 0x80 ? lower((unsigned char)v) : v;
}

static bool same(const struct glob *g, struct sv a, struct sv b)
{
    return folded(g, value(a)) == folded(g, value(b));
}

// The class at the start of p ("[" included): its length, 0 when it has no end.
static size_t class_length(struct sv p)
{
    size_t i = 1;
    if (i < p.n && (p.p[i] == '!' || p.p[i] == '^')) {
        i++;
    }
    if (i < p.n && p.p[i] == ']') {
        i++;
    }
    while (i < p.n && p.p[i] != ']') {
        if (p.p[i] == '\\' && i + 1 < p.n) {
            i++;
        }
        if (p.p[i] == '[' && i + 1 < p.n && p.p[i + 1] == ':') {
            const char *end = memmem(p.p + i + 2, p.n - i - 2, ":]", 2);
            i = end ? (size_t)(end - p.p) + 1 : i;
        }
        i++;
    }
    return i < p.n ? i + 1 : 0;
}

static bool in_named_class(struct sv name, uint32_t v)
{
    bool upper = v >= 'A' && v <= 'Z';
    bool small = v >= 'a' && v <= 'z';
    bool digit = v >= '0' && v <= '9';
    if (sv_eqs(name, "alpha")) {
        return upper || small;
    }
    if (sv_eqs(name, "alnum")) {
        return upper || small || digit;
    }
    if (sv_eqs(name, "digit")) {
        return digit;
    }
    if (sv_eqs(name, "upper")) {
        return upper;
    }
    if (sv_eqs(name, "lower")) {
        return small;
    }
    if (sv_eqs(name, "space")) {
        return v == ' ' || (v >= '\t' && v <= '\r');
    }
    if (sv_eqs(name, "xdigit")) {
        return digit || (v >= 'a' && v <= 'f') || (v >= 'A' && v <= 'F');
    }
    return sv_eqs(name, "punct") && v > ' ' && v < 0x7f && !upper && !small && !digit;
}

// One member of a class: a named class, a range or a character. True when v is in it.
static bool member(const struct glob *g, struct sv *body, uint32_t v)
{
    if (sv_starts(*body, sv_of("[:"))) {
        const char *end = memmem(body->p + 2, body->n - 2, ":]", 2);
        if (end) {
            struct sv name = sv_make(body->p + 2, (size_t)(end - body->p) - 2);
            *body = sv_from(*body, name.n + 4);
            return in_named_class(name, v);
        }
    }
    if (body->p[0] == '\\' && body->n > 1) {
        *body = sv_from(*body, 1);
    }
    uint32_t low = value(next_character(body));
    uint32_t high = low;
    if (body->n > 1 && body->p[0] == '-') {
        *body = sv_from(*body, 1);
        if (body->p[0] == '\\' && body->n > 1) {
            *body = sv_from(*body, 1);
        }
        high = value(next_character(body));
    }
    if (v >= low && v <= high) {
        return true;
    }
    if (!(g->flags & GLOB_IGNORE_CASE) || v >= 0x80) {
        return false;
    }
    uint32_t other = v >= 'a' && v <= 'z' ? v - 32 : lower((unsigned char)v);
    return other >= low && other <= high;
}

static bool in_class(const struct glob *g, struct sv class, struct sv c)
{
    struct sv body = sv_make(class.p + 1, class.n - 2);
    bool negated = body.n > 0 && (body.p[0] == '!' || body.p[0] == '^');
    if (negated) {
        body = sv_from(body, 1);
    }
    bool found = false;
    while (body.n > 0) {
        found = member(g, &body, value(c)) || found;
    }
    return found != negated;
}

// "**" that stands alone between slashes or ends.
static bool is_double_star(struct sv p, bool at_start)
{
    return at_start && sv_starts(p, sv_of("**")) && (p.n == 2 || p.p[2] == '/');
}

static bool match_double_star(struct glob *g, struct sv p, struct sv s)
{
    if (p.n == 2) {
        return s.n > 0; // "a/**": everything inside
    }
    p = sv_from(p, 3);
    for (;;) {
        if (match(g, p, s, true)) {
            return true;
        }
        const char *slash = memchr(s.p, '/', s.n);
        if (!slash) {
            g->star_failed = false;
            return false;
        }
        s = sv_from(s, (size_t)(slash - s.p) + 1);
    }
}

// A character of the pattern that stands for itself, as far as one byte tells.
static bool is_plain(char c)
{
    return (unsigned char)c < 0x80 && !strchr("*?[]{},\\", c);
}

static bool same_byte(const struct glob *g, char a, char b)
{
    return folded(g, (unsigned char)a) == folded(g, (unsigned char)b);
}

// Goes on to where the rest of the pattern may begin: to its first character, or at
// least by one character.
static void skip_to(const struct glob *g, struct sv p, struct sv *s)
{
    (void)next_character(s);
    if (p.n > 0 && is_plain(p.p[0])) {
        while (s->n > 0 && s->p[0] != '/' && !same_byte(g, p.p[0], s->p[0])) {
            *s = sv_from(*s, 1);
        }
    }
}

static bool match_star(struct glob *g, struct sv p, struct sv s)
{
    while (p.n > 0 && p.p[0] == '*') {
        p = sv_from(p, 1);
    }
    // A later star has tried every place behind it; starting it further on gives nothing
    // new, and trying that takes exponential time. With alternatives it may be another
    // star.
    bool plain = !(g->flags & GLOB_BRACES) || !memchr(p.p, '{', p.n);
    for (;;) {
        g->star_failed = false;
        if (match(g, p, s, false)) {
            return true;
        }
        if (s.n == 0 || s.p[0] == '/' || (plain && g->star_failed)) {
            g->star_failed = true;
            return false;
        }
        skip_to(g, p, &s);
    }
}

// The end of the group at the start of p ("{" included): its length, 0 when it has none.
static size_t group_length(struct sv p)
{
    size_t depth = 0;
    for (size_t i = 0; i < p.n; i++) {
        if (p.p[i] == '\\') {
            i++;
        } else if (p.p[i] == '{') {
            depth++;
        } else if (p.p[i] == '}' && --depth == 0) {
            return i + 1;
        }
    }
    return 0;
}

// The length of the alternative at the start of s: up to a comma or the end of the group.
static size_t alternative_length(struct sv s)
{
    size_t depth = 0;
    for (size_t i = 0; i < s.n; i++) {
        if (s.p[i] == '\\') {
            i++;
        } else if (s.p[i] == '{') {
            depth++;
        } else if (s.p[i] == '}') {
            depth--;
        } else if (s.p[i] == ',' && depth == 0) {
            return i;
        }
    }
    return s.n;
}

// Each alternative with what follows the group, as one pattern.
static bool match_group(struct glob *g, struct sv p, size_t group, struct sv s,
                        bool at_start)
{
    char joined[4096];
    struct sv rest = sv_from(p, group);
    struct sv body = sv_make(p.p + 1, group - 2);
    for (;;) {
        size_t n = alternative_length(body);
        if (n + rest.n > sizeof joined) {
            return false;
        }
        memcpy(joined, body.p, n);
        memcpy(joined + n, rest.p, rest.n);
        if (match(g, sv_make(joined, n + rest.n), s, at_start)) {
            return true;
        }
        if (n == body.n) {
            return false;
        }
        body = sv_from(body, n + 1);
    }
}

// A single character of the pattern against one of the text; false ends the match.
static bool match_one(struct glob *g, struct sv *p, struct sv *s)
{
    size_t class = p->p[0] == '[' ? class_length(*p) : 0;
    if (s->n == 0) {
        return false;
    }
    struct sv c = next_character(s);
    if (class > 0) {
        bool in = c.p[0] != '/' && in_class(g, sv_make(p->p, class), c);
        *p = sv_from(*p, class);
        return in;
    }
    if (p->p[0] == '?') {
        *p = sv_from(*p, 1);
        return c.p[0] != '/';
    }
    if (p->p[0] == '\\' && p->n > 1) {
        *p = sv_from(*p, 1);
    }
    return same(g, next_character(p), c);
}

static bool step(struct glob *g, struct sv p, struct sv s, bool at_start)
{
    while (p.n > 0) {
        if (++g->steps > STEPS_MAX) {
            return false;
        }
        if (is_double_star(p, at_start)) {
            return match_double_star(g, p, s);
        }
        if (p.p[0] == '*') {
            return match_star(g, p, s);
        }
        size_t group = (g->flags & GLOB_BRACES) && p.p[0] == '{' ? group_length(p) : 0;
        if (group > 0) {
            return match_group(g, p, group, s, at_start);
        }
        at_start = p.p[0] == '/';
        if (!match_one(g, &p, &s)) {
            return false;
        }
    }
    return s.n == 0;
}

static bool match(struct glob *g, struct sv p, struct sv s, bool at_start)
{
    if (++g->depth > DEPTH_MAX) {
        g->depth--;
        return false;
    }
    bool matched = step(g, p, s, at_start);
    g->depth--;
    return matched;
}

bool glob_match(struct sv pattern, struct sv path, unsigned flags)
{
    struct glob g = {.flags = flags};
    // Most names of a tree differ from the pattern in their last character.
    if (pattern.n > 0 && path.n > 0 && is_plain(pattern.p[pattern.n - 1]) &&
        !same_byte(&g, pattern.p[pattern.n - 1], path.p[path.n - 1])) {
        return false;
    }
    return match(&g, pattern, path, true);
}
