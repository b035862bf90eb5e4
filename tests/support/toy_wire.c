#include "toy_wire.h"

#include <stdlib.h>
#include <string.h>

#include "base/vec.h"

static enum pi_status encode(struct wire_request *out, const struct wire_input *input,
                             struct pi_error *err)
{
    buf_addf(&out->url, "%s/answer", input->model->base_url);
    buf_adds(&out->headers, "content-type: application/json");
    if (input->api_key) {
        buf_addf(&out->headers, "\nx-key: %s", input->api_key);
    }
    buf_addf(&out->body, "{\"messages\":%zu%s}", input->request->messages_len,
             input->tuning.no_stream_options ? ",\"learnt\":true" : "");
    return buf_ok(&out->body) && buf_ok(&out->url) ? PI_OK : error_nomem(err);
}

static enum pi_status begin(struct wire_answer **out, const struct wire_input *input,
                            struct message *message, struct pi_error *err)
{
    (void)input;
    *out = calloc(1, sizeof **out);
    if (!*out) {
        return error_nomem(err);
    }
    (*out)->message = message;
    return PI_OK;
}

static bool add_event(struct wire_answer *a, struct llm_event event)
{
    struct llm_event *grown =
        vec_grow(a->events, &a->events_cap, a->events_len + 1, sizeof *grown);
    if (!grown) {
        return false;
    }
    a->events = grown;
    a->events[a->events_len++] = event;
    return true;
}

static bool add_text(struct wire_answer *a, struct sv text)
{
    struct content *content = &a->message->content;
    if (content->len == 0) {
        if (!content_add(content, BLOCK_TEXT) ||
            !add_event(a, (struct llm_event){.type = LLM_TEXT_START})) {
            return false;
        }
    }
    buf_clear(&a->bytes);
    buf_addsv(&a->bytes, text);
    buf_addsv(&content->blocks[0].text, text);
    struct llm_event event = {.type = LLM_TEXT_DELTA, .delta = buf_sv(&a->bytes)};
    return buf_ok(&a->bytes) && buf_ok(&content->blocks[0].text) && add_event(a, event);
}

static void fail(struct wire_answer *a, struct sv told)
{
    size_t i = 0;
    for (; i < told.n && told.p[i] >= '0' && told.p[i] <= '9'; i++) {
        a->http_like_status = a->http_like_status * 10 + (told.p[i] - '0');
    }
    a->failed = true;
    buf_addsv(&a->error, sv_from(told, i + 1));
}

static enum pi_status decode_document(struct wire_answer *a, struct sv data,
                                      struct pi_error *err)
{
    struct json *tree;
    enum pi_status status = json_parse(&tree, data, NULL, err);
    if (status) {
        return status;
    }
    const char *text = json_get_str(tree, "answer");
    bool ok = !text || add_text(a, sv_of(text));
    a->terminal = text != NULL;
    json_destroy(tree);
    return ok ? PI_OK : error_nomem(err);
}

static enum pi_status decode(struct wire_answer *a, struct sv name, struct sv data,
                             struct pi_error *err)
{
    bool ok = true;
    (void)name;
    while (data.n > 0 && data.p[0] == '\n') {
        data = sv_from(data, 1);
    }
    if (sv_starts(data, sv_of("{"))) {
        return decode_document(a, data, err);
    }
    if (sv_starts(data, sv_of("text "))) {
        ok = add_text(a, sv_from(data, strlen("text ")));
    } else if (sv_starts(data, sv_of("fail "))) {
        fail(a, sv_from(data, strlen("fail ")));
    } else if (sv_eqs(data, "end") || sv_eqs(data, "over")) {
        a->terminal = true;
        a->over = sv_eqs(data, "over");
    }
    return ok ? PI_OK : error_nomem(err);
}

static enum pi_status end(struct wire_answer *a, struct pi_error *err)
{
    (void)a;
    (void)err;
    return PI_OK;
}

static void finish(struct wire_answer *a)
{
    if (!a) {
        return;
    }
    free(a->events);
    buf_finish(&a->bytes);
    buf_finish(&a->error);
    free(a);
}

const struct wire wire_toy = {.api = "toy",
                              .encode = encode,
                              .begin = begin,
                              .decode = decode,
                              .end = end,
                              .finish = finish};
