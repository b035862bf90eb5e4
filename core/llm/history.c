#include "llm/history.h"

#include <stdlib.h>
#include <string.h>

#include "base/vec.h"
#include "llm/arguments.h"
#include "llm/history_images.h"
#include "text/utf8.h"

enum { NAME_MAX_LENGTH = 64 };

struct builder {
    struct history *h;
    const struct llm_request *request;
    const struct history_target *target;
    struct call_ids ids;
    struct history_images images;
    bool no_memory; // sticky
};

/* -- memory -- */

void history_finish(struct history *h)
{
    if (!h) {
        return;
    }
    for (size_t i = 0; i < h->len; i++) {
        free(h->messages[i].blocks);
    }
    for (size_t i = 0; i < h->owned_len; i++) {
        free(h->owned[i]);
    }
    free(h->messages);
    free(h->tool_names);
    free(h->owned);
    *h = (struct history){0};
}

// Keeps a text as long as the history; "" when it is NULL or memory is missing.
static const char *keep(struct builder *b, char *text)
{
    struct history *h = b->h;
    char **grown =
        text ? vec_grow(h->owned, &h->owned_cap, h->owned_len + 1, sizeof *grown) : NULL;
    if (!grown) {
        b->no_memory = true;
        free(text);
        return "";
    }
    h->owned = grown;
    h->owned[h->owned_len++] = text;
    return text;
}

static struct sv keep_buf(struct builder *b, struct buf *text)
{
    size_t n = text->len;
    const char *kept = keep(b, buf_take(text));
    return sv_make(kept, b->no_memory ? 0 : n);
}

static struct history_message *add_message(struct builder *b, enum role role)
{
    struct history *h = b->h;
    struct history_message *grown =
        vec_grow(h->messages, &h->cap, h->len + 1, sizeof *grown);
    if (!grown) {
        b->no_memory = true;
        return NULL;
    }
    h->messages = grown;
    h->messages[h->len] = (struct history_message){.role = role};
    return &h->messages[h->len++];
}

// In an answer, calls stand last: between them and their results nothing may stand.
static size_t place_of(const struct history_message *m, enum block_type type)
{
    size_t at = m->len;
    while (type != BLOCK_TOOL_CALL && at > 0 &&
           m->blocks[at - 1].type == BLOCK_TOOL_CALL) {
        at--;
    }
    return at;
}

static void add(struct builder *b, struct history_message *m, struct history_block block)
{
    struct history_block *grown =
        m ? vec_grow(m->blocks, &m->cap, m->len + 1, sizeof *grown) : NULL;
    if (!grown) {
        b->no_memory = true;
        return;
    }
    m->blocks = grown;
    size_t at = place_of(m, block.type);
    memmove(grown + at + 1, grown + at, (m->len - at) * sizeof *grown);
    grown[at] = block;
    m->len++;
}

/* -- texts -- */

static bool is_space(uint32_t c)
{
    return c <= 0x20 || c == 0x7f || c == 0x85 || c == 0xa0 || c == 0x1680 ||
           (c >= 0x2000 && c <= 0x200b) || c == 0x2028 || c == 0x2029 || c == 0x202f ||
           c == 0x205f || c == 0x3000 || c == 0xfeff;
}

static bool is_blank(struct sv text)
{
    while (text.n > 0) {
        if (!is_space(utf8_next(&text))) {
            return false;
        }
    }
    return true;
}

// The text as UTF-8 without NUL.
static struct sv clean(struct builder *b, struct sv text)
{
    if (text.n == 0 || (utf8_valid(text) && !memchr(text.p, '\0', text.n))) {
        return text;
    }
    struct buf repaired = {0};
    utf8_repair(&repaired, text);
    struct buf out = {0};
    struct sv rest = buf_sv(&repaired);
    for (const char *nul; rest.n > 0 && (nul = memchr(rest.p, '\0', rest.n));) {
        buf_add(&out, rest.p, (size_t)(nul - rest.p));
        buf_adds(&out, "\xef\xbf\xbd");
        rest = sv_from(rest, (size_t)(nul - rest.p) + 1);
    }
    buf_addsv(&out, rest);
    out.failed = out.failed || !buf_ok(&repaired);
    buf_finish(&repaired);
    return keep_buf(b, &out);
}

static void add_text(struct builder *b, struct history_message *m, struct sv text)
{
    text = clean(b, text);
    if (!is_blank(text)) {
        add(b, m, (struct history_block){.type = BLOCK_TEXT, .text = text});
    }
}

/* -- images -- */

static void add_image(struct builder *b, struct history_message *m,
                      const struct block *image)
{
    const char *mime_type = NULL;
    const char *note = history_images_next(&b->images, image, &mime_type);
    if (!note && m && m->is_error) {
        note = "(an image was left out: results of failed calls hold text only)";
    }
    if (!note) {
        add(b, m,
            (struct history_block){.type = BLOCK_IMAGE,
                                   .text = buf_sv(&image->text),
                                   .mime_type = mime_type});
        return;
    }
    // One note for a row of images.
    const struct history_block *last = m && m->len > 0 ? &m->blocks[m->len - 1] : NULL;
    if (!last || last->type != BLOCK_TEXT || !sv_eqs(last->text, note)) {
        add_text(b, m, sv_of(note));
    }
}

/* -- the user's messages -- */

static struct history_message *user_message(struct builder *b)
{
    struct history *h = b->h;
    if (h->len > 0 && h->messages[h->len - 1].role == ROLE_USER) {
        return &h->messages[h->len - 1];
    }
    return add_message(b, ROLE_USER);
}

static void drop_if_empty(struct history *h)
{
    if (h->len > 0 && h->messages[h->len - 1].len == 0) {
        free(h->messages[--h->len].blocks);
    }
}

static void add_content(struct builder *b, struct history_message *m,
                        const struct content *c)
{
    for (size_t i = 0; i < c->len; i++) {
        if (c->blocks[i].type == BLOCK_TEXT) {
            add_text(b, m, buf_sv(&c->blocks[i].text));
        } else if (c->blocks[i].type == BLOCK_IMAGE) {
            add_image(b, m, &c->blocks[i]);
        }
    }
}

static void add_user(struct builder *b, const struct message *m)
{
    add_content(b, user_message(b), &m->content);
    drop_if_empty(b->h);
}

static bool ends_with_answer(const struct history *h, size_t len)
{
    return len > 0 && h->messages[len - 1].role == ROLE_ASSISTANT;
}

static void add_continue(struct builder *b)
{
    add_text(b, add_message(b, ROLE_USER), sv_of("Continue."));
}

/* -- answers -- */

static bool is_failed(const struct message *m)
{
    return m->role == ROLE_ASSISTANT &&
           (m->stop_reason == STOP_ERROR || m->stop_reason == STOP_ABORTED);
}

static bool same(const char *a, const char *b)
{
    return a && b && strcmp(a, b) == 0;
}

static bool is_own(const struct message *m, const struct model *model)
{
    return same(m->api, model->api) && same(m->provider, model->provider) &&
           same(m->model, model->id);
}

static void add_thinking(struct builder *b, struct history_message *m,
                         const struct block *thinking)
{
    enum history_thinking rule = b->target->thinking;
    if (rule == HISTORY_THINKING_NONE || (m->own && rule == HISTORY_THINKING_DROP)) {
        return;
    }
    bool has_signature = thinking->signature && thinking->signature[0];
    bool kept = m->own && (rule == HISTORY_THINKING_KEEP ||
                           (rule == HISTORY_THINKING_SIGNED && has_signature));
    if (kept) {
        add(b, m,
            (struct history_block){.type = BLOCK_THINKING,
                                   .text = clean(b, buf_sv(&thinking->text)),
                                   .signature =
                                       has_signature ? thinking->signature : NULL,
                                   .redacted = thinking->redacted});
    } else if (!thinking->redacted) {
        add_text(b, m, buf_sv(&thinking->text));
    }
}

static const char *legal_name(struct builder *b, const char *name)
{
    struct buf out = {0};
    for (const char *p = name ? name : ""; *p && out.len < NAME_MAX_LENGTH; p++) {
        bool legal = strchr("_-", *p) || (*p >= '0' && *p <= '9') ||
                     (*p >= 'a' && *p <= 'z') || (*p >= 'A' && *p <= 'Z');
        buf_addc(&out, legal ? *p : '_');
    }
    if (out.len == 0) {
        buf_adds(&out, "unknown");
    }
    return keep(b, buf_take(&out));
}

static void declare(struct builder *b, const char *name)
{
    struct history *h = b->h;
    for (size_t i = 0; i < h->tool_names_len; i++) {
        if (strcmp(h->tool_names[i], name) == 0) {
            return;
        }
    }
    const char **grown = vec_grow((void *)h->tool_names, &h->tool_names_cap,
                                  h->tool_names_len + 1, sizeof *grown);
    if (!grown) {
        b->no_memory = true;
        return;
    }
    h->tool_names = grown;
    h->tool_names[h->tool_names_len++] = name;
}

static struct sv legal_arguments(struct builder *b, const struct block *call)
{
    struct buf out = {0};
    enum pi_status status = arguments_repair(&out, buf_sv(&call->text), NULL);
    if (status == PI_OK) {
        return keep_buf(b, &out);
    }
    buf_finish(&out);
    b->no_memory = b->no_memory || status == PI_NOMEM;
    return sv_of("{}");
}

static void add_call(struct builder *b, struct history_message *m,
                     const struct block *call)
{
    const char *name = legal_name(b, call->name);
    if (b->request->tools_len == 0) {
        declare(b, name);
    }
    add(b, m,
        (struct history_block){
            .type = BLOCK_TOOL_CALL,
            .text = legal_arguments(b, call),
            .signature = m && m->own ? call->signature : NULL,
            .id = keep(b, call_ids_next(&b->ids, sv_of(call->id), m && m->own)),
            .name = name,
        });
}

/* -- results -- */

// The n-th result with this id between answer `at` and the next one.
static const struct message *find_result(const struct llm_request *r, size_t at,
                                         const char *id, size_t n)
{
    for (size_t i = at + 1; i < r->messages_len; i++) {
        const struct message *m = r->messages[i];
        if (m->role == ROLE_ASSISTANT) {
            return NULL;
        }
        bool fits = m->role == ROLE_TOOL_RESULT &&
                    strcmp(m->tool_call_id ? m->tool_call_id : "", id) == 0;
        if (fits && n-- == 0) {
            return m;
        }
    }
    return NULL;
}

static void add_result(struct builder *b, const struct history_block *call,
                       const struct message *result)
{
    struct history_message *m = add_message(b, ROLE_TOOL_RESULT);
    if (!m) {
        return;
    }
    m->tool_call_id = call->id;
    m->tool_name = call->name;
    if (result) {
        m->is_error = result->is_error;
        add_content(b, m, &result->content);
    } else {
        m->is_error = true;
        add_text(b, m, sv_of("No result: the call was interrupted."));
    }
    if (m->len == 0) {
        add_text(b, m, sv_of("(no output)"));
    }
}

// How many calls before number `end` have its id.
static size_t same_id_before(const struct content *c, size_t end, const char *id)
{
    size_t n = 0;
    for (size_t i = 0; i < end; i++) {
        const struct block *b = &c->blocks[i];
        n += b->type == BLOCK_TOOL_CALL && strcmp(b->id ? b->id : "", id) == 0;
    }
    return n;
}

// One result for each call, in the order of the calls.
static void add_results(struct builder *b, size_t at, size_t answer)
{
    const struct content *c = &b->request->messages[at]->content;
    size_t sent = 0; // block of the answer as it is sent; calls keep their order
    for (size_t i = 0; i < c->len && !b->no_memory; i++) {
        if (c->blocks[i].type != BLOCK_TOOL_CALL) {
            continue;
        }
        const struct history_message *m = &b->h->messages[answer];
        while (m->blocks[sent].type != BLOCK_TOOL_CALL) {
            sent++;
        }
        struct history_block call = m->blocks[sent++];
        const char *id = c->blocks[i].id ? c->blocks[i].id : "";
        add_result(b, &call, find_result(b->request, at, id, same_id_before(c, i, id)));
    }
}

// An answer neither begins a request nor follows another one. The last message is one.
static void part_answers(struct builder *b)
{
    struct history *h = b->h;
    if (h->len > 1 && !ends_with_answer(h, h->len - 1)) {
        return;
    }
    add_continue(b);
    if (!b->no_memory) {
        struct history_message answer = h->messages[h->len - 2];
        h->messages[h->len - 2] = h->messages[h->len - 1];
        h->messages[h->len - 1] = answer;
    }
}

static void add_answer(struct builder *b, size_t at)
{
    const struct message *from = b->request->messages[at];
    struct history_message *m = add_message(b, ROLE_ASSISTANT);
    if (!m) {
        return;
    }
    m->own = is_own(from, b->target->model);
    for (size_t i = 0; i < from->content.len; i++) {
        const struct block *block = &from->content.blocks[i];
        switch (block->type) {
        case BLOCK_TEXT:
            add_text(b, m, buf_sv(&block->text));
            break;
        case BLOCK_THINKING:
            add_thinking(b, m, block);
            break;
        case BLOCK_TOOL_CALL:
            add_call(b, m, block);
            break;
        case BLOCK_IMAGE:
            break; // models answer with none
        }
    }
    // Servers refuse an answer that ends in thinking; it was cut off there.
    while (m->len > 0 && m->blocks[m->len - 1].type == BLOCK_THINKING) {
        m->len--;
    }
    if (m->len == 0) {
        drop_if_empty(b->h);
        return;
    }
    part_answers(b);
    if (!b->no_memory) {
        add_results(b, at, b->h->len - 1);
    }
}

/* -- the whole -- */

static const char *image_refusal(const struct llm_request *request,
                                 const struct history_target *target)
{
    if (request->no_images) {
        return "(an image was left out: the setting images.blockImages is on)";
    }
    if (!target->model->input_image) {
        return "(an image was left out: this model does not take images)";
    }
    return target->no_images ? "(an image was left out: the server refused it)" : NULL;
}

enum pi_status history_build(struct history *out, const struct llm_request *request,
                             const struct history_target *target, struct pi_error *err)
{
    *out = (struct history){0};
    struct builder b = {
        .h = out,
        .request = request,
        .target = target,
        .ids = {.rule = target->ids},
        .images = history_images_of(request, image_refusal(request, target)),
    };
    for (size_t i = 0; i < request->messages_len && !b.no_memory; i++) {
        const struct message *m = request->messages[i];
        if (m->role == ROLE_USER) {
            add_user(&b, m);
        } else if (m->role == ROLE_ASSISTANT && !is_failed(m)) {
            add_answer(&b, i);
        }
    }
    bool nothing = out->len == 0;
    if (ends_with_answer(out, out->len)) {
        add_continue(&b);
    }
    call_ids_finish(&b.ids);
    if (b.no_memory || nothing) {
        history_finish(out);
        return b.no_memory ? error_nomem(err)
                           : error_set(err, PI_INVALID, "there is nothing to send");
    }
    return PI_OK;
}
