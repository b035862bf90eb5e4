#include "llm/secrets.h"

#include <stdlib.h>
#include <string.h>

#include "base/vec.h"

enum { WORD_MIN = 8 };

void secrets_finish(struct secrets *s)
{
    for (size_t i = 0; i < s->len; i++) {
        explicit_bzero(s->words[i], strlen(s->words[i]));
        free(s->words[i]);
    }
    free(s->words);
    *s = (struct secrets){0};
}

bool secrets_add(struct secrets *s, const char *word)
{
    if (strlen(word) < WORD_MIN) {
        return true;
    }
    for (size_t i = 0; i < s->len; i++) {
        if (strcmp(s->words[i], word) == 0) {
            return true;
        }
    }
    char **grown = vec_grow(s->words, &s->cap, s->len + 1, sizeof *grown);
    if (!grown) {
        return false;
    }
    s->words = grown;
    char *copy = strdup(word);
    if (!copy) {
        return false;
    }
    s->words[s->len++] = copy;
    log_redact(s->log, word);
    return true;
}

// The first of the words in text, the longest of several at one place; NULL when none.
static const char *find(const struct secrets *s, struct sv text, size_t *len)
{
    const char *first = NULL;
    for (size_t i = 0; i < s->len; i++) {
        size_t n = strlen(s->words[i]);
        const char *at = text.n >= n ? memmem(text.p, text.n, s->words[i], n) : NULL;
        if (at && (!first || at < first || (at == first && n > *len))) {
            first = at;
            *len = n;
        }
    }
    return first;
}

void secrets_redact(const struct secrets *s, struct buf *text)
{
    struct buf clean = {0};
    struct sv rest = buf_sv(text);
    size_t len = 0;
    const char *at = find(s, rest, &len);
    if (!at) {
        return;
    }
    for (; at; at = find(s, rest, &len)) {
        buf_add(&clean, rest.p, (size_t)(at - rest.p));
        buf_adds(&clean, "[key]");
        rest = sv_from(rest, (size_t)(at - rest.p) + len);
    }
    buf_addsv(&clean, rest);
    explicit_bzero(text->data, text->len);
    buf_finish(text);
    *text = clean;
}
