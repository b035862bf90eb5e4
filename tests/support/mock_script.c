#include "mock_script.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/json_relaxed.h"
#include "mock_rules.h"
#include "sys/file.h"

static const char script_keys[] = "turns server keyless issued routes accept ";
static const char turn_keys[] =
    "expect holds absent check repeat blocks chunk stopReason "
    "usage error errorType reasoningField "
    "callIndex stream status headers body raw delayMs "
    "chunkDelayMs stallAfter stallBytes stallMs lineEnd "
    "comments pings multiline finalBlank ascii keepAlives "
    "split framing gzip cut drop close "
    "hangUp headerBytes ";
static const char block_keys[] = "text repeatText thinking signature redacted call ";
static const char call_keys[] = "id name arguments argumentsText ";
static const char cut_keys[] = "how events bytes ";

static bool known(const struct json *object, const char *keys, const char *where)
{
    const char *key = strange_key(object, keys);
    if (json_type(object) != JSON_OBJECT) {
        fprintf(stderr, "pi-mock: %s is not an object\n", where);
        return false;
    }
    if (key) {
        fprintf(stderr, "pi-mock: %s: the key \"%s\" is not known\n", where, key);
    }
    return !key;
}

static bool check_turn(const struct json *turn)
{
    bool good = known(turn, turn_keys, "a turn");
    const struct json *blocks = json_get(turn, "blocks");
    for (const struct json *b = json_first(blocks); b; b = json_next(b)) {
        const struct json *call = json_get(b, "call");
        good &= known(b, block_keys, "a block");
        good &= !call || known(call, call_keys, "a call");
    }
    const struct json *cut = json_get(turn, "cut");
    return good && (!cut || known(cut, cut_keys, "cut"));
}

static bool check(const struct json *script)
{
    const char *server = json_get_str(script, "server");
    if (server && !rules_server_known(server)) {
        fprintf(stderr, "pi-mock: the server \"%s\" is not known\n", server);
        return false;
    }
    bool good = known(script, script_keys, "the script");
    const struct json *turns = json_get(script, "turns");
    for (const struct json *turn = json_first(turns); turn; turn = json_next(turn)) {
        good &= check_turn(turn);
    }
    return good;
}

struct json *script_load(const char *path)
{
    struct buf text = {0};
    struct json *script = NULL;
    struct pi_error err = {0};
    if (file_load(&text, path, (size_t)512 * 1024 * 1024, &err) ||
        json_parse_relaxed(&script, buf_sv(&text), NULL, &err)) {
        fprintf(stderr, "pi-mock: %s: %s\n", path, err.message);
    } else if (!check(script)) {
        json_destroy(script);
        script = NULL;
    }
    buf_finish(&text);
    return script;
}

const struct json *script_turn(const struct json *script, size_t k)
{
    const struct json *turn = json_first(json_get(script, "turns"));
    for (; turn; turn = json_next(turn)) {
        size_t times = (size_t)json_get_num(turn, "repeat", 1);
        if (k < times) {
            return turn;
        }
        k -= times;
    }
    return NULL;
}

/* -- expectations -- */

// Whether a string somewhere in j holds text.
static bool holds(const struct json *j, const char *text)
{
    if (is_string(j)) {
        return strstr(json_str(j), text) != NULL;
    }
    for (const struct json *child = json_first(j); child; child = json_next(child)) {
        if (holds(child, text)) {
            return true;
        }
    }
    return false;
}

// Whether what the model was told since its last answer holds text.
static bool told(const struct json *body, const char *text)
{
    bool found = false;
    const struct json *messages = json_get(body, "messages");
    for (const struct json *m = json_first(messages); m; m = json_next(m)) {
        const char *role = json_get_str(m, "role");
        found = role && strcmp(role, "assistant") == 0 ? false : found || holds(m, text);
    }
    return found;
}

static const struct json *child_at(const struct json *j, const char *name, size_t n)
{
    if (json_type(j) == JSON_ARRAY) {
        char digits[16] = {0};
        memcpy(digits, name, n < sizeof digits ? n : sizeof digits - 1);
        long k = strtol(digits, NULL, 10);
        k = k < 0 ? k + (long)json_len(j) : k;
        const struct json *child = k < 0 ? NULL : json_first(j);
        for (; child && k > 0; k--) {
            child = json_next(child);
        }
        return child;
    }
    struct buf key = {0};
    buf_add(&key, name, n);
    const struct json *child =
        json_type(j) == JSON_OBJECT ? json_get(j, buf_cstr(&key)) : NULL;
    buf_finish(&key);
    return child;
}

static const struct json *at_path(const struct json *j, const char *path)
{
    while (*path == '/') {
        size_t n = strcspn(path + 1, "/");
        j = child_at(j, path + 1, n);
        path += n + 1;
    }
    return j;
}

// null stands for what must not be there.
static bool check_path(const struct json *wanted, const struct json *body,
                       struct buf *words)
{
    const struct json *found = at_path(body, json_key(wanted));
    if (found ? json_same(found, wanted) : json_type(wanted) == JSON_NULL) {
        return true;
    }
    say(words, "%s is not ", json_key(wanted));
    json_write(words, wanted);
    buf_adds(words, " but ");
    json_write(words, found);
    return false;
}

typedef bool (*text_check)(const struct json *body, const char *text);

// A text or a list of texts.
static bool each_text(const struct json *texts, const struct json *body,
                      text_check check_text, bool wanted, struct buf *words)
{
    const struct json *j = json_type(texts) == JSON_ARRAY ? json_first(texts) : texts;
    for (; j; j = j == texts ? NULL : json_next(j)) {
        if (check_text(body, json_str(j)) != wanted) {
            say(words, "the request %s '%s'", wanted ? "lacks" : "holds", json_str(j));
            return false;
        }
    }
    return true;
}

bool script_expects(const struct json *turn, const struct json *body, struct buf *words)
{
    const struct json *checks = json_get(turn, "check");
    for (const struct json *j = json_first(checks); j; j = json_next(j)) {
        if (!check_path(j, body, words)) {
            return false;
        }
    }
    return each_text(json_get(turn, "expect"), body, told, true, words) &&
           each_text(json_get(turn, "holds"), body, holds, true, words) &&
           each_text(json_get(turn, "absent"), body, holds, false, words);
}
