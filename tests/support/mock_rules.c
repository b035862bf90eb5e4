#include "mock_rules.h"

#include <ctype.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const struct rule_table *const tables[] = {
    &rules_anthropic, &rules_anthropic_content, &rules_chat, &rules_chat_content};
enum { TABLES = sizeof tables / sizeof *tables };

bool rules_server_known(const char *server)
{
    for (size_t i = 0; i < TABLES; i++) {
        for (size_t k = 0; k < tables[i]->len; k++) {
            const char *has = tables[i]->rules[k].server;
            if (has && strcmp(has, server) == 0) {
                return true;
            }
        }
    }
    return false;
}

static void check_rule(const struct rule *rule, const struct rule_request *r,
                       struct json *broken)
{
    struct buf words = {0};
    bool applies = !rule->server || strcmp(rule->server, r->server) == 0;
    if (applies && rule->broken(r, &words)) {
        struct json *one = json_new_object();
        json_set_str(one, "name", rule->name);
        json_set_int(one, "status", rule->status);
        json_set_str(one, "message", buf_cstr(&words));
        json_push(broken, one);
    }
    buf_finish(&words);
}

struct json *rules_check(const struct rule_request *r)
{
    struct json *broken = json_new_array();
    for (size_t t = 0; t < TABLES; t++) {
        bool applies = strcmp(tables[t]->api, r->api) == 0;
        for (size_t i = 0; applies && i < tables[t]->len; i++) {
            check_rule(&tables[t]->rules[i], r, broken);
        }
    }
    return broken;
}

/* -- for the tables -- */

bool message_next(const struct rule_request *r, struct message_at *at)
{
    if (at->message) {
        at->previous = at->message;
        at->message = at->next;
        at->m++;
    } else {
        at->message = json_first(json_get(r->body, "messages"));
    }
    at->next = at->message ? json_next(at->message) : NULL;
    const char *role = json_get_str(at->message, "role");
    at->role = role ? role : "";
    return at->message != NULL;
}

static bool block_found(struct block_at *at, const struct json *block)
{
    const char *type = json_get_str(block, "type");
    at->block = block;
    at->type = type ? type : "";
    return block != NULL;
}

static bool block_of_next_message(const struct rule_request *r, struct block_at *at)
{
    for (;;) {
        if (at->message) {
            at->message = json_next(at->message);
            at->m++;
        } else {
            at->message = json_first(json_get(r->body, "messages"));
        }
        if (!at->message) {
            return false;
        }
        const char *role = json_get_str(at->message, "role");
        at->role = role ? role : "";
        at->b = 0;
        const struct json *content = json_get(at->message, "content");
        if (json_type(content) == JSON_ARRAY && block_found(at, json_first(content))) {
            return true;
        }
    }
}

bool block_next(const struct rule_request *r, struct block_at *at)
{
    if (!at->block) {
        return block_of_next_message(r, at);
    }
    if (!at->inner && strcmp(at->type, "tool_result") == 0) {
        const struct json *content = json_get(at->block, "content");
        const struct json *first =
            json_type(content) == JSON_ARRAY ? json_first(content) : NULL;
        if (first) {
            at->outer = at->block;
            at->inner = true;
            return block_found(at, first);
        }
    }
    if (at->inner) {
        if (block_found(at, json_next(at->block))) {
            return true;
        }
        at->block = at->outer;
        at->inner = false;
    }
    at->b++;
    return block_found(at, json_next(at->block)) || block_of_next_message(r, at);
}

bool say(struct buf *words, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    buf_vaddf(words, format, args);
    va_end(args);
    return true;
}

bool is_string(const struct json *j)
{
    return json_type(j) == JSON_STRING;
}

bool is_blank(const char *text)
{
    return text[strspn(text, " \t\r\n\v\f")] == '\0';
}

bool is_type(const struct json *object, const char *type)
{
    const char *has = json_get_str(object, "type");
    return has && strcmp(has, type) == 0;
}

const struct json *blocks_of(const struct json *message)
{
    const struct json *content = json_get(message, "content");
    return json_type(content) == JSON_ARRAY ? json_first(content) : NULL;
}

bool json_same(const struct json *a, const struct json *b)
{
    struct buf x = {0}, y = {0};
    json_write(&x, a);
    json_write(&y, b);
    bool same = sv_eq(buf_sv(&x), buf_sv(&y));
    buf_finish(&x);
    buf_finish(&y);
    return same;
}

bool is_name(const char *text, size_t max)
{
    size_t n = 0;
    while (isalnum((unsigned char)text[n]) || text[n] == '_' || text[n] == '-') {
        n++;
    }
    return text[n] == '\0' && n > 0 && n <= max;
}

const char *strange_key(const struct json *object, const char *known)
{
    for (const struct json *j = json_first(object); j; j = json_next(j)) {
        const char *key = json_key(j);
        const char *at = strstr(known, key);
        size_t n = strlen(key);
        while (at && ((at > known && at[-1] != ' ') || at[n] != ' ')) {
            at = strstr(at + 1, key);
        }
        if (!at) {
            return key;
        }
    }
    return NULL;
}

static int base64_value(char c)
{
    static const char digits[] =
        "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    const char *at = c ? strchr(digits, c) : NULL;
    return at ? (int)(at - digits) : -1;
}

bool is_base64(const char *text)
{
    size_t n = 0, padding = 0;
    while (base64_value(text[n]) >= 0) {
        n++;
    }
    while (text[n + padding] == '=') {
        padding++;
    }
    return text[n + padding] == '\0' && n > 0 && padding < 3 && (n + padding) % 4 == 0;
}

static size_t base64_decode(unsigned char *out, size_t max, const char *text)
{
    size_t n = 0;
    uint32_t bits = 0;
    unsigned have = 0;
    for (; base64_value(*text) >= 0 && n < max; text++) {
        bits = bits << 6 | (uint32_t)base64_value(*text);
        have += 6;
        if (have >= 8) {
            have -= 8;
            out[n++] = (unsigned char)(bits >> have);
        }
    }
    return n;
}

const char *image_type(const char *base64)
{
    unsigned char b[16] = {0};
    base64_decode(b, sizeof b, base64);
    if (memcmp(b, "\x89PNG\r\n\x1a\n", 8) == 0) {
        return "image/png";
    }
    if (memcmp(b, "GIF8", 4) == 0) {
        return "image/gif";
    }
    if (memcmp(b, "\xff\xd8\xff", 3) == 0) {
        return "image/jpeg";
    }
    if (memcmp(b, "RIFF", 4) == 0 && memcmp(b + 8, "WEBP", 4) == 0) {
        return "image/webp";
    }
    return NULL;
}

static unsigned number_at(const unsigned char *b, size_t n)
{
    unsigned value = 0;
    for (size_t i = 0; i < n; i++) {
        value = value << 8 | b[i];
    }
    return value;
}

static bool jpeg_size(const unsigned char *b, size_t n, unsigned *width, unsigned *height)
{
    for (size_t i = 2; i + 9 < n && b[i] == 0xff; i += 2 + number_at(b + i + 2, 2)) {
        unsigned kind = b[i + 1];
        bool frame =
            kind >= 0xc0 && kind <= 0xcf && kind != 0xc4 && kind != 0xc8 && kind != 0xcc;
        if (frame) {
            *height = number_at(b + i + 5, 2);
            *width = number_at(b + i + 7, 2);
            return true;
        }
    }
    return false;
}

bool image_size(const char *base64, unsigned *width, unsigned *height)
{
    static const size_t most = 65536;
    unsigned char *b = calloc(1, most);
    size_t n = b ? base64_decode(b, most, base64) : 0;
    const char *type = image_type(base64);
    bool known = false;
    if (type && strcmp(type, "image/png") == 0 && n >= 24) {
        *width = number_at(b + 16, 4);
        *height = number_at(b + 20, 4);
        known = true;
    } else if (type && strcmp(type, "image/gif") == 0 && n >= 10) {
        *width = b[6] | (unsigned)b[7] << 8;
        *height = b[8] | (unsigned)b[9] << 8;
        known = true;
    } else if (type && strcmp(type, "image/jpeg") == 0) {
        known = jpeg_size(b, n, width, height);
    }
    free(b);
    return known;
}

/* -- the self-test -- */

static struct json *parse_quoted(const char *text)
{
    struct buf b = {0};
    for (const char *p = text; *p; p++) {
        buf_addc(&b, (char)(*p == '\'' ? '"' : *p));
    }
    struct json *j = NULL;
    struct pi_error err;
    if (json_parse(&j, buf_sv(&b), NULL, &err)) {
        printf("the example is not JSON: %s\n%s\n", err.message, buf_cstr(&b));
        exit(1);
    }
    buf_finish(&b);
    return j;
}

static void merge(struct json *into, const struct json *members)
{
    for (const struct json *j = json_first(members); j; j = json_next(j)) {
        if (json_key(j)[0] == '$') {
            continue;
        }
        if (json_type(j) == JSON_NULL) {
            json_destroy(json_remove(into, json_key(j)));
        } else {
            json_set(into, json_key(j), json_copy(j));
        }
    }
}

static void replace_body(struct buf *raw, const char *text)
{
    buf_clear(raw);
    for (; *text; text++) {
        buf_addc(raw, (char)(*text == '~' ? '\xff' : *text == '`' ? '"' : *text));
    }
}

static void make_heavy(struct buf *raw, const char *start)
{
    const char *at = strstr(buf_cstr(raw), "HEAVY");
    struct buf out = {0};
    buf_add(&out, raw->data, (size_t)(at - raw->data));
    buf_adds(&out, start);
    for (size_t i = 0; i < 6u * 1024 * 1024; i++) {
        buf_addc(&out, 'A');
    }
    buf_adds(&out, at + 5);
    buf_finish(raw);
    *raw = out;
}

// The members that work on bytes.
static void apply_bytes(struct buf *raw, const struct json *members)
{
    if (json_get_str(members, "$raw")) {
        replace_body(raw, json_get_str(members, "$raw"));
    }
    if (json_get_str(members, "$heavy")) {
        make_heavy(raw, json_get_str(members, "$heavy"));
    }
    for (double pad = json_get_num(members, "$pad", 0); (double)raw->len < pad;) {
        buf_addc(raw, ' ');
    }
}

// Builds the example's request and checks it; the caller owns what is returned.
static struct json *check_example(const struct rule_table *table, const char *server,
                                  const char *example)
{
    struct json *headers = json_new_object();
    json_set_str(headers, "content-type", "application/json");
    json_set_str(headers, "anthropic-version", "2023-06-01");
    json_set_str(headers, "x-api-key", "k");
    json_set_str(headers, "authorization", "Bearer k");
    struct json *members = parse_quoted(example);
    struct json *body = parse_quoted(table->good[0]);
    merge(headers, json_get(members, "$headers"));
    merge(body, members);
    struct buf raw = {0};
    json_write(&raw, body);
    json_destroy(body);
    body = NULL;
    apply_bytes(&raw, members);
    struct rule_request r = {
        .api = table->api,
        .server = server,
        .headers = headers,
        .raw = buf_sv(&raw),
        .issued = json_get(members, "$issued"),
    };
    if (json_parse(&body, r.raw, &r.repairs, NULL) == PI_OK) {
        r.body = body;
    }
    struct json *broken = rules_check(&r);
    json_destroy(body);
    json_destroy(headers);
    json_destroy(members);
    buf_finish(&raw);
    return broken;
}

static void print_list(const struct json *broken)
{
    for (const struct json *j = json_first(broken); j; j = json_next(j)) {
        printf("    %s: %s\n", json_get_str(j, "name"), json_get_str(j, "message"));
    }
}

// The row fires, alone: its example breaks nothing else.
static bool row_fires(const struct rule_table *table, const struct rule *rule)
{
    struct json *broken =
        check_example(table, rule->server ? rule->server : "plain", rule->bad);
    const char *name = json_get_str(json_first(broken), "name");
    const char *words = json_get_str(json_first(broken), "message");
    bool fires =
        json_len(broken) == 1 && strcmp(name, rule->name) == 0 && words && *words;
    if (!fires) {
        printf("%s, %s: the example breaks\n", table->api, rule->name);
        print_list(broken);
    }
    json_destroy(broken);
    return fires;
}

bool rules_self_test(void)
{
    bool good = true;
    for (size_t t = 0; t < TABLES; t++) {
        const struct rule_table *table = tables[t];
        for (size_t i = 0; i < table->len; i++) {
            good &= row_fires(table, &table->rules[i]);
        }
        for (size_t i = 0; i < table->good_len; i++) {
            struct json *broken = check_example(table, "compatible", table->good[i]);
            if (json_first(broken)) {
                printf("%s: the good request %zu breaks\n", table->api, i);
                print_list(broken);
                good = false;
            }
            json_destroy(broken);
        }
        printf("%s: %zu rules\n", table->api, table->len);
    }
    return good;
}
