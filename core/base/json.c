#include "base/json.h"

#include <cjson/cJSON.h>
#include <locale.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/json_scan.h"
#include "base/utf8_scan.h"

// struct json is never defined: a pointer to it is a pointer to a cJSON node.
static cJSON *node(struct json *j)
{
    return (cJSON *)j;
}

static const cJSON *node_const(const struct json *j)
{
    return (const cJSON *)j;
}

static struct json *wrap(cJSON *n)
{
    return (struct json *)n;
}

// The library reads numbers with the decimal point of the thread's locale, or rather with
// its first byte; with the C locale it is a dot. json_scan let the text pass, so that
// only memory can be missing when this returns NULL.
static cJSON *parse_checked(const struct buf *text)
{
    locale_t dot = newlocale(LC_ALL_MASK, "C", (locale_t)0);
    if (!dot) {
        return NULL;
    }
    locale_t before = uselocale(dot);
    cJSON *tree = cJSON_ParseWithLengthOpts(buf_cstr(text), text->len + 1, NULL, 1);
    uselocale(before);
    freelocale(dot);
    return tree;
}

enum pi_status json_parse(struct json **out, struct sv text, unsigned *repairs,
                          struct pi_error *err)
{
    enum pi_status status;
    struct buf copy = {0};
    struct json_fault fault = {0};
    unsigned bits = 0;
    if (!json_scan(&copy, text, &bits, &fault)) {
        status = fault.what ? error_set(err, PI_INVALID, "Not valid JSON: %s (byte %zu)",
                                        fault.what, fault.offset)
                            : error_nomem(err);
        goto out;
    }
    cJSON *tree = parse_checked(&copy);
    if (!tree) {
        status = error_nomem(err);
        goto out;
    }
    *out = wrap(tree);
    if (repairs) {
        *repairs = bits;
    }
    status = PI_OK;
out:
    buf_finish(&copy);
    return status;
}

void json_destroy(struct json *j)
{
    cJSON_Delete(node(j));
}

struct json *json_copy(const struct json *j)
{
    return wrap(cJSON_Duplicate(node_const(j), 1));
}

/* Looking */

enum json_type json_type(const struct json *j)
{
    if (!j) {
        return JSON_NONE;
    }
    switch (node_const(j)->type & 0xff) {
    case cJSON_NULL:
        return JSON_NULL;
    case cJSON_True:
    case cJSON_False:
        return JSON_BOOL;
    case cJSON_Number:
    case cJSON_Raw: // an integer that a double cannot hold; see json_new_int
        return JSON_NUMBER;
    case cJSON_String:
        return JSON_STRING;
    case cJSON_Array:
        return JSON_ARRAY;
    case cJSON_Object:
        return JSON_OBJECT;
    default:
        return JSON_NONE;
    }
}

struct json *json_first(const struct json *j)
{
    return j ? wrap(node_const(j)->child) : NULL;
}

struct json *json_next(const struct json *child)
{
    return child ? wrap(node_const(child)->next) : NULL;
}

const char *json_key(const struct json *child)
{
    return child ? node_const(child)->string : NULL;
}

size_t json_len(const struct json *j)
{
    size_t n = 0;
    for (const struct json *c = json_first(j); c; c = json_next(c)) {
        n++;
    }
    return n;
}

struct json *json_get(const struct json *object, const char *key)
{
    struct json *found = NULL;
    if (json_type(object) != JSON_OBJECT) {
        return NULL;
    }
    for (struct json *c = json_first(object); c; c = json_next(c)) {
        if (strcmp(json_key(c), key) == 0) {
            found = c;
        }
    }
    return found;
}

const char *json_str(const struct json *j)
{
    return json_type(j) == JSON_STRING ? node_const(j)->valuestring : NULL;
}

const char *json_get_str(const struct json *object, const char *key)
{
    return json_str(json_get(object, key));
}

double json_num(const struct json *j, double fallback)
{
    if (json_type(j) != JSON_NUMBER) {
        return fallback;
    }
    const cJSON *n = node_const(j);
    return cJSON_IsRaw(n) ? strtod(n->valuestring, NULL) : n->valuedouble;
}

double json_get_num(const struct json *object, const char *key, double fallback)
{
    return json_num(json_get(object, key), fallback);
}

bool json_get_bool(const struct json *object, const char *key, bool fallback)
{
    const struct json *j = json_get(object, key);
    return json_type(j) == JSON_BOOL ? cJSON_IsTrue(node_const(j)) : fallback;
}

/* Building */

struct json *json_new_object(void)
{
    return wrap(cJSON_CreateObject());
}

struct json *json_new_array(void)
{
    return wrap(cJSON_CreateArray());
}

// Appends text, with U+FFFD for NUL and for bytes that are not UTF-8.
static void add_repaired(struct buf *b, struct sv text)
{
    while (text.n) {
        size_t n = utf8_scan_run(text);
        const char *nul = n ? memchr(text.p, 0, n) : NULL;
        if (nul) {
            n = (size_t)(nul - text.p);
        }
        buf_add(b, text.p, n);
        text = sv_from(text, n);
        if (text.n) {
            enum utf8_kind kind;
            text = sv_from(text, utf8_scan_one(text, &kind));
            buf_adds(b, "\xef\xbf\xbd");
        }
    }
}

struct json *json_new_string(struct sv text)
{
    struct buf b = {0};
    buf_reserve(&b, text.n);
    add_repaired(&b, text);
    char *copy = buf_take(&b);
    cJSON *n = copy ? cJSON_CreateNull() : NULL;
    if (!n) {
        free(copy);
        return NULL;
    }
    n->type = cJSON_String;
    n->valuestring = copy;
    return wrap(n);
}

struct json *json_new_int(int64_t value)
{
    const int64_t exact = INT64_C(1) << 53; // up to here a double holds every integer
    if (value >= -exact && value <= exact) {
        return wrap(cJSON_CreateNumber((double)value));
    }
    char text[24];
    snprintf(text, sizeof text, "%lld", (long long)value);
    return wrap(cJSON_CreateRaw(text));
}

struct json *json_new_num(double value)
{
    return wrap(cJSON_CreateNumber(value));
}

struct json *json_new_bool(bool value)
{
    return wrap(cJSON_CreateBool(value));
}

struct json *json_new_null(void)
{
    return wrap(cJSON_CreateNull());
}

// Puts value where old is, under the same key.
static bool replace_member(struct json *object, struct json *old, struct json *value)
{
    char *key = strdup(json_key(old));
    if (!key) {
        return false;
    }
    cJSON *n = node(value);
    free(n->string);
    n->string = key;
    return cJSON_ReplaceItemViaPointer(node(object), node(old), n);
}

bool json_set(struct json *object, const char *key, struct json *value)
{
    bool ok = false;
    if (value && json_type(object) == JSON_OBJECT) {
        struct json *old = json_get(object, key);
        ok = old ? replace_member(object, old, value)
                 : cJSON_AddItemToObject(node(object), key, node(value));
    }
    if (!ok) {
        json_destroy(value);
    }
    return ok;
}

bool json_set_str(struct json *object, const char *key, const char *text)
{
    return json_set(object, key, json_new_string(sv_of(text)));
}

bool json_set_int(struct json *object, const char *key, int64_t value)
{
    return json_set(object, key, json_new_int(value));
}

bool json_set_bool(struct json *object, const char *key, bool value)
{
    return json_set(object, key, json_new_bool(value));
}

bool json_push(struct json *array, struct json *value)
{
    bool ok = value && json_type(array) == JSON_ARRAY &&
              cJSON_AddItemToArray(node(array), node(value));
    if (!ok) {
        json_destroy(value);
    }
    return ok;
}

struct json *json_remove(struct json *object, const char *key)
{
    struct json *last = NULL;
    // A repeated key goes with all its values, else an older one would come to light.
    for (struct json *c = json_get(object, key); c; c = json_get(object, key)) {
        cJSON_DetachItemViaPointer(node(object), node(c));
        if (last) {
            json_destroy(c);
        } else {
            last = c;
        }
    }
    return last;
}

/* Writing */

static void add_escape(struct buf *b, unsigned char c)
{
    static const char letters[] = "\"\"\\\\\bb\ff\nn\rr\tt";
    for (size_t i = 0; i + 1 < sizeof letters; i += 2) {
        if ((unsigned char)letters[i] == c) {
            buf_addc(b, '\\');
            buf_addc(b, letters[i + 1]);
            return;
        }
    }
    buf_addf(b, "\\u%04x", c);
}

static bool needs_escape(unsigned char c)
{
    return c < 0x20 || c == '"' || c == '\\';
}

// Appends valid UTF-8 with its escapes.
static void add_escaped(struct buf *b, struct sv text)
{
    size_t start = 0;
    for (size_t i = 0; i < text.n; i++) {
        unsigned char c = (unsigned char)text.p[i];
        if (needs_escape(c)) {
            buf_add(b, text.p + start, i - start);
            add_escape(b, c);
            start = i + 1;
        }
    }
    buf_add(b, text.p + start, text.n - start);
}

void json_write_string(struct buf *b, struct sv text)
{
    buf_addc(b, '"');
    while (text.n) {
        size_t n = utf8_scan_run(text);
        add_escaped(b, sv_make(text.p, n));
        text = sv_from(text, n);
        if (text.n) {
            enum utf8_kind kind;
            text = sv_from(text, utf8_scan_one(text, &kind));
            buf_adds(b, "\xef\xbf\xbd");
        }
    }
    buf_addc(b, '"');
}

// The shortest of 15, 16 and 17 digits that reads back as the same number. printf writes
// the decimal point of the locale (which may be several bytes); JSON wants a dot.
static void write_fraction(struct buf *b, double value)
{
    char text[48];
    for (int digits = 15; digits <= 17; digits++) {
        snprintf(text, sizeof text, "%.*g", digits, value);
        if (strtod(text, NULL) == value) {
            break;
        }
    }
    size_t whole = strspn(text, "-0123456789");
    size_t point = strcspn(text + whole, "0123456789eE");
    buf_add(b, text, whole);
    if (point) {
        buf_addc(b, '.');
    }
    buf_adds(b, text + whole + point);
}

static void write_number(struct buf *b, const cJSON *n)
{
    const double exact = 9007199254740992.0; // 2^53
    double value = n->valuedouble;
    if (cJSON_IsRaw(n)) {
        buf_adds(b, n->valuestring);
    } else if (!isfinite(value)) {
        buf_adds(b, "null");
    } else if (fabs(value) <= exact && (double)(long long)value == value) {
        buf_addf(b, "%lld", (long long)value);
    } else {
        write_fraction(b, value);
    }
}

// indent < 0 is the compact form.
static void write_break(struct buf *b, int indent)
{
    if (indent >= 0) {
        buf_addf(b, "\n%*s", indent * 2, "");
    }
}

static void write_node(struct buf *b, const struct json *j, int indent);

static void write_children(struct buf *b, const struct json *j, int indent)
{
    bool object = json_type(j) == JSON_OBJECT;
    int inner = indent < 0 ? -1 : indent + 1;
    buf_addc(b, object ? '{' : '[');
    for (const struct json *c = json_first(j); c; c = json_next(c)) {
        write_break(b, inner);
        if (object) {
            json_write_string(b, sv_of(json_key(c)));
            buf_adds(b, indent < 0 ? ":" : ": ");
        }
        write_node(b, c, inner);
        if (json_next(c)) {
            buf_addc(b, ',');
        }
    }
    if (json_first(j)) {
        write_break(b, indent);
    }
    buf_addc(b, object ? '}' : ']');
}

static void write_node(struct buf *b, const struct json *j, int indent)
{
    switch (json_type(j)) {
    case JSON_NONE:
    case JSON_NULL:
        buf_adds(b, "null");
        break;
    case JSON_BOOL:
        buf_adds(b, cJSON_IsTrue(node_const(j)) ? "true" : "false");
        break;
    case JSON_NUMBER:
        write_number(b, node_const(j));
        break;
    case JSON_STRING:
        json_write_string(b, sv_of(json_str(j)));
        break;
    case JSON_ARRAY:
    case JSON_OBJECT:
        write_children(b, j, indent);
        break;
    }
}

void json_write(struct buf *b, const struct json *j)
{
    write_node(b, j, -1);
}

void json_write_pretty(struct buf *b, const struct json *j)
{
    write_node(b, j, 0);
}
