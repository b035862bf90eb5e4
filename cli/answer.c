#include "answer.h"

#include <string.h>

#include "base/json.h"
#include "exit.h"

static void take_text(struct answer *a, const struct json *message)
{
    buf_clear(&a->text);
    for (struct json *block = json_first(json_get(message, "content")); block;
         block = json_next(block)) {
        const char *type = json_get_str(block, "type");
        const char *text = json_get_str(block, "text");
        if (type && text && strcmp(type, "text") == 0 && *text) {
            buf_adds(&a->text, text);
            if (a->text.data && a->text.data[a->text.len - 1] != '\n') {
                buf_addc(&a->text, '\n');
            }
        }
    }
}

static void take_message(struct answer *a, const struct json *message)
{
    const char *role = json_get_str(message, "role");
    if (!role || strcmp(role, "assistant") != 0) {
        return;
    }
    take_text(a, message);
    const char *reason = json_get_str(message, "stopReason");
    const char *problem = json_get_str(message, "errorMessage");
    a->failed = reason && strcmp(reason, "error") == 0;
    a->aborted = reason && strcmp(reason, "aborted") == 0;
    a->cut = reason && strcmp(reason, "length") == 0;
    a->calling = reason && strcmp(reason, "toolUse") == 0;
    buf_clear(&a->problem);
    buf_adds(&a->problem, problem ? problem : "");
}

void answer_take(struct answer *a, const pi_event *event)
{
    enum pi_event_type type = pi_event_type(event);
    a->ended = a->ended || type == PI_EVENT_AGENT_END;
    if (type != PI_EVENT_MESSAGE_END) {
        return;
    }
    size_t len;
    const char *text = pi_event_json(event, &len);
    struct json *root = NULL;
    if (!text || json_parse(&root, sv_make(text, len), NULL, NULL) != PI_OK) {
        a->failed = true;
        buf_clear(&a->problem);
        buf_adds(&a->problem, "a message could not be taken in: out of memory");
        return;
    }
    take_message(a, json_get(root, "message"));
    json_destroy(root);
}

int answer_exit_code(const struct answer *a)
{
    // A run that ends after calls was stopped: the model has not answered yet.
    bool answered = a->ended && !a->calling;
    return a->failed || a->aborted || !answered ? EXIT_FAILED : EXIT_OK;
}

void answer_remarks(const struct answer *a, struct buf *b)
{
    if (a->failed || a->aborted) {
        const char *otherwise = a->aborted ? "aborted" : "the model reported an error";
        buf_adds(b, a->problem.len ? buf_cstr(&a->problem) : otherwise);
    } else if (a->cut) {
        buf_adds(b, "the answer was cut at the model's output limit");
    } else if (a->calling) {
        buf_adds(b, "the run ended before the model had answered");
    } else if (a->text.len == 0) {
        buf_adds(b, "the model returned an empty answer");
    }
}

void answer_finish(struct answer *a)
{
    buf_finish(&a->text);
    buf_finish(&a->problem);
}
