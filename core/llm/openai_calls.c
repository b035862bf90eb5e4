#include "llm/openai_calls.h"

#include <stdlib.h>
#include <string.h>

#include "base/vec.h"
#include "llm/arguments.h"

// What a piece says; a member that is missing, null or empty is NULL.
struct piece {
    int64_t number; // -1 = none
    const char *id, *name;
    struct sv arguments;
    const struct json *extra;
};

enum pi_status openai_calls_init(struct openai_calls *c,
                                 const struct llm_request *request, struct pi_error *err)
{
    *c = (struct openai_calls){0};
    c->tools = calloc(request->tools_len + 1, sizeof *c->tools);
    for (size_t i = 0; c->tools && i < request->tools_len; i++) {
        c->tools[i] = strdup(request->tools[i].name);
        if (!c->tools[i]) {
            openai_calls_finish(c);
            break;
        }
        c->tools_len++;
    }
    return c->tools ? PI_OK : error_nomem(err);
}

void openai_calls_finish(struct openai_calls *c)
{
    for (size_t i = 0; i < c->len; i++) {
        free(c->calls[i].id);
    }
    for (size_t i = 0; i < c->tools_len; i++) {
        free(c->tools[i]);
    }
    free(c->calls);
    free(c->tools);
    *c = (struct openai_calls){0};
}

static struct block *block_of(const struct wire_answer *a, const struct openai_call *call)
{
    return &a->message->content.blocks[call->index];
}

/* -- which call -- */

static bool is_blank(struct sv text)
{
    for (size_t i = 0; i < text.n; i++) {
        if (!strchr(" \t\r\n", text.p[i])) {
            return false;
        }
    }
    return true;
}

static struct openai_call *by_number(struct openai_calls *c, int64_t number)
{
    for (size_t i = c->len; i > 0; i--) {
        if (c->calls[i - 1].number == number) {
            return &c->calls[i - 1];
        }
    }
    return NULL;
}

static struct openai_call *by_id(struct openai_calls *c, const char *id)
{
    for (size_t i = c->len; i > 0; i--) {
        if (c->calls[i - 1].id && strcmp(c->calls[i - 1].id, id) == 0) {
            return &c->calls[i - 1];
        }
    }
    return NULL;
}

// Some servers number all calls 0 and send each in one piece; others change the id from
// piece to piece. So another id begins another call only behind whole arguments.
static bool begins_another(const struct openai_call *call, const struct piece *p)
{
    if (!p->name || !json_prefix_complete(&call->scan)) {
        return false;
    }
    return p->id ? !call->id || strcmp(call->id, p->id) != 0 : !is_blank(p->arguments);
}

// The call that a piece belongs to; NULL = a new one.
static struct openai_call *call_of(struct openai_calls *c, const struct piece *p)
{
    struct openai_call *last = c->len > 0 ? &c->calls[c->len - 1] : NULL;
    if (p->number >= 0) {
        struct openai_call *found = by_number(c, p->number);
        return found && !begins_another(found, p) ? found : NULL;
    }
    if (p->id) {
        struct openai_call *found = by_id(c, p->id);
        return found || p->name ? found : last;
    }
    return p->name ? NULL : last;
}

static struct openai_call *add_call(struct openai_calls *c, struct wire_answer *a,
                                    const struct piece *p)
{
    struct openai_call *grown = vec_grow(c->calls, &c->cap, c->len + 1, sizeof *grown);
    if (!grown) {
        return NULL;
    }
    c->calls = grown;
    struct openai_call *call = &grown[c->len++];
    *call = (struct openai_call){.number = p->number};
    if (!wire_answer_open(a, BLOCK_TOOL_CALL, &call->index)) {
        c->len--;
        return NULL;
    }
    return call;
}

/* -- what it adds -- */

static bool is_tool(const struct openai_calls *c, const char *name)
{
    for (size_t i = 0; i < c->tools_len; i++) {
        if (strcmp(c->tools[i], name) == 0) {
            return true;
        }
    }
    return false;
}

// The first name counts. A name in two pieces is rare: they are joined only when that
// makes a tool of what was none.
static bool add_name(const struct openai_calls *c, struct block *b, const char *name)
{
    if (!name || !b->name) {
        return wire_answer_set(&b->name, name);
    }
    if (is_tool(c, b->name)) {
        return true;
    }
    struct buf joined = {0};
    buf_addf(&joined, "%s%s", b->name, name);
    bool ok = buf_ok(&joined);
    if (ok && is_tool(c, buf_cstr(&joined))) {
        ok = wire_answer_set(&b->name, buf_cstr(&joined));
    }
    buf_finish(&joined);
    return ok;
}

// What must come back with the call is kept in its signature.
static bool add_extra(struct block *b, const struct json *extra)
{
    if (json_type(extra) != JSON_OBJECT) {
        return true;
    }
    struct buf kept = {0};
    buf_adds(&kept, "{\"extra_content\":");
    json_write(&kept, extra);
    buf_addc(&kept, '}');
    bool ok = buf_ok(&kept) && wire_answer_set(&b->signature, buf_cstr(&kept));
    buf_finish(&kept);
    return ok;
}

static bool add_piece(struct openai_calls *c, struct wire_answer *a,
                      const struct piece *p)
{
    struct openai_call *call = call_of(c, p);
    if (!call) {
        call = add_call(c, a, p);
    }
    if (!call || (!call->id && !wire_answer_set(&call->id, p->id)) ||
        !add_name(c, block_of(a, call), p->name) ||
        !add_extra(block_of(a, call), p->extra)) {
        return false;
    }
    json_prefix_feed(&call->scan, p->arguments);
    return wire_answer_add(a, call->index, p->arguments);
}

static const char *filled(const char *text)
{
    return text && text[0] ? text : NULL;
}

bool openai_calls_take(struct openai_calls *c, struct wire_answer *a,
                       const struct json *piece)
{
    if (json_type(piece) != JSON_OBJECT) {
        return true;
    }
    const struct json *function = json_get(piece, "function");
    const struct json *arguments = json_get(function, "arguments");
    struct buf written = {0};
    double number = json_get_num(piece, "index", -1);
    struct piece p = {
        .number = number >= 0 && number < 1e9 ? (int64_t)number : -1,
        .id = filled(json_get_str(piece, "id")),
        .name = filled(json_get_str(function, "name")),
        .arguments = sv_of(json_str(arguments)),
        .extra = json_get(piece, "extra_content"),
    };
    if (json_type(arguments) == JSON_OBJECT) {
        json_write(&written, arguments);
        p.arguments = buf_sv(&written);
    }
    bool ok = buf_ok(&written) && add_piece(c, a, &p);
    buf_finish(&written);
    return ok;
}

/* -- the end -- */

static bool end_call(struct openai_call *call, struct wire_answer *a, bool cut_off)
{
    struct block *b = block_of(a, call);
    if (!b->name && !(b->name = strdup(""))) {
        return false;
    }
    if (!wire_answer_set_id(a, call->index, call->id) || arguments_end(b, NULL)) {
        return false;
    }
    b->complete = b->complete && !cut_off;
    return wire_answer_close(a, call->index);
}

bool openai_calls_end(struct openai_calls *c, struct wire_answer *a, bool cut_off)
{
    bool ok = true;
    for (size_t i = 0; i < c->len; i++) {
        ok = end_call(&c->calls[i], a, cut_off && i + 1 == c->len) && ok;
    }
    return ok;
}

struct block *openai_calls_find(struct openai_calls *c, struct wire_answer *a,
                                const char *id)
{
    struct openai_call *call = id ? by_id(c, id) : NULL;
    return call ? block_of(a, call) : NULL;
}
