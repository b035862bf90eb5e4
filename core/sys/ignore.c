#include "sys/ignore.h"

#include <stdlib.h>
#include <string.h>

#include "base/vec.h"
#include "text/glob.h"

void ignore_finish(struct ignore_level *l)
{
    free(l->text);
    free(l->rules);
    *l = (struct ignore_level){0};
}

// Blanks at the end do not count, unless a backslash stands before them.
static struct sv trim_end(struct sv line)
{
    while (line.n > 0 && (line.p[line.n - 1] == ' ' || line.p[line.n - 1] == '\t')) {
        size_t quotes = 0;
        while (quotes + 1 < line.n && line.p[line.n - 2 - quotes] == '\\') {
            quotes++;
        }
        if (quotes % 2 == 1) {
            break;
        }
        line.n--;
    }
    return line;
}

// False for a line that is no rule.
static bool parse_rule(struct ignore_rule *rule, struct sv line)
{
    if (line.n > 0 && line.p[line.n - 1] == '\r') {
        line.n--;
    }
    if (line.n == 0 || line.p[0] == '#') {
        return false;
    }
    line = trim_end(line);
    *rule = (struct ignore_rule){0};
    if (line.n > 0 && line.p[0] == '!') {
        rule->negated = true;
        line = sv_from(line, 1);
    }
    if (line.n > 0 && line.p[line.n - 1] == '/') {
        rule->folder_only = true;
        line.n--;
    }
    rule->anchored = memchr(line.p, '/', line.n) != NULL;
    if (line.n > 0 && line.p[0] == '/') {
        line = sv_from(line, 1);
    }
    rule->pattern = line;
    return line.n > 0;
}

static bool add_rule(struct ignore_level *l, const struct ignore_rule *rule)
{
    struct ignore_rule *grown = vec_grow(l->rules, &l->cap, l->len + 1, sizeof *grown);
    if (!grown) {
        return false;
    }
    l->rules = grown;
    l->rules[l->len++] = *rule;
    return true;
}

// The texts of several files stand one after another; patterns point into them, so they
// move along when the text grows.
static bool add_text(struct ignore_level *l, struct sv text, struct sv *added)
{
    size_t old = l->text ? strlen(l->text) : 0;
    char *grown = malloc(old + text.n + 1);
    if (!grown) {
        return false;
    }
    if (l->text) {
        memcpy(grown, l->text, old);
    }
    // A NUL would end the text early; git takes what stands before it, too.
    size_t n = text.n ? strnlen(text.p, text.n) : 0;
    memcpy(grown + old, text.n ? text.p : "", n);
    grown[old + n] = '\0';
    for (size_t i = 0; i < l->len; i++) {
        l->rules[i].pattern.p = grown + (l->rules[i].pattern.p - l->text);
    }
    free(l->text);
    l->text = grown;
    *added = sv_make(grown + old, n);
    return true;
}

enum pi_status ignore_add(struct ignore_level *l, struct sv text, struct pi_error *err)
{
    struct sv rest;
    struct sv line;
    if (sv_starts(text, sv_of("\xef\xbb\xbf"))) {
        text = sv_from(text, 3);
    }
    if (!add_text(l, text, &rest)) {
        return error_nomem(err);
    }
    while (sv_next_line(&rest, &line)) {
        struct ignore_rule rule;
        if (parse_rule(&rule, line) && !add_rule(l, &rule)) {
            return error_nomem(err);
        }
    }
    return PI_OK;
}

static bool applies(const struct ignore_rule *rule, struct sv below, bool is_folder)
{
    if (rule->folder_only && !is_folder) {
        return false;
    }
    if (rule->anchored) {
        return glob_match(rule->pattern, below, 0);
    }
    const char *slash = memrchr(below.p, '/', below.n);
    struct sv name = slash ? sv_from(below, (size_t)(slash - below.p) + 1) : below;
    return glob_match(rule->pattern, name, 0);
}

enum ignore_verdict ignore_check(const struct ignore_level *l, struct sv path,
                                 bool is_folder)
{
    for (; l; l = l->parent) {
        struct sv below = sv_from(path, l->depth ? l->depth + 1 : 0);
        for (size_t i = l->len; i > 0 && below.n > 0; i--) {
            const struct ignore_rule *rule = &l->rules[i - 1];
            if (applies(rule, below, is_folder)) {
                return rule->negated ? IGNORE_NO : IGNORE_YES;
            }
        }
    }
    return IGNORE_UNDECIDED;
}
