#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "syntax/command_inside.h"

enum { SPANS_MAX = 64 }; // expansions of a word

struct span {
    size_t start, end;
    unsigned dynamic;
};

struct reading {
    const char *p;
    size_t at, end, start;
    struct span spans[SPANS_MAX];
    size_t spans_len;
    struct buf value;
    unsigned dynamic;
    char before;     // the last byte that was not quoted, 0 at the start
    bool open_brace; // not quoted
    bool choice;     // a comma or two dots behind it
    bool wrong;
};

void command_word_finish(struct command_word *w)
{
    free(w->text);
    *w = (struct command_word){0};
}

bool command_is_meta(char c)
{
    return c == ' ' || c == '\t' || c == '\n' || c == ';' || c == '&' || c == '|' ||
           c == '<' || c == '>' || c == '(' || c == ')';
}

static unsigned dynamic_of(TSNode node)
{
    static const struct {
        const char *type;
        unsigned dynamic;
    } table[] = {
        {"simple_expansion", COMMAND_VARIABLE},
        {"expansion", COMMAND_VARIABLE},
        {"command_substitution", COMMAND_SUBSTITUTION},
        {"process_substitution", COMMAND_SUBSTITUTION},
        {"arithmetic_expansion", COMMAND_ARITHMETIC},
    };
    for (size_t i = 0; i < sizeof table / sizeof *table; i++) {
        if (parse_is(node, table[i].type)) {
            return table[i].dynamic;
        }
    }
    return 0;
}

bool command_is_expansion(TSNode node)
{
    return dynamic_of(node) != 0;
}

static bool find_spans(struct reading *r, TSNode word)
{
    struct parse_walk w = parse_walk_start(word);
    TSNode node;
    bool descend = true;
    while (parse_walk_next(&w, descend, &node)) {
        unsigned dynamic = dynamic_of(node);
        descend = dynamic == 0;
        if (descend || ts_node_end_byte(node) <= r->at) {
            continue;
        }
        if (r->spans_len == SPANS_MAX) {
            r->wrong = true;
            break;
        }
        r->spans[r->spans_len++] =
            (struct span){ts_node_start_byte(node), ts_node_end_byte(node), dynamic};
    }
    parse_walk_finish(&w);
    return !r->wrong;
}

// Steps over the expansion that begins here.
static bool step_expansion(struct reading *r)
{
    for (size_t i = 0; i < r->spans_len; i++) {
        const struct span *s = &r->spans[i];
        if (s->start == r->at && s->end > s->start && s->end <= r->end) {
            r->dynamic |= s->dynamic;
            r->at = s->end;
            r->before = 'x';
            return true;
        }
    }
    return false;
}

static char peek(const struct reading *r, size_t ahead)
{
    return r->at + ahead < r->end ? r->p[r->at + ahead] : '\0';
}

// What bash takes for an expansion; the grammar must have seen one.
static bool starts_expansion(char next)
{
    return (next >= 'a' && next <= 'z') || (next >= 'A' && next <= 'Z') ||
           (next >= '0' && next <= '9') || (next && strchr("_@*#?-$!({[", next));
}

static void read_dollar(struct reading *r)
{
    if (step_expansion(r)) {
        return;
    }
    if (starts_expansion(peek(r, 1))) {
        r->wrong = true;
        return;
    }
    buf_addc(&r->value, '$');
    r->at++;
}

static void read_double(struct reading *r)
{
    r->at++;
    while (r->at < r->end && !r->wrong) {
        char c = peek(r, 0), next = peek(r, 1);
        if (c == '"') {
            r->at++;
            return;
        }
        if (c == '\\' && r->at + 1 < r->end) {
            bool escape = strchr("$`\"\\\n", next) && next;
            if (!escape) {
                buf_addc(&r->value, c);
            }
            if (next != '\n') {
                buf_addc(&r->value, next);
            }
            r->at += 2;
        } else if (c == '$') {
            read_dollar(r);
        } else if (c == '`') {
            r->wrong = !step_expansion(r);
        } else {
            buf_addc(&r->value, c);
            r->at++;
        }
    }
    r->wrong = true;
}

static void read_single(struct reading *r)
{
    const char *start = r->p + r->at + 1;
    const char *end = memchr(start, '\'', r->end - r->at - 1);
    if (!end) {
        r->wrong = true;
        return;
    }
    buf_add(&r->value, start, (size_t)(end - start));
    r->at = (size_t)(end - r->p) + 1;
}

static int digit_of(char c, int base)
{
    int value = c >= '0' && c <= '9'   ? c - '0'
                : c >= 'a' && c <= 'f' ? c - 'a' + 10
                : c >= 'A' && c <= 'F' ? c - 'A' + 10
                                       : 99;
    return value < base ? value : -1;
}

static bool read_number(struct reading *r, int base, int max)
{
    int value = 0, n = 0;
    while (n < max && r->at < r->end && digit_of(peek(r, 0), base) >= 0) {
        value = value * base + digit_of(peek(r, 0), base);
        r->at++;
        n++;
    }
    // NUL ends the string in bash, and what is above depends on the locale.
    if (n == 0 || value == 0 || value > 0x7F) {
        return false;
    }
    buf_addc(&r->value, (char)value);
    return true;
}

// Behind the backslash of $'...'.
static bool read_ansi_escape(struct reading *r)
{
    static const char from[] = "abeEfnrtv\\'\"?";
    static const char to[] = "\a\b\033\033\f\n\r\t\v\\'\"?";
    char c = peek(r, 0);
    const char *at = c ? strchr(from, c) : NULL;
    if (at) {
        buf_addc(&r->value, to[at - from]);
        r->at++;
        return true;
    }
    if (c >= '0' && c <= '7') {
        return read_number(r, 8, 3);
    }
    if (c == 'x' || c == 'u' || c == 'U') {
        r->at++;
        return read_number(r, 16, c == 'x' ? 2 : c == 'u' ? 4 : 8);
    }
    return false; // \c, and what bash leaves as it is
}

static void read_ansi(struct reading *r)
{
    r->at += 2;
    while (r->at < r->end && !r->wrong) {
        char c = peek(r, 0);
        r->at++;
        if (c == '\'') {
            return;
        }
        if (c == '\\') {
            r->wrong = !read_ansi_escape(r);
        } else {
            buf_addc(&r->value, c);
        }
    }
    r->wrong = true;
}

static void read_plain(struct reading *r, char c)
{
    if (command_is_meta(c) || c == '\r' || c == '\0' || (c == '#' && r->at == r->start)) {
        r->wrong = true;
        return;
    }
    bool may_be_tilde = r->at == r->start || r->before == '=' || r->before == ':';
    if (c == '~' && may_be_tilde) {
        r->dynamic |= COMMAND_TILDE;
    } else if (c == '*' || c == '?' || c == '[') {
        r->dynamic |= COMMAND_GLOB;
    } else if (c == '{') {
        r->open_brace = true;
    } else if (c == ',' || (c == '.' && peek(r, 1) == '.')) {
        r->choice = r->choice || r->open_brace;
    } else if (c == '}' && r->choice) {
        r->dynamic |= COMMAND_BRACES;
    }
    buf_addc(&r->value, c);
    r->before = c;
    r->at++;
}

static void read_next(struct reading *r)
{
    char c = peek(r, 0), next = peek(r, 1);
    char before = r->before;
    r->before = 'x'; // nothing quoted makes a tilde special
    if (c == '\\') {
        if (r->at + 1 >= r->end) {
            r->wrong = true;
        } else if (next == '\n') {
            r->before = before;
        } else {
            buf_addc(&r->value, next);
        }
        r->at += 2;
    } else if (c == '\'') {
        read_single(r);
    } else if (c == '"') {
        read_double(r);
    } else if (c == '$' && next == '\'') {
        read_ansi(r);
    } else if (c == '$' && next == '"') {
        r->dynamic |= COMMAND_VARIABLE; // translated
        r->at++;
    } else if (c == '$') {
        read_dollar(r);
    } else if (c == '`' || c == '<' || c == '>') {
        r->wrong = !step_expansion(r);
    } else {
        r->before = before;
        read_plain(r, c);
    }
}

// Bash would go on with what is behind the word, or would have begun before it.
static bool is_bounded(const struct command_parser *p, size_t start, size_t end,
                       bool behind_sign)
{
    char before = start > 0 ? p->text.p[start - 1] : '\n';
    char after = end < p->text.n ? p->text.p[end] : '\n';
    return (behind_sign || command_is_meta(before) || before == '`') &&
           (command_is_meta(after) || after == '`');
}

// "2>" and "{fd}>" are part of the redirection that follows.
static bool is_descriptor(const struct command_parser *p, size_t start, size_t end)
{
    char after = end < p->text.n ? p->text.p[end] : '\n';
    if (after != '<' && after != '>') {
        return false;
    }
    struct sv word = sv_sub(p->text, start, end - start);
    bool digits = true;
    for (size_t i = 0; i < word.n; i++) {
        digits = digits && word.p[i] >= '0' && word.p[i] <= '9';
    }
    return digits || (word.p[0] == '{' && word.p[word.n - 1] == '}');
}

bool command_word_read(struct command_parser *p, struct command_word *out, TSNode node,
                       size_t from)
{
    size_t end = ts_node_end_byte(node);
    bool value = from > ts_node_start_byte(node); // of an assignment
    struct reading r = {.p = p->text.p, .at = from, .start = from, .end = end};
    if (end > p->text.n || from > end || !is_bounded(p, from, end, value) ||
        (from < end && !value && is_descriptor(p, from, end)) || !find_spans(&r, node)) {
        return command_fail(p, from);
    }
    while (r.at < r.end && !r.wrong) {
        read_next(&r);
    }
    *out = (struct command_word){.dynamic = r.dynamic, .start = from, .end = end};
    if (r.wrong || r.at != r.end) {
        buf_finish(&r.value);
        return command_fail(p, r.at);
    }
    if (r.dynamic) {
        buf_clear(&r.value);
        buf_addsv(&r.value, sv_sub(p->text, from, end - from));
    }
    buf_adds(&r.value, "");
    out->text = r.value.len > 0 || !buf_ok(&r.value) ? buf_take(&r.value) : strdup("");
    buf_finish(&r.value);
    if (!out->text) {
        p->nomem = true;
        return command_fail(p, from);
    }
    return true;
}
