#include "llm/models_match.h"

#include <stdlib.h>
#include <string.h>
#include <strings.h>

static bool same(const char *text, struct sv word)
{
    return strlen(text) == word.n && strncasecmp(text, word.p, word.n) == 0;
}

static bool contains(const char *text, struct sv word)
{
    size_t n = strlen(text);
    for (size_t i = 0; i + word.n <= n; i++) {
        if (strncasecmp(text + i, word.p, word.n) == 0) {
            return true;
        }
    }
    return false;
}

// "claude-opus-4-20250514": a version that never changes, which few people mean.
static bool is_dated(const char *id)
{
    size_t n = strlen(id);
    return n > 9 && id[n - 9] == '-' && strspn(id + n - 8, "0123456789") == 8;
}

static const char *last_part(const char *id)
{
    const char *slash = strrchr(id, '/');
    return slash ? slash + 1 : id;
}

// Whether b, which comes later in the table, is the better choice.
static bool is_better(const struct model *b, const struct model *a,
                      const struct model_judge *judge)
{
    bool ask_a = judge->can_ask(judge->data, a), ask_b = judge->can_ask(judge->data, b);
    if (ask_a != ask_b) {
        return ask_b;
    }
    if (strcmp(a->provider, b->provider) != 0) {
        return false;
    }
    bool dated_a = is_dated(a->id), dated_b = is_dated(b->id);
    if (dated_a != dated_b) {
        return dated_a;
    }
    return strverscmp(last_part(b->id), last_part(a->id)) > 0;
}

struct search {
    const struct models *t;
    const struct model_provider *provider; // NULL = all
    const struct model_judge *judge;
};

static const struct model *best(const struct search *s, struct sv word, bool exact)
{
    const struct model *found = NULL;
    for (size_t i = 0; i < models_len(s->t); i++) {
        const struct model *m = models_at(s->t, i);
        if (s->provider && strcmp(s->provider->name, m->provider) != 0) {
            continue;
        }
        bool fits =
            exact ? same(m->id, word) : contains(m->id, word) || contains(m->name, word);
        if (fits && (!found || is_better(m, found, s->judge))) {
            found = m;
        }
    }
    return found;
}

// The provider before the first "/", and what is behind it.
static const struct model_provider *split(const struct models *t, struct sv word,
                                          struct sv *rest)
{
    const char *slash = word.n ? memchr(word.p, '/', word.n) : NULL;
    size_t n = slash ? (size_t)(slash - word.p) : 0;
    *rest = slash ? sv_from(word, n + 1) : word;
    return slash ? models_find_provider(t, sv_make(word.p, n)) : NULL;
}

static const struct model *find(const struct search *s, struct sv word)
{
    if (word.n == 0) {
        return NULL;
    }
    struct sv rest;
    struct search inside = *s;
    inside.provider = split(s->t, word, &rest);
    bool named =
        inside.provider && rest.n > 0 && (!s->provider || s->provider == inside.provider);
    const struct model *m = named ? best(&inside, rest, true) : NULL;
    m = m ? m : best(s, word, true);
    if (!m && named) {
        m = best(&inside, rest, false);
    }
    return m ? m : best(s, word, false);
}

// The part before ":level"; the whole when there is no such level.
static struct sv cut_level(struct sv pattern, struct model_match *out)
{
    const char *colon = pattern.n ? memrchr(pattern.p, ':', pattern.n) : NULL;
    if (!colon) {
        return pattern;
    }
    size_t n = (size_t)(colon - pattern.p);
    for (int i = 0; i < THINKING_LEVELS; i++) {
        if (sv_eqs(sv_from(pattern, n + 1),
                   thinking_level_name((enum thinking_level)i))) {
            out->level_given = true;
            out->level = (enum thinking_level)i;
            return sv_make(pattern.p, n);
        }
    }
    return pattern;
}

static enum pi_status no_provider(const struct models *t, const char *name,
                                  struct pi_error *err)
{
    struct buf names = {0};
    for (size_t i = 0; i < models_providers_len(t) && names.len < 300; i++) {
        buf_addf(&names, "%s%s", i ? ", " : "", models_provider_at(t, i)->name);
    }
    enum pi_status status = error_set(
        err, PI_INVALID, "no provider \"%.80s\"; there are %s", name, buf_cstr(&names));
    buf_finish(&names);
    return status;
}

static enum pi_status not_found(const struct search *s, struct sv pattern,
                                struct pi_error *err)
{
    const char *colon = pattern.n ? memrchr(pattern.p, ':', pattern.n) : NULL;
    size_t n = colon ? (size_t)(colon - pattern.p) : 0;
    int shown = pattern.n < 100 ? (int)pattern.n : 100;
    if (colon && find(s, sv_make(pattern.p, n))) {
        return error_set(err, PI_INVALID,
                         "\"%.*s\": what is behind the colon is no thinking level; these "
                         "are off, minimal, low, medium, high and xhigh",
                         shown, pattern.p);
    }
    return error_set(err, PI_NOT_FOUND,
                     "no model \"%.*s\"; pi --list-models shows what there is, and "
                     "provider/id names one that pi does not know",
                     shown, pattern.p ? pattern.p : "");
}

const struct model_provider *
models_named_provider(const struct models *t, const char *provider, const char *pattern)
{
    struct sv rest;
    return provider ? models_find_provider(t, sv_of(provider))
                    : split(t, sv_of(pattern), &rest);
}

enum pi_status models_match(struct model_match *out, const struct models *t,
                            const char *provider, const char *pattern,
                            const struct model_judge *judge, struct pi_error *err)
{
    *out = (struct model_match){0};
    struct search s = {.t = t, .judge = judge};
    if (provider) {
        s.provider = models_find_provider(t, sv_of(provider));
        if (!s.provider) {
            return no_provider(t, provider, err);
        }
    }
    struct sv whole = sv_of(pattern);
    out->model = find(&s, whole);
    if (out->model) {
        return PI_OK;
    }
    struct sv word = cut_level(whole, out);
    out->model = out->level_given ? find(&s, word) : NULL;
    if (out->model) {
        return PI_OK;
    }
    const struct model_provider *prefix = split(t, word, &out->id);
    out->provider = s.provider ? s.provider : prefix;
    if (s.provider && prefix != s.provider) {
        out->id = word; // the slash belongs to the id
    }
    return out->provider && out->id.n > 0 ? PI_OK : not_found(&s, whole, err);
}

const struct model *models_default(const struct models *t,
                                   const struct model_judge *judge)
{
    for (size_t i = 0; i < models_len(t); i++) {
        if (judge->can_ask(judge->data, models_at(t, i))) {
            return models_at(t, i);
        }
    }
    return NULL;
}

bool models_fits(const struct model *m, const char *query)
{
    const char *at = query ? query : "";
    while (*(at += strspn(at, " \t"))) {
        struct sv word = sv_make(at, strcspn(at, " \t"));
        struct sv rest = word;
        size_t n = strlen(m->provider);
        if (word.n > n && word.p[n] == '/' && strncasecmp(word.p, m->provider, n) == 0) {
            rest = sv_from(word, n + 1); // "provider/part of the id"
        }
        bool fits = contains(m->id, word) || contains(m->name, word) ||
                    contains(m->provider, word) ||
                    (rest.n < word.n && contains(m->id, rest));
        if (!fits) {
            return false;
        }
        at += word.n;
    }
    return true;
}
