#include "tool/schema.h"

#include <math.h>
#include <string.h>

#include "base/json_prefix.h"

enum { PROBLEMS_MAX = 20, SHOWN_MAX = 60 };

/* Types */

static bool is_integral(double n)
{
    return n >= -9007199254740992.0 && n <= 9007199254740992.0 && n == (double)(int64_t)n;
}

static bool has_type(const struct json *value, const char *type)
{
    static const struct {
        const char *name;
        enum json_type type;
    } types[] = {
        {"null", JSON_NULL},      {"boolean", JSON_BOOL},  {"number", JSON_NUMBER},
        {"integer", JSON_NUMBER}, {"string", JSON_STRING}, {"array", JSON_ARRAY},
        {"object", JSON_OBJECT},
    };
    for (size_t i = 0; i < sizeof(types) / sizeof(*types); i++) {
        if (strcmp(type, types[i].name) == 0) {
            bool whole = strcmp(type, "integer") == 0;
            return json_type(value) == types[i].type &&
                   (whole ? is_integral(json_num(value, 0.5))
                          : isfinite(json_num(value, 0)));
        }
    }
    return true; // a type that this subset does not know forbids nothing
}

// The types that the schema allows, one after the other; NULL at the end.
static const char *type_at(const struct json *schema, size_t i)
{
    const struct json *type = json_get(schema, "type");
    if (json_type(type) == JSON_STRING) {
        return i == 0 ? json_str(type) : NULL;
    }
    const struct json *t = json_first(type);
    while (t && i-- > 0) {
        t = json_next(t);
    }
    return json_str(t);
}

static bool fits_type(const struct json *value, const struct json *schema)
{
    const char *type = type_at(schema, 0);
    for (size_t i = 0; type; type = type_at(schema, ++i)) {
        if (has_type(value, type)) {
            return true;
        }
    }
    return !json_get(schema, "type");
}

static bool fits(const struct json *value, const struct json *schema)
{
    struct schema_problems problems = {0};
    schema_check(value, schema, NULL, &problems);
    return problems.count == 0;
}

static bool accepts_null(const struct json *schema)
{
    struct json *null = json_new_null();
    bool yes = null && fits(null, schema);
    json_destroy(null);
    return yes;
}

static bool is_required(const struct json *schema, const char *key)
{
    const struct json *names = json_get(schema, "required");
    for (const struct json *n = json_first(names); n; n = json_next(n)) {
        if (json_str(n) && strcmp(json_str(n), key) == 0) {
            return true;
        }
    }
    return false;
}

/* Conversions */

// The value of a string that holds JSON, also with the mistakes that models make in it.
static struct json *parsed(const char *text, enum json_type type)
{
    struct json *value = NULL;
    struct buf repaired = {0};
    if (text && json_parse(&value, sv_of(text), NULL, NULL) != PI_OK) {
        json_prefix_repair(&repaired, sv_of(text));
        if (json_parse(&value, buf_sv(&repaired), NULL, NULL) != PI_OK) {
            value = NULL;
        }
    }
    buf_finish(&repaired);
    if (json_type(value) == type) {
        return value;
    }
    json_destroy(value);
    return NULL;
}

static struct json *to_number(const struct json *value)
{
    return parsed(json_str(value), JSON_NUMBER);
}

static struct json *to_boolean(const struct json *value)
{
    if (json_type(value) == JSON_STRING) {
        return parsed(json_str(value), JSON_BOOL);
    }
    double n = json_num(value, -1);
    return n == 0 || n == 1 ? json_new_bool(n == 1) : NULL;
}

static struct json *to_string(const struct json *value)
{
    if (json_type(value) != JSON_NUMBER && json_type(value) != JSON_BOOL) {
        return NULL;
    }
    struct buf text = {0};
    json_write(&text, value);
    struct json *string = buf_ok(&text) ? json_new_string(buf_sv(&text)) : NULL;
    buf_finish(&text);
    return string;
}

static bool items_may_be_strings(const struct json *schema)
{
    const struct json *items = json_get(schema, "items");
    const char *type = type_at(items, 0);
    for (size_t i = 0; type; type = type_at(items, ++i)) {
        if (strcmp(type, "string") == 0) {
            return true;
        }
    }
    return !json_get(items, "type");
}

static struct json *to_array(const struct json *value, const struct json *schema)
{
    const char *text = json_str(value);
    struct json *array = parsed(text, JSON_ARRAY);
    // A string that was meant to hold the array but cannot be read is no item of one.
    bool meant = text && text[strspn(text, " \t\r\n")] == '[';
    if (array || json_type(value) == JSON_NULL ||
        (meant && !items_may_be_strings(schema))) {
        return array;
    }
    array = json_new_array();
    if (array && !json_push(array, json_copy(value))) {
        json_destroy(array);
        array = NULL;
    }
    return array;
}

static struct json *to_object(const struct json *value)
{
    return parsed(json_str(value), JSON_OBJECT);
}

static struct json *to_type(const struct json *value, const char *type,
                            const struct json *schema)
{
    static const struct {
        const char *name;
        struct json *(*convert)(const struct json *);
    } table[] = {
        {"number", to_number}, {"integer", to_number}, {"boolean", to_boolean},
        {"string", to_string}, {"object", to_object},
    };
    struct json *result = strcmp(type, "array") == 0 ? to_array(value, schema) : NULL;
    for (size_t i = 0; i < sizeof(table) / sizeof(*table); i++) {
        if (strcmp(type, table[i].name) == 0) {
            result = table[i].convert(value);
        }
    }
    if (result && !has_type(result, type)) {
        json_destroy(result);
        result = NULL;
    }
    return result;
}

// A failed conversion leaves the value as it is; schema_check then says what is wrong.
static void convert_type(struct json **value, const struct json *schema)
{
    const char *type = fits_type(*value, schema) ? NULL : type_at(schema, 0);
    for (size_t i = 0; type; type = type_at(schema, ++i)) {
        struct json *result = to_type(*value, type, schema);
        if (result) {
            json_destroy(*value);
            *value = result;
            return;
        }
    }
}

static bool convert_property(struct json *object, const struct json *property,
                             bool required)
{
    const char *key = json_key(property);
    struct json *child = json_get(object, key);
    if (!child) {
        return true;
    }
    if (json_type(child) == JSON_NULL && !required && !accepts_null(property)) {
        json_destroy(json_remove(object, key));
        return true;
    }
    struct json *taken = json_remove(object, key);
    if (!schema_convert(&taken, property)) {
        json_destroy(taken);
        return false;
    }
    return json_set(object, key, taken);
}

static bool convert_items(struct json **array, const struct json *schema)
{
    const struct json *items = json_get(schema, "items");
    if (!items) {
        return true;
    }
    struct json *result = json_new_array();
    for (const struct json *i = json_first(*array); result && i; i = json_next(i)) {
        struct json *copy = json_copy(i);
        if (!copy || !schema_convert(&copy, items)) {
            json_destroy(copy);
            copy = NULL;
        }
        if (!json_push(result, copy)) {
            json_destroy(result);
            result = NULL;
        }
    }
    if (!result) {
        return false;
    }
    json_destroy(*array);
    *array = result;
    return true;
}

// A union takes the first member that the value fits as it is, else the first that it can
// be bent to.
static bool convert_union(struct json **value, const struct json *members)
{
    for (const struct json *m = json_first(members); m; m = json_next(m)) {
        if (fits(*value, m)) {
            return true;
        }
    }
    for (const struct json *m = json_first(members); m; m = json_next(m)) {
        struct json *copy = json_copy(*value);
        if (!copy || !schema_convert(&copy, m)) {
            json_destroy(copy);
            return false;
        }
        if (fits(copy, m)) {
            json_destroy(*value);
            *value = copy;
            return true;
        }
        json_destroy(copy);
    }
    return true;
}

bool schema_convert(struct json **value, const struct json *schema)
{
    const struct json *members = json_get(schema, "anyOf");
    if (members && !convert_union(value, members)) {
        return false;
    }
    convert_type(value, schema);
    if (json_type(*value) == JSON_ARRAY) {
        return convert_items(value, schema);
    }
    const struct json *properties = json_get(schema, "properties");
    if (json_type(*value) != JSON_OBJECT) {
        return true;
    }
    for (const struct json *p = json_first(properties); p; p = json_next(p)) {
        if (!convert_property(*value, p, is_required(schema, json_key(p)))) {
            return false;
        }
    }
    return true;
}

/* Problems */

static void add_path(struct buf *b, const struct schema_path *path)
{
    if (!path || (!path->parent && !path->key)) {
        return;
    }
    add_path(b, path->parent);
    if (path->parent && (path->parent->parent || path->parent->key)) {
        buf_addc(b, '.');
    }
    if (path->key) {
        buf_adds(b, path->key);
    } else {
        buf_addf(b, "%zu", path->index);
    }
}

// Starts the line of a problem; NULL when it is not wanted.
static struct buf *problem(struct schema_problems *p, const struct schema_path *path)
{
    p->count++;
    if (!p->text || p->count > PROBLEMS_MAX) {
        return NULL;
    }
    buf_adds(p->text, p->count > 1 ? "\n- " : "- ");
    size_t before = p->text->len;
    add_path(p->text, path);
    buf_adds(p->text, p->text->len > before ? ": " : "arguments: ");
    return p->text;
}

static void add_value(struct buf *b, const struct json *value)
{
    static const char *const names[] = {
        [JSON_STRING] = "the string ",
        [JSON_NUMBER] = "the number ",
        [JSON_ARRAY] = "an array",
        [JSON_OBJECT] = "an object",
    };
    enum json_type type = json_type(value);
    if (type == JSON_STRING || type == JSON_NUMBER) {
        buf_adds(b, names[type]);
    }
    if (type == JSON_ARRAY || type == JSON_OBJECT) {
        buf_adds(b, names[type]);
    } else if (type == JSON_STRING && strlen(json_str(value)) > SHOWN_MAX) {
        buf_addf(b, "of %zu bytes", strlen(json_str(value)));
    } else {
        json_write(b, value);
    }
}

static const char *type_name(const char *type)
{
    static const struct {
        const char *type, *name;
    } names[] = {
        {"string", "a string"},       {"number", "a number"}, {"integer", "an integer"},
        {"boolean", "true or false"}, {"array", "an array"},  {"object", "an object"},
    };
    for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++) {
        if (strcmp(type, names[i].type) == 0) {
            return names[i].name;
        }
    }
    return type;
}

static void report_type(struct buf *b, const struct json *value,
                        const struct json *schema)
{
    buf_adds(b, "must be ");
    const char *type = type_at(schema, 0);
    for (size_t i = 0; type; type = type_at(schema, ++i)) {
        buf_adds(b, i > 0 ? " or " : "");
        buf_adds(b, type_name(type));
    }
    buf_adds(b, ", but is ");
    add_value(b, value);
}

static void report_list(struct buf *b, const struct json *first, bool keys)
{
    for (const struct json *i = first; i; i = json_next(i)) {
        buf_adds(b, i != first ? ", " : "");
        if (keys) {
            buf_adds(b, json_key(i));
        } else {
            json_write(b, i);
        }
    }
}

static bool same(const struct json *a, const struct json *b)
{
    struct buf left = {0}, right = {0};
    json_write(&left, a);
    json_write(&right, b);
    bool yes = buf_ok(&left) && buf_ok(&right) && sv_eq(buf_sv(&left), buf_sv(&right));
    buf_finish(&left);
    buf_finish(&right);
    return yes;
}

static void check_enum(const struct json *value, const struct json *schema,
                       const struct schema_path *path, struct schema_problems *problems)
{
    const struct json *allowed = json_get(schema, "enum");
    if (!allowed) {
        return;
    }
    for (const struct json *a = json_first(allowed); a; a = json_next(a)) {
        if (same(a, value)) {
            return;
        }
    }
    struct buf *b = problem(problems, path);
    if (b) {
        buf_adds(b, "must be one of ");
        report_list(b, json_first(allowed), false);
        buf_adds(b, ", but is ");
        add_value(b, value);
    }
}

static void check_number(const struct json *value, const struct json *schema,
                         const struct schema_path *path, struct schema_problems *problems)
{
    double n = json_num(value, 0);
    double minimum = json_get_num(schema, "minimum", n);
    double maximum = json_get_num(schema, "maximum", n);
    struct buf *b = n < minimum || n > maximum ? problem(problems, path) : NULL;
    if (b) {
        buf_addf(b, "must be at %s %.15g, but is %.15g", n < minimum ? "least" : "most",
                 n < minimum ? minimum : maximum, n);
    }
}

static void check_array(const struct json *value, const struct json *schema,
                        const struct schema_path *path, struct schema_problems *problems)
{
    size_t len = 0;
    const struct json *items = json_get(schema, "items");
    for (const struct json *i = json_first(value); i; i = json_next(i), len++) {
        if (items) {
            struct schema_path at = {.parent = path, .index = len};
            schema_check(i, items, &at, problems);
        }
    }
    double minimum = json_get_num(schema, "minItems", 0);
    struct buf *b = (double)len < minimum ? problem(problems, path) : NULL;
    if (b) {
        buf_addf(b, "needs at least %.15g item%s, but has %zu", minimum,
                 minimum == 1 ? "" : "s", len);
    }
}

static void check_unknown(const struct json *value, const struct json *schema,
                          const struct schema_path *path,
                          struct schema_problems *problems)
{
    const struct json *properties = json_get(schema, "properties");
    if (json_get_bool(schema, "additionalProperties", true)) {
        return;
    }
    for (const struct json *i = json_first(value); i; i = json_next(i)) {
        if (json_get(properties, json_key(i))) {
            continue;
        }
        struct schema_path at = {.parent = path, .key = json_key(i)};
        struct buf *b = problem(problems, &at);
        if (b) {
            buf_adds(b, "unknown; the known ones here are ");
            report_list(b, json_first(properties), true);
        }
    }
}

static void check_object(const struct json *value, const struct json *schema,
                         const struct schema_path *path, struct schema_problems *problems)
{
    const struct json *properties = json_get(schema, "properties");
    const struct json *names = json_get(schema, "required");
    for (const struct json *n = json_first(names); n; n = json_next(n)) {
        if (!json_str(n) || json_get(value, json_str(n))) {
            continue;
        }
        struct schema_path at = {.parent = path, .key = json_str(n)};
        struct buf *b = problem(problems, &at);
        if (b) {
            buf_adds(b, "required, but missing");
        }
    }
    for (const struct json *p = json_first(properties); p; p = json_next(p)) {
        const struct json *child = json_get(value, json_key(p));
        if (child) {
            struct schema_path at = {.parent = path, .key = json_key(p)};
            schema_check(child, p, &at, problems);
        }
    }
    check_unknown(value, schema, path, problems);
}

static void check_union(const struct json *value, const struct json *schema,
                        const struct schema_path *path, struct schema_problems *problems)
{
    const struct json *members = json_get(schema, "anyOf");
    for (const struct json *m = json_first(members); m; m = json_next(m)) {
        if (fits(value, m)) {
            return;
        }
    }
    struct buf *b = members ? problem(problems, path) : NULL;
    if (b) {
        buf_adds(b, "fits none of the allowed forms: ");
        json_write(b, members);
    }
}

void schema_check(const struct json *value, const struct json *schema,
                  const struct schema_path *path, struct schema_problems *problems)
{
    if (!fits_type(value, schema)) {
        struct buf *b = problem(problems, path);
        if (b) {
            report_type(b, value, schema);
        }
        return;
    }
    check_union(value, schema, path, problems);
    check_enum(value, schema, path, problems);
    if (json_type(value) == JSON_NUMBER) {
        check_number(value, schema, path, problems);
    } else if (json_type(value) == JSON_ARRAY) {
        check_array(value, schema, path, problems);
    } else if (json_type(value) == JSON_OBJECT) {
        check_object(value, schema, path, problems);
    }
}
