#include "llm/error_body.h"

#include <string.h>
#include <strings.h>

#include "text/utf8.h"

enum {
    WORDS_MAX = 1000,
    TITLE_MAX = 100,
    DEPTH_MAX = 8,
    FALLBACK_MAX = 300, // of a text or an object of unknown shape
};

void error_body_finish(struct error_body *b)
{
    if (b) {
        buf_finish(&b->words);
        buf_finish(&b->kind);
        b->status = 0;
        b->retry_after_ms = 0;
    }
}

/* -- words -- */

// One line: white space and control characters become one space each run.
static void add_line(struct buf *out, struct sv text, size_t max)
{
    bool cut = text.n > max;
    if (cut) {
        text.n = utf8_floor(text, max);
    }
    bool gap = false;
    for (size_t i = 0; i < text.n; i++) {
        bool blank = (unsigned char)text.p[i] <= ' ' || text.p[i] == 0x7F;
        if (!blank) {
            if (gap && out->len > 0) {
                buf_addc(out, ' ');
            }
            buf_addc(out, text.p[i]);
        }
        gap = blank;
    }
    buf_adds(out, cut ? "..." : "");
}

// Several sources of words stand beside each other, the same ones once.
static void add_words(struct error_body *b, struct sv text, size_t max)
{
    if (text.n == 0 ||
        (b->words.len > 0 && memmem(b->words.data, b->words.len, text.p, text.n))) {
        return;
    }
    if (b->words.len > 0) {
        buf_adds(&b->words, ": ");
    }
    add_line(&b->words, text, max);
}

static void add_kind(struct error_body *b, const struct json *value)
{
    const char *text = json_str(value);
    bool number = json_type(value) == JSON_NUMBER;
    if ((!text || !text[0]) && !number) {
        return;
    }
    if (b->kind.len > 0) {
        buf_addc(&b->kind, ' ');
    }
    if (number) {
        double code = json_num(value, 0);
        buf_addf(&b->kind, "%.0f", code);
        b->status = code >= 400 && code <= 599 ? (int)code : b->status;
    } else {
        add_line(&b->kind, sv_of(text), TITLE_MAX);
    }
}

/* -- JSON -- */

static bool parse(struct error_body *b, struct json **out, struct sv text)
{
    enum pi_status status = json_parse(out, text, NULL, NULL);
    b->words.failed = b->words.failed || status == PI_NOMEM;
    return status == PI_OK;
}

static void read_node(struct error_body *b, const struct json *node, unsigned depth);

// Some servers pass on the whole error of another one as the text of theirs.
static void read_text(struct error_body *b, const char *text, unsigned depth)
{
    struct json *inner = NULL;
    struct sv trimmed = sv_from(sv_of(text), strspn(text, " \t\r\n"));
    if (trimmed.n > 0 && trimmed.p[0] == '{' && depth < DEPTH_MAX &&
        parse(b, &inner, trimmed)) {
        read_node(b, inner, depth + 1);
        json_destroy(inner);
        return;
    }
    add_words(b, trimmed, WORDS_MAX);
}

static int64_t parse_duration(struct sv text);

static void read_details(struct error_body *b, const struct json *details, unsigned depth)
{
    for (const struct json *d = json_first(details); d; d = json_next(d)) {
        const char *delay = json_get_str(d, "retryDelay");
        if (delay) {
            b->retry_after_ms = parse_duration(sv_of(delay));
        }
        for (const struct json *v = json_first(json_get(d, "violations")); v;
             v = json_next(v)) {
            add_kind(b, json_get(v, "quotaId"));
        }
        read_text(b, json_get_str(d, "msg") ? json_get_str(d, "msg") : "", depth);
    }
}

static void read_object(struct error_body *b, const struct json *o, unsigned depth)
{
    static const char *const kinds[] = {"type", "code", "status"};
    static const char *const texts[] = {"error", "message", "detail", "error_description",
                                        "errors"};
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++) {
        add_kind(b, json_get(o, kinds[i]));
    }
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
        read_node(b, json_get(o, texts[i]), depth + 1);
    }
    const struct json *metadata = json_get(o, "metadata");
    const char *by = json_get_str(metadata, "provider_name");
    add_words(b, sv_of(by), TITLE_MAX);
    read_node(b, json_get(metadata, "raw"), depth + 1);
    if (json_type(json_get(o, "details")) == JSON_ARRAY) {
        read_details(b, json_get(o, "details"), depth);
    }
}

static void read_node(struct error_body *b, const struct json *node, unsigned depth)
{
    if (depth > DEPTH_MAX) {
        return;
    }
    if (json_type(node) == JSON_STRING) {
        read_text(b, json_str(node), depth);
    } else if (json_type(node) == JSON_ARRAY) {
        const struct json *first = json_first(node);
        read_node(b, first, depth + 1);
        read_text(b, json_get_str(first, "msg") ? json_get_str(first, "msg") : "", depth);
    } else if (json_type(node) == JSON_OBJECT) {
        read_object(b, node, depth);
    }
}

bool error_body_is_error(const struct json *body)
{
    if (json_type(body) == JSON_ARRAY) {
        body = json_first(body);
    }
    const struct json *error = json_get(body, "error");
    const char *type = json_get_str(body, "type");
    bool told = json_type(error) == JSON_OBJECT ||
                (json_type(error) == JSON_STRING && json_str(error)[0]);
    return told || json_get(body, "detail") || (type && strcmp(type, "error") == 0) ||
           json_type(body) == JSON_STRING;
}

/* -- how long to wait, in words -- */

// "1.5", "20": the number in thousandths; *n = its length, 0 = none.
static int64_t parse_thousandths(struct sv text, size_t *n)
{
    int64_t value = 0;
    int64_t unit = 1000;
    size_t i = 0;
    bool point = false;
    bool digits = false;
    for (; i < text.n; i++) {
        char c = text.p[i];
        if (c == '.' && !point && digits) {
            point = true;
        } else if (c < '0' || c > '9') {
            break;
        } else if (!point) {
            digits = true;
            value = value < INT32_MAX * 1000LL ? value * 10 + (c - '0') * 1000LL : value;
        } else {
            unit /= 10;
            value += (c - '0') * unit;
        }
    }
    *n = digits ? i : 0;
    return value;
}

// "34.07s", "20ms", "6m0s", "1h2m3s", "5 seconds"; 0 when it is none.
static int64_t parse_duration(struct sv text)
{
    static const struct {
        const char *name;
        int64_t ms;
    } units[] = {
        {"ms", 1},      {"millis", 1}, {"hour", 3600 * 1000}, {"h", 3600 * 1000},
        {"min", 60000}, {"m", 60000},  {"s", 1000},
    };
    int64_t total = 0;
    for (;;) {
        size_t n;
        int64_t value = parse_thousandths(text, &n);
        text = sv_from(text, n);
        while (n > 0 && text.n > 0 && text.p[0] == ' ') {
            text = sv_from(text, 1);
        }
        size_t k = 0;
        size_t count = sizeof units / sizeof *units;
        while (k < count && !sv_starts(text, sv_of(units[k].name))) {
            k++;
        }
        if (n == 0 || k == count) {
            return total;
        }
        total += value * units[k].ms / 1000;
        text = sv_from(text, strlen(units[k].name));
    }
}

static void find_hint(struct error_body *b)
{
    static const char *const leads[] = {"try again in ", "retry in ", "retry after "};
    for (size_t i = 0; i < sizeof leads / sizeof *leads; i++) {
        const char *at = b->words.len > 0 ? strcasestr(b->words.data, leads[i]) : NULL;
        if (at && b->retry_after_ms == 0) {
            b->retry_after_ms = parse_duration(sv_of(at + strlen(leads[i])));
        }
    }
}

/* -- what is not JSON -- */

// The page itself is never shown, only its title.
static void read_html(struct error_body *b, struct sv page)
{
    buf_adds(&b->words, "a page of HTML instead of an answer");
    struct buf text = {0};
    buf_addsv(&text, page);
    const char *title = buf_ok(&text) ? strcasestr(buf_cstr(&text), "<title") : NULL;
    title = title ? strchr(title, '>') : NULL;
    const char *end = title ? strchr(title, '<') : NULL;
    if (end && end - title > 1) {
        buf_adds(&b->words, ", titled \"");
        struct buf line = {0};
        add_line(&line, sv_make(title + 1, (size_t)(end - title - 1)), TITLE_MAX);
        buf_addsv(&b->words, buf_sv(&line));
        buf_finish(&line);
        buf_addc(&b->words, '"');
    }
    buf_finish(&text);
}

static struct sv skip_blank(struct sv body)
{
    if (sv_starts(body, sv_of("\xef\xbb\xbf"))) {
        body = sv_from(body, 3);
    }
    size_t n = 0;
    while (n < body.n && (unsigned char)body.p[n] <= ' ') {
        n++;
    }
    return sv_from(body, n);
}

void error_body_read_json(struct error_body *out, const struct json *body)
{
    read_node(out, body, 0);
    if (out->words.len == 0 && out->kind.len == 0 && json_len(body) > 0) {
        struct buf text = {0};
        json_write(&text, body);
        add_words(out, buf_sv(&text), FALLBACK_MAX);
        buf_finish(&text);
    }
    if (out->words.len == 0) {
        buf_addsv(&out->words, buf_sv(&out->kind));
    }
    find_hint(out);
}

void error_body_read(struct error_body *out, struct sv body)
{
    struct json *tree = NULL;
    body = skip_blank(body);
    if (body.n == 0) {
        return;
    }
    if (body.p[0] == '<') {
        read_html(out, body);
    } else if (parse(out, &tree, body)) {
        error_body_read_json(out, tree);
        json_destroy(tree);
    } else {
        struct buf text = {0};
        utf8_repair(&text, body);
        add_words(out, buf_sv(&text), FALLBACK_MAX);
        buf_finish(&text);
        find_hint(out);
    }
}
