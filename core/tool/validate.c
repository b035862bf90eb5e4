#include "tool/validate.h"

#include <string.h>

#include "base/json_prefix.h"
#include "text/utf8.h"
#include "tool/schema.h"

enum { RECEIVED_MAX = 2048, RECEIVED_STRING_MAX = 300, NAME_MAX_SHOWN = 60 };

/* Parsing */

// The outermost argument whose value holds a NUL; NUL survives no C string, so its place
// is looked up in the text.
static struct sv argument_with_nul(struct sv text)
{
    struct json_prefix scan = {0};
    struct sv name = sv_make("", 0);
    size_t open = 0;
    for (size_t i = 0; i < text.n; i++) {
        bool key = scan.key;
        size_t edge = scan.edge;
        if (!json_prefix_feed(&scan, sv_make(text.p + i, 1))) {
            break;
        }
        if (scan.depth == 1 && key != scan.key) {
            name = key ? sv_make(text.p + open, i - open) : name;
            open = i + 1;
        }
        bool escape = scan.edge == i + 1 && scan.edge - edge == 6;
        if (text.p[i] == '\0' || (escape && memcmp(text.p + edge, "\\u0000", 6) == 0)) {
            break;
        }
    }
    return name;
}

static enum pi_status cannot_read(const char *tool, struct sv text,
                                  const struct json_prefix *scan, struct pi_error *err)
{
    if (!scan->bad) {
        return error_set(
            err, PI_INVALID,
            "The arguments of \"%s\" were cut off: the %zu bytes that arrived "
            "are only the beginning of JSON. Nothing was run. Send the call "
            "again; if it holds a long text, send it in several smaller "
            "calls.",
            tool, text.n);
    }
    struct sv found = sv_from(text, scan->offset);
    if (scan->depth == JSON_PREFIX_DEPTH && (found.p[0] == '[' || found.p[0] == '{')) {
        return error_set(
            err, PI_INVALID,
            "The arguments of \"%s\" are nested deeper than %d levels. Nothing "
            "was run. Send the call again with flatter arguments.",
            tool, JSON_PREFIX_DEPTH);
    }
    found.n = utf8_floor(found, 20);
    struct buf shown = {0};
    json_write_string(&shown, found);
    error_set(err, PI_INVALID,
              "The arguments of \"%s\" are not JSON: unexpected text at byte %zu of %zu, "
              "starting with %s. Nothing was run. Send the call again with one JSON "
              "object as its arguments.",
              tool, scan->offset, text.n, buf_cstr(&shown));
    buf_finish(&shown);
    return PI_INVALID;
}

// Text that is JSON but for what models often get wrong inside strings.
static enum pi_status parse_repaired(struct json **out, const char *tool, struct sv text,
                                     unsigned *repairs, struct pi_error *err)
{
    struct json_prefix scan = {0};
    json_prefix_feed(&scan, text);
    if (!json_prefix_complete(&scan)) {
        return cannot_read(tool, text, &scan, err);
    }
    struct buf repaired = {0};
    struct pi_error why;
    json_prefix_repair(&repaired, text);
    enum pi_status status =
        buf_ok(&repaired) ? json_parse(out, buf_sv(&repaired), repairs, &why) : PI_NOMEM;
    buf_finish(&repaired);
    if (status == PI_NOMEM) {
        return error_nomem(err);
    }
    if (status) {
        error_set(err, status,
                  "The arguments of \"%s\" are not JSON (%s). Nothing was "
                  "run. Send the call again with one JSON object as its "
                  "arguments.",
                  tool, why.message);
    }
    return status;
}

static enum pi_status parse(struct json **out, bool *repaired, const char *tool,
                            struct sv text, struct pi_error *err)
{
    unsigned repairs = 0;
    enum pi_status status = json_parse(out, text, &repairs, NULL);
    if (status == PI_NOMEM) {
        return error_nomem(err);
    }
    if (status) {
        status = parse_repaired(out, tool, text, &repairs, err);
    }
    if (!status && (repairs & JSON_HAD_NUL)) {
        json_destroy(*out);
        *out = NULL;
        struct sv name = argument_with_nul(text);
        status = error_set(
            err, PI_INVALID,
            "The argument \"%.*s\" of \"%s\" holds a NUL character, which "
            "no file name, command or text may hold. Nothing was run. Send "
            "the call again without it.",
            (int)(name.n < NAME_MAX_SHOWN ? name.n : NAME_MAX_SHOWN), name.p, tool);
    }
    *repaired = repairs & (JSON_HAD_SURROGATE | JSON_HAD_BAD_UTF8);
    return status;
}

static bool is_blank(struct sv text)
{
    size_t i = 0;
    while (i < text.n && strchr(" \t\r\n", text.p[i]) && text.p[i] != '\0') {
        i++;
    }
    return i == text.n;
}

static const char *kind_name(const struct json *value)
{
    static const char *const names[] = {
        [JSON_NONE] = "nothing",     [JSON_NULL] = "null",
        [JSON_BOOL] = "a boolean",   [JSON_NUMBER] = "a number",
        [JSON_STRING] = "a string",  [JSON_ARRAY] = "an array",
        [JSON_OBJECT] = "an object",
    };
    return names[json_type(value)];
}

enum pi_status validate_parse(struct json **out, bool *repaired, const char *tool,
                              struct sv text, struct pi_error *err)
{
    struct json *value = NULL;
    bool lossy[2] = {false, false}; // the text, and the text that it held
    // Some models send nothing at all for a call without arguments.
    enum pi_status status =
        parse(&value, &lossy[0], tool, is_blank(text) ? sv_of("{}") : text, err);
    if (status) {
        return status;
    }
    if (json_type(value) == JSON_STRING) {
        // The object itself as a string: it was encoded twice.
        struct json *inner = NULL;
        if (parse(&inner, &lossy[1], tool, sv_of(json_str(value)), NULL) == PI_OK) {
            json_destroy(value);
            value = inner;
        }
    }
    if (json_type(value) != JSON_OBJECT) {
        status = error_set(err, PI_INVALID,
                           "The arguments of \"%s\" must be one JSON object, but are %s. "
                           "Nothing was run. Send the call again with an object like "
                           "{\"name\": value}.",
                           tool, kind_name(value));
        json_destroy(value);
        return status;
    }
    *out = value;
    if (repaired) {
        *repaired = lossy[0] || lossy[1];
    }
    return PI_OK;
}

/* Checking */

static void write_received(struct buf *b, const struct json *value, unsigned depth);

static void write_string_received(struct buf *b, const char *text)
{
    size_t n = strlen(text);
    size_t shown = n <= RECEIVED_STRING_MAX ? n : RECEIVED_STRING_MAX;
    while (shown < n && shown > 0 && (text[shown] & 0xC0) == 0x80) {
        shown--;
    }
    json_write_string(b, sv_make(text, shown));
    if (shown < n) {
        buf_addf(b, " (and %zu bytes more)", n - shown);
    }
}

static void write_children_received(struct buf *b, const struct json *value,
                                    unsigned depth)
{
    bool object = json_type(value) == JSON_OBJECT;
    buf_addc(b, object ? '{' : '[');
    for (const struct json *c = json_first(value); c; c = json_next(c)) {
        if (b->len > RECEIVED_MAX) {
            buf_adds(b, " ...");
            return;
        }
        buf_addf(b, "%s\n%*s", c != json_first(value) ? "," : "", (int)(2 * depth + 2),
                 "");
        if (object) {
            json_write_string(b, sv_of(json_key(c)));
            buf_adds(b, ": ");
        }
        write_received(b, c, depth + 1);
    }
    if (json_first(value)) {
        buf_addf(b, "\n%*s", (int)(2 * depth), "");
    }
    buf_addc(b, object ? '}' : ']');
}

static void write_received(struct buf *b, const struct json *value, unsigned depth)
{
    if (json_type(value) == JSON_STRING) {
        write_string_received(b, json_str(value));
    } else if (json_type(value) == JSON_OBJECT || json_type(value) == JSON_ARRAY) {
        write_children_received(b, value, depth);
    } else {
        json_write(b, value);
    }
}

enum pi_status validate_arguments(struct json **args, const struct json *schema,
                                  const char *tool, struct buf *problems)
{
    struct schema_path top = {0};
    struct buf lines = {0};
    struct schema_problems found = {.text = &lines};
    if (!schema_convert(args, schema)) {
        return PI_NOMEM;
    }
    schema_check(*args, schema, &top, &found);
    if (found.count == 0) {
        return PI_OK;
    }
    struct buf received = {0};
    write_received(&received, *args, 0);
    buf_addf(
        problems,
        "The arguments of \"%s\" do not fit. Nothing was run. Mend this and send the "
        "call again:\n",
        tool);
    buf_addsv(problems, buf_sv(&lines));
    buf_addf(problems, "\n\nReceived:\n%s\n", buf_cstr(&received));
    buf_finish(&received);
    buf_finish(&lines);
    return PI_INVALID;
}
