#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "syntax/command.h"

// Whatever the text is: no crash, and a list whose parts lie in the text.

static void need(bool holds)
{
    if (!holds) {
        abort();
    }
}

static void check_word(const struct command_word *w, size_t size)
{
    need(w->text && w->start <= w->end && w->end <= size);
}

static void check_list(const struct command_list *l, size_t size)
{
    for (size_t i = 0; i < l->scopes_len; i++) {
        need(i == 0 ? l->scopes[i].parent == 0 : l->scopes[i].parent < i);
    }
    for (size_t i = 0; i < l->len; i++) {
        const struct command_simple *c = &l->commands[i];
        need(c->scope < l->scopes_len && c->start <= c->end && c->end <= size);
        for (size_t w = 0; w < c->words_len; w++) {
            check_word(&c->words[w], size);
        }
    }
    for (size_t i = 0; i < l->redirects_len; i++) {
        const struct command_redirect *r = &l->redirects[i];
        need(r->command < l->len || r->command == SIZE_MAX);
        need(r->scope < l->scopes_len);
        check_word(&r->target, size);
    }
    for (size_t i = 0; i < l->assignments_len; i++) {
        need(l->assignments[i].command < l->len && l->assignments[i].name);
        check_word(&l->assignments[i].value, size);
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static struct env environment;
    static struct grammars *grammars;
    if (!grammars && (env_copy(&environment, NULL, NULL) != PI_OK ||
                      grammars_create(&grammars, &environment, NULL, NULL) != PI_OK)) {
        return 0;
    }
    struct command_list list;
    struct sv text = sv_make((const char *)data, size);
    if (command_parse(&list, grammars, text, NULL, NULL) == PI_OK) {
        check_list(&list, size);
    } else {
        need(list.len == 0 && list.scopes_len == 0);
    }
    command_list_finish(&list);
    return 0;
}
