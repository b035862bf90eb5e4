#include "llm/replay_file.h"

#include <stdio.h>
#include <string.h>

#include "base/json_relaxed.h"

enum { TEXT_MAX = 256 * 1024 * 1024 };

/** What a key may hold. */
enum kind { STRING, COUNT, STRINGS, OBJECT, USAGE, BLOCKS, REPEATED, CALL, STOP };

struct key {
    const char *name;
    enum kind kind;
};

static const struct key file_keys[] = {{"turns", BLOCKS}, {NULL, STRING}};
static const struct key turn_keys[] = {
    {"expect", STRINGS},     {"blocks", BLOCKS}, {"chunk", COUNT},     {"delayMs", COUNT},
    {"chunkDelayMs", COUNT}, {"usage", USAGE},   {"stopReason", STOP}, {"error", STRING},
    {"repeat", COUNT},       {NULL, STRING},
};
static const struct key block_keys[] = {
    {"text", STRING}, {"thinking", STRING},  {"repeatText", REPEATED},
    {"call", CALL},   {"signature", STRING}, {NULL, STRING},
};
static const struct key call_keys[] = {
    {"id", STRING}, {"name", STRING}, {"arguments", OBJECT}, {"argumentsText", STRING},
    {NULL, STRING},
};
static const struct key repeated_keys[] = {{"s", STRING}, {"n", COUNT}, {NULL, STRING}};
static const struct key usage_keys[] = {
    {"input", COUNT},      {"output", COUNT},      {"cacheRead", COUNT},
    {"cacheWrite", COUNT}, {"totalTokens", COUNT}, {NULL, STRING},
};

struct check {
    const char *where; // "turn 3"
    struct pi_error *err;
};

static enum pi_status wrong(const struct check *c, const char *key, const char *what)
{
    return error_set(c->err, PI_INVALID, "%s: \"%.60s\" %s", c->where, key, what);
}

static enum pi_status check_object(const struct check *c, const char *name,
                                   const struct json *object, const struct key *keys);

static bool is_count(const struct json *value)
{
    double n = json_num(value, -1);
    return n >= 0 && n <= TEXT_MAX && n == (double)(size_t)n;
}

static bool is_strings(const struct json *value)
{
    if (json_type(value) == JSON_STRING) {
        return true;
    }
    for (const struct json *i = json_first(value); i; i = json_next(i)) {
        if (!json_str(i)) {
            return false;
        }
    }
    return json_type(value) == JSON_ARRAY;
}

static bool is_stop(const struct json *value)
{
    const char *text = json_str(value);
    return text && (strcmp(text, "stop") == 0 || strcmp(text, "length") == 0 ||
                    strcmp(text, "toolUse") == 0);
}

static enum pi_status check_value(const struct check *c, const struct key *key,
                                  const struct json *value)
{
    switch (key->kind) {
    case STRING:
        return json_str(value) ? PI_OK : wrong(c, key->name, "must be a string");
    case COUNT:
        return is_count(value) ? PI_OK : wrong(c, key->name, "must be a whole number");
    case STRINGS:
        return is_strings(value) ? PI_OK
                                 : wrong(c, key->name, "must be a string or strings");
    case OBJECT:
        return json_type(value) == JSON_OBJECT ? PI_OK
                                               : wrong(c, key->name, "must be an object");
    case BLOCKS:
        return json_type(value) == JSON_ARRAY ? PI_OK
                                              : wrong(c, key->name, "must be an array");
    case STOP:
        return is_stop(value) ? PI_OK
                              : wrong(c, key->name, "must be stop, length or toolUse");
    case USAGE:
        return check_object(c, key->name, value, usage_keys);
    case REPEATED:
        return check_object(c, key->name, value, repeated_keys);
    case CALL:
        return check_object(c, key->name, value, call_keys);
    }
    return PI_OK;
}

static enum pi_status check_object(const struct check *c, const char *name,
                                   const struct json *object, const struct key *keys)
{
    if (json_type(object) != JSON_OBJECT) {
        return wrong(c, name, "must be an object");
    }
    enum pi_status status = PI_OK;
    for (const struct json *i = json_first(object); i && !status; i = json_next(i)) {
        const struct key *key = keys;
        while (key->name && strcmp(key->name, json_key(i)) != 0) {
            key++;
        }
        status = key->name ? check_value(c, key, i)
                           : wrong(c, json_key(i), "is not known here");
    }
    return status;
}

static enum pi_status check_block(const struct check *c, const struct json *block)
{
    enum pi_status status = check_object(c, "blocks", block, block_keys);
    if (status) {
        return status;
    }
    const struct json *call = json_get(block, "call");
    int kinds = (call != NULL) + (json_get(block, "text") != NULL) +
                (json_get(block, "thinking") != NULL) +
                (json_get(block, "repeatText") != NULL);
    if (kinds != 1) {
        return wrong(c, "blocks",
                     "needs one of text, thinking, repeatText, call in each");
    }
    if (call && !json_get_str(call, "name")) {
        return wrong(c, "call", "needs a name");
    }
    const struct json *repeated = json_get(block, "repeatText");
    if (repeated && (!json_get(repeated, "s") || !json_get(repeated, "n"))) {
        return wrong(c, "repeatText", "needs s and n");
    }
    if (repeated &&
        (double)strlen(json_get_str(repeated, "s")) * json_get_num(repeated, "n", 0) >
            TEXT_MAX) {
        return wrong(c, "repeatText", "would be larger than 256 MB");
    }
    return PI_OK;
}

static enum pi_status check_turn(const struct json *turn, size_t number,
                                 struct pi_error *err)
{
    char where[32];
    (void)snprintf(where, sizeof(where), "turn %zu", number);
    struct check c = {.where = where, .err = err};
    enum pi_status status = check_object(&c, "turns", turn, turn_keys);
    const struct json *blocks = json_get(turn, "blocks");
    for (const struct json *b = json_first(blocks); b && !status; b = json_next(b)) {
        status = check_block(&c, b);
    }
    if (!status && json_get_num(turn, "repeat", 1) < 1) {
        status = wrong(&c, "repeat", "must be 1 or more");
    }
    return status;
}

enum pi_status replay_file_parse(struct replay_file *out, struct sv text,
                                 struct pi_error *err)
{
    struct json *root = NULL;
    enum pi_status status = json_parse_relaxed(&root, text, NULL, err);
    if (status) {
        return status;
    }
    struct check c = {.where = "file of turns", .err = err};
    status = check_object(&c, "the whole", root, file_keys);
    const struct json *turns = json_get(root, "turns");
    if (!status && !turns) {
        status = wrong(&c, "turns", "is missing");
    }
    size_t number = 1;
    for (const struct json *t = json_first(turns); t && !status; t = json_next(t)) {
        status = check_turn(t, number++, err);
    }
    if (status) {
        json_destroy(root);
        return status;
    }
    *out = (struct replay_file){.root = root};
    return PI_OK;
}

void replay_file_finish(struct replay_file *f)
{
    if (f) {
        json_destroy(f->root);
        *f = (struct replay_file){0};
    }
}

static size_t times(const struct json *turn)
{
    return (size_t)json_get_num(turn, "repeat", 1);
}

size_t replay_file_len(const struct replay_file *f)
{
    size_t n = 0;
    for (const struct json *t = json_first(json_get(f->root, "turns")); t;
         t = json_next(t)) {
        n += times(t);
    }
    return n;
}

const struct json *replay_file_turn(const struct replay_file *f, size_t k)
{
    const struct json *t = json_first(json_get(f->root, "turns"));
    while (t && k >= times(t)) {
        k -= times(t);
        t = json_next(t);
    }
    return t;
}
