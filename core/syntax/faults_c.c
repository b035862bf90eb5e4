#include "syntax/faults.h"

enum { NESTING_MAX = 256 };

// What is open while a text in C is read byte by byte.
struct scan {
    struct sv rest;
    char open[NESTING_MAX]; // the closers
    size_t len;
    unsigned skipped; // #if that are open in a branch that does not count
    bool wrong;
};

static char next(struct scan *s)
{
    char c = s->rest.p[0];
    s->rest = sv_from(s->rest, 1);
    return c;
}

static void skip_quoted(struct scan *s, char quote)
{
    while (s->rest.n > 0) {
        char c = next(s);
        if (c == quote || c == '\n') {
            return;
        }
        if (c == '\\' && s->rest.n > 0) {
            next(s);
        }
    }
}

static void skip_comment(struct scan *s)
{
    bool line = s->rest.p[0] == '/';
    while (s->rest.n > 0) {
        if (line ? s->rest.p[0] == '\n' : sv_starts(s->rest, sv_of("*/"))) {
            s->rest = sv_from(s->rest, line ? 0 : 2);
            return;
        }
        next(s);
    }
}

void faults_c_branch(unsigned *skipped, struct sv directive)
{
    while (directive.n > 0 && (directive.p[0] == ' ' || directive.p[0] == '\t')) {
        directive = sv_from(directive, 1);
    }
    if (sv_starts(directive, sv_of("if"))) {
        *skipped += *skipped > 0;
    } else if (sv_starts(directive, sv_of("el"))) {
        *skipped += *skipped == 0;
    } else if (sv_starts(directive, sv_of("endif"))) {
        *skipped -= *skipped > 0;
    }
}

static void bracket(struct scan *s, char c)
{
    static const char pairs[] = "()[]{}";
    const char *at = memchr(pairs, c, 6);
    if (!at || s->skipped > 0) {
        return;
    }
    if ((at - pairs) % 2 == 0) {
        s->wrong = s->wrong || s->len == NESTING_MAX;
        if (!s->wrong) {
            s->open[s->len++] = at[1];
        }
    } else {
        s->wrong = s->wrong || s->len == 0 || s->open[--s->len] != c;
    }
}

bool faults_c_balanced(struct sv text)
{
    struct scan s = {.rest = text};
    bool line_start = true;
    while (s.rest.n > 0 && !s.wrong) {
        char c = next(&s);
        if (c == '"' || c == '\'') {
            skip_quoted(&s, c);
        } else if (c == '/' && s.rest.n > 0 &&
                   (s.rest.p[0] == '/' || s.rest.p[0] == '*')) {
            skip_comment(&s);
        } else if (c == '#' && line_start) {
            faults_c_branch(&s.skipped, s.rest);
        } else {
            bracket(&s, c);
        }
        line_start = c == '\n' || (line_start && (c == ' ' || c == '\t'));
    }
    return !s.wrong && s.len == 0;
}
