// What a refusal says about how to ask instead. Texts of servers drift: only fragments of
// them are looked for.

#include "llm/wire.h"

#include <stdlib.h>
#include <string.h>
#include <strings.h>

enum { LEAST_TOKENS = 256, MARGIN = 64, WORDS_MAX = 4096 };

/* -- limits that are told as numbers -- */

static int64_t number_at(const char *p)
{
    while (*p && strchr(" `'\":>+(", *p)) {
        p++;
    }
    return *p >= '0' && *p <= '9' ? strtoll(p, NULL, 10) : -1;
}

// The number behind the mark, -1 when there is none.
static int64_t number_behind(const char *words, const char *mark)
{
    const char *at = strcasestr(words, mark);
    return at ? number_at(at + strlen(mark)) : -1;
}

// The number that stands before the mark.
static int64_t number_before(const char *words, const char *mark)
{
    const char *at = strcasestr(words, mark);
    while (at && at > words && at[-1] >= '0' && at[-1] <= '9') {
        at--;
    }
    return at ? number_at(at) : -1;
}

// "maximum context length is N ... prompt contains at least K", "... (K in the messages"
static int64_t room_in_window(const char *words)
{
    int64_t window = number_behind(words, "maximum context length is");
    int64_t prompt = number_behind(words, "prompt contains at least");
    if (prompt < 0) {
        prompt = number_before(words, " in the messages");
    }
    return window > 0 && prompt > 0 ? window - prompt - MARGIN : -1;
}

// "input length and max_tokens exceed context limit: K + M > N"
static int64_t room_in_sum(const char *words)
{
    int64_t prompt = number_behind(words, "exceed context limit");
    const char *greater = strchr(words, '>');
    int64_t window = greater ? number_at(greater + 1) : -1;
    return window > 0 && prompt > 0 ? window - prompt - MARGIN : -1;
}

// "max_tokens: M > N, which is the maximum allowed", "supports at most N completion
// tokens", "must be less than or equal to `N`"
static int64_t model_limit(const char *words)
{
    static const char *const marks[] = {"at most", "less than or equal to",
                                        "max_tokens:"};
    if (!strcasestr(words, "max_tokens") && !strcasestr(words, "max_completion_tokens")) {
        return -1;
    }
    const char *greater = strcasestr(words, marks[2]) ? strchr(words, '>') : NULL;
    if (greater) {
        return number_at(greater + 1);
    }
    int64_t limit = number_behind(words, marks[0]);
    return limit > 0 ? limit : number_behind(words, marks[1]);
}

static bool learn_limit(struct wire_tuning *t, const char *words)
{
    static int64_t (*const rules[])(const char *) = {room_in_window, room_in_sum,
                                                     model_limit};
    for (size_t i = 0; i < sizeof rules / sizeof *rules; i++) {
        int64_t limit = rules[i](words);
        if (limit >= LEAST_TOKENS && (t->max_tokens == 0 || limit < t->max_tokens)) {
            t->max_tokens = limit;
            return true;
        }
    }
    return false;
}

/* -- what the server does not know -- */

struct lesson {
    const char *mark, *and; // both stand in the text; `and` may be NULL
    size_t flag;
};

#define FLAG(name) offsetof(struct wire_tuning, name)

static const struct lesson lessons[] = {
    {"max_completion_tokens", NULL, FLAG(other_max_tokens)},
    {"max_tokens", "not supported", FLAG(other_max_tokens)},
    {"max_tokens", "unsupported", FLAG(other_max_tokens)},
    {"developer", "role", FLAG(system_role)},
    {"unexpected message role", NULL, FLAG(system_role)},
    {"'developer'", NULL, FLAG(system_role)},
    {"stream_options", NULL, FLAG(no_stream_options)},
    {"reasoning_effort", NULL, FLAG(no_effort)},
    {"reasoningEffort", NULL, FLAG(no_effort)},
    {"enable_thinking", NULL, FLAG(no_effort)},
    {"output_config", NULL, FLAG(no_effort)},
    {"support thinking", NULL, FLAG(no_effort)},
    {"thinking", "not supported", FLAG(no_effort)},
    {"signature", "thinking", FLAG(no_thinking)},
    {"expected `thinking`", NULL, FLAG(no_thinking)},
    {"expected thinking", NULL, FLAG(no_thinking)},
    {"thinking", "cannot be modified", FLAG(no_thinking)},
    {"image exceeds", NULL, FLAG(no_images)},
    {"image dimensions", NULL, FLAG(no_images)},
    {"dimensions exceed", NULL, FLAG(no_images)},
    {"image was specified", NULL, FLAG(no_images)},
    {"process image", NULL, FLAG(no_images)},
    {"support image", NULL, FLAG(no_images)},
    {"image input", NULL, FLAG(no_images)},
    {"image_url", NULL, FLAG(no_images)},
};

static bool learn_flag(struct wire_tuning *t, const char *words)
{
    for (size_t i = 0; i < sizeof lessons / sizeof *lessons; i++) {
        const struct lesson *l = &lessons[i];
        bool *flag = (bool *)((char *)t + l->flag);
        if (!*flag && strcasestr(words, l->mark) &&
            (!l->and || strcasestr(words, l->and))) {
            *flag = true;
            return true;
        }
    }
    return false;
}

bool wire_learn(struct wire_tuning *tuning, struct sv words)
{
    char text[WORDS_MAX];
    size_t n = words.n < sizeof text - 1 ? words.n : sizeof text - 1;
    memcpy(text, n > 0 ? words.p : "", n);
    text[n] = '\0';
    return learn_limit(tuning, text) || learn_flag(tuning, text);
}
