#include "syntax/outline_rules.h"

#include <string.h>

static bool add_text(struct buf *out, TSNode node, struct sv text)
{
    struct sv name = parse_node_text(node, text);
    buf_addsv(out, name);
    return name.n > 0;
}

static TSNode first_named(TSNode node)
{
    return ts_node_named_child(node, 0);
}

// ---- names

static bool by_name(struct buf *out, TSNode node, struct sv text)
{
    TSNode name = parse_field(node, "name");
    return add_text(out, ts_node_is_null(name) ? parse_field(node, "property") : name,
                    text);
}

// A type that is defined here, not only mentioned.
static bool with_body(struct buf *out, TSNode node, struct sv text)
{
    return !ts_node_is_null(parse_field(node, "body")) && by_name(out, node, text);
}

static bool is_declarator(TSNode node)
{
    const char *type = ts_node_type(node);
    size_t n = strlen(type);
    return n >= 11 && strcmp(type + n - 11, "_declarator") == 0;
}

// Down to the name in the middle of C's "*(*name(int))[3]".
static TSNode declared(TSNode node)
{
    for (int depth = 0; depth < 20; depth++) {
        TSNode inner = parse_field(node, "declarator");
        if (ts_node_is_null(inner) && is_declarator(node)) {
            uint32_t n = ts_node_named_child_count(node);
            inner = n > 0 ? ts_node_named_child(node, n - 1) : inner;
        }
        if (ts_node_is_null(inner)) {
            break;
        }
        node = inner;
    }
    return node;
}

static bool by_declarator(struct buf *out, TSNode node, struct sv text)
{
    TSNode name = declared(node);
    return !ts_node_eq(name, node) && add_text(out, name, text);
}

static bool by_prototype(struct buf *out, TSNode node, struct sv text)
{
    TSNode inner = parse_field(node, "declarator");
    while (parse_is(inner, "pointer_declarator") ||
           parse_is(inner, "reference_declarator")) {
        TSNode next = parse_field(inner, "declarator");
        inner = ts_node_is_null(next) ? first_named(inner) : next;
    }
    return parse_is(inner, "function_declarator") && by_declarator(out, node, text);
}

// A macro after the declaration keeps the parser from seeing one.
static bool by_broken_prototype(struct buf *out, TSNode node, struct sv text)
{
    return parse_is(ts_node_parent(node), "ERROR") && by_declarator(out, node, text);
}

// "const f = () => ..." is a function with another face.
static bool by_function_value(struct buf *out, TSNode node, struct sv text)
{
    static const char *const types[] = {"arrow_function", "function_expression",
                                        "function", "generator_function", "class"};
    TSNode value = parse_field(node, "value");
    for (size_t i = 0; i < sizeof types / sizeof *types; i++) {
        if (parse_is(value, types[i])) {
            return by_name(out, node, text);
        }
    }
    return false;
}

// describe("what", () => ...) and the like.
static bool by_test_call(struct buf *out, TSNode node, struct sv text)
{
    static const char *const names[] = {"describe", "it", "test", "suite", "context"};
    struct sv function = parse_node_text(parse_field(node, "function"), text);
    TSNode arguments = parse_field(node, "arguments");
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        if (sv_eqs(function, names[i]) && !ts_node_is_null(arguments) &&
            parse_is(first_named(arguments), "string")) {
            buf_addsv(out, function);
            buf_addc(out, ' ');
            return add_text(out, first_named(arguments), text);
        }
    }
    return false;
}

static bool by_receiver(struct buf *out, TSNode node, struct sv text)
{
    TSNode receiver = parse_field(node, "receiver");
    if (!ts_node_is_null(receiver)) {
        add_text(out, receiver, text);
        buf_addc(out, ' ');
    }
    return by_name(out, node, text);
}

static bool by_impl(struct buf *out, TSNode node, struct sv text)
{
    TSNode trait = parse_field(node, "trait");
    if (!ts_node_is_null(trait)) {
        add_text(out, trait, text);
        buf_adds(out, " for ");
    }
    return add_text(out, parse_field(node, "type"), text);
}

static bool by_key(struct buf *out, TSNode node, struct sv text)
{
    return add_text(out, parse_field(node, "key"), text);
}

static bool by_first(struct buf *out, TSNode node, struct sv text)
{
    return ts_node_named_child_count(node) > 0 && add_text(out, first_named(node), text);
}

static bool by_heading(struct buf *out, TSNode node, struct sv text)
{
    TSNode heading = first_named(node);
    if (!parse_is(heading, "atx_heading") && !parse_is(heading, "setext_heading")) {
        return false;
    }
    struct sv line, rest = parse_node_text(heading, text);
    return sv_next_line(&rest, &line) && (buf_addsv(out, line), true);
}

// ---- rules

static const struct outline_rule c[] = {
    {"function_definition", "function", by_declarator, 0, false},
    {"struct_specifier", "struct", with_body, 2, false},
    {"union_specifier", "union", with_body, 2, false},
    {"enum_specifier", "enum", with_body, 2, false},
    {"type_definition", "typedef", by_declarator, 2, false},
    {"preproc_function_def", "macro", by_name, 0, false},
    {"declaration", "declaration", by_prototype, 0, true},
    {"function_declarator", "declaration", by_broken_prototype, 0, true},
    {0},
};

static const struct outline_rule cpp[] = {
    {"namespace_definition", "namespace", by_name, 0, false},
    {"class_specifier", "class", with_body, 2, false},
    {"concept_definition", "concept", by_name, 0, false},
    {"function_definition", "function", by_declarator, 0, false},
    {"struct_specifier", "struct", with_body, 2, false},
    {"union_specifier", "union", with_body, 2, false},
    {"enum_specifier", "enum", with_body, 2, false},
    {"type_definition", "typedef", by_declarator, 2, false},
    {"alias_declaration", "using", by_name, 2, false},
    {"preproc_function_def", "macro", by_name, 0, false},
    {"declaration", "declaration", by_prototype, 0, true},
    {"field_declaration", "declaration", by_prototype, 0, true},
    {"function_declarator", "declaration", by_broken_prototype, 0, true},
    {0},
};

static const struct outline_rule python[] = {
    {"class_definition", "class", by_name, 0, false},
    {"function_definition", "function", by_name, 0, false},
    {0},
};

// JavaScript and what grew from it.
static const struct outline_rule javascript[] = {
    {"class_declaration", "class", by_name, 0, false},
    {"abstract_class_declaration", "class", by_name, 0, false},
    {"interface_declaration", "interface", by_name, 0, false},
    {"enum_declaration", "enum", by_name, 0, false},
    {"type_alias_declaration", "type", by_name, 2, false},
    {"internal_module", "namespace", by_name, 0, false},
    {"module", "module", by_name, 0, false},
    {"function_declaration", "function", by_name, 0, false},
    {"generator_function_declaration", "function", by_name, 0, false},
    {"method_definition", "method", by_name, 0, false},
    {"variable_declarator", "function", by_function_value, 0, false},
    {"public_field_definition", "method", by_function_value, 0, false},
    {"field_definition", "method", by_function_value, 0, false},
    {"call_expression", "test", by_test_call, 2, false},
    {0},
};

static const struct outline_rule go[] = {
    {"function_declaration", "function", by_name, 0, false},
    {"method_declaration", "method", by_receiver, 0, false},
    {"type_spec", "type", by_name, 0, false},
    {0},
};

static const struct outline_rule rust[] = {
    {"mod_item", "module", with_body, 0, false},
    {"struct_item", "struct", by_name, 0, false},
    {"enum_item", "enum", by_name, 0, false},
    {"union_item", "union", by_name, 0, false},
    {"trait_item", "trait", by_name, 0, false},
    {"impl_item", "impl", by_impl, 0, false},
    {"function_item", "function", by_name, 0, false},
    {"function_signature_item", "function", by_name, 0, false},
    {"macro_definition", "macro", by_name, 0, false},
    {0},
};

static const struct outline_rule java[] = {
    {"class_declaration", "class", by_name, 0, false},
    {"interface_declaration", "interface", by_name, 0, false},
    {"enum_declaration", "enum", by_name, 0, false},
    {"record_declaration", "record", by_name, 0, false},
    {"annotation_type_declaration", "annotation", by_name, 0, false},
    {"constructor_declaration", "constructor", by_name, 0, false},
    {"method_declaration", "method", by_name, 0, false},
    {0},
};

static const struct outline_rule ruby[] = {
    {"module", "module", by_name, 0, false},
    {"class", "class", by_name, 0, false},
    {"method", "method", by_name, 0, false},
    {"singleton_method", "method", by_name, 0, false},
    {0},
};

static const struct outline_rule php[] = {
    {"namespace_definition", "namespace", by_name, 0, false},
    {"class_declaration", "class", by_name, 0, false},
    {"interface_declaration", "interface", by_name, 0, false},
    {"trait_declaration", "trait", by_name, 0, false},
    {"enum_declaration", "enum", by_name, 0, false},
    {"function_definition", "function", by_name, 0, false},
    {"method_declaration", "method", by_name, 0, false},
    {0},
};

static const struct outline_rule bash[] = {
    {"function_definition", "function", by_name, 0, false},
    {0},
};

static const struct outline_rule lua[] = {
    {"function_declaration", "function", by_name, 0, false},
    {0},
};

static const struct outline_rule css[] = {
    {"rule_set", "rule", by_first, 2, false},
    {"media_statement", "@media", by_first, 2, false},
    {"keyframes_statement", "@keyframes", by_first, 2, false},
    {0},
};

static const struct outline_rule json[] = {
    {"pair", "key", by_key, 2, false},
    {0},
};

static const struct outline_rule yaml[] = {
    {"block_mapping_pair", "key", by_key, 2, false},
    {0},
};

static const struct outline_rule toml[] = {
    {"table", "table", by_first, 0, false},
    {"table_array_element", "array", by_first, 0, false},
    {0},
};

static const struct outline_rule markdown[] = {
    {"section", "", by_heading, 0, false},
    {0},
};

const struct outline_rule *outline_rules(const char *language)
{
    static const struct {
        const char *language;
        const struct outline_rule *rules;
    } table[] = {
        {"bash", bash},
        {"c", c},
        {"cpp", cpp},
        {"css", css},
        {"go", go},
        {"java", java},
        {"javascript", javascript},
        {"json", json},
        {"lua", lua},
        {"markdown", markdown},
        {"php", php},
        {"python", python},
        {"ruby", ruby},
        {"rust", rust},
        {"toml", toml},
        {"tsx", javascript},
        {"typescript", javascript},
        {"yaml", yaml},
    };
    for (size_t i = 0; i < sizeof table / sizeof *table; i++) {
        if (strcmp(table[i].language, language) == 0) {
            return table[i].rules;
        }
    }
    return NULL;
}

bool outline_is_wrapper(const char *type)
{
    static const char *const types[] = {"decorated_definition", "export_statement",
                                        "template_declaration", "ambient_declaration",
                                        "lexical_declaration",  "expression_statement"};
    for (size_t i = 0; i < sizeof types / sizeof *types; i++) {
        if (strcmp(types[i], type) == 0) {
            return true;
        }
    }
    return false;
}
