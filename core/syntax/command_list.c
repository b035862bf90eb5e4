#include <stdlib.h>
#include <string.h>

#include "base/vec.h"
#include "syntax/command_inside.h"

bool command_fail(struct command_parser *p, size_t where)
{
    if (!p->failed) {
        p->failed = true;
        p->where = where;
    }
    return false;
}

bool command_fail_at(struct command_parser *p, TSNode node)
{
    return command_fail(p, ts_node_start_byte(node));
}

bool command_no_memory(struct command_parser *p)
{
    p->nomem = true;
    return command_fail(p, 0);
}

static void simple_finish(struct command_simple *c)
{
    for (size_t i = 0; i < c->words_len; i++) {
        command_word_finish(&c->words[i]);
    }
    free(c->words);
}

void command_list_finish(struct command_list *list)
{
    for (size_t i = 0; i < list->len; i++) {
        simple_finish(&list->commands[i]);
    }
    for (size_t i = 0; i < list->redirects_len; i++) {
        command_word_finish(&list->redirects[i].target);
    }
    for (size_t i = 0; i < list->assignments_len; i++) {
        free(list->assignments[i].name);
        command_word_finish(&list->assignments[i].value);
    }
    for (size_t i = 0; i < list->scopes_len; i++) {
        free(list->scopes[i].name);
    }
    free(list->commands);
    free(list->redirects);
    free(list->assignments);
    free(list->scopes);
    *list = (struct command_list){0};
}

bool command_add_scope(struct command_parser *p, size_t *out,
                       enum command_scope_kind kind, size_t parent)
{
    struct command_list *l = p->out;
    struct command_scope *grown =
        vec_grow(l->scopes, &l->scopes_cap, l->scopes_len + 1, sizeof *grown);
    if (!grown) {
        return command_no_memory(p);
    }
    l->scopes = grown;
    *out = l->scopes_len++;
    l->scopes[*out] = (struct command_scope){.kind = kind, .parent = parent};
    return true;
}

bool command_add(struct command_parser *p, size_t *out, TSNode node,
                 struct command_place at)
{
    struct command_list *l = p->out;
    struct command_simple *grown =
        vec_grow(l->commands, &l->cap, l->len + 1, sizeof *grown);
    if (!grown) {
        return command_no_memory(p);
    }
    l->commands = grown;
    *out = l->len++;
    l->commands[*out] = (struct command_simple){
        .scope = at.scope,
        .pipeline = at.pipeline,
        .position = (*at.position)++,
        .start = ts_node_start_byte(node),
        .end = ts_node_end_byte(node),
    };
    return true;
}

// Takes the word over.
bool command_add_word(struct command_parser *p, size_t command, struct command_word *word)
{
    struct command_simple *c = &p->out->commands[command];
    size_t cap = c->words_len; // they are few
    struct command_word *grown =
        vec_grow(c->words, &cap, c->words_len + 1, sizeof *grown);
    if (!grown) {
        command_word_finish(word);
        return command_no_memory(p);
    }
    c->words = grown;
    c->words[c->words_len++] = *word;
    return true;
}
