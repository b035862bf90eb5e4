#include "mock_rules.h"

#include <string.h>

// OpenAI Chat Completions: parts, images, calls, results and tools.

static bool bad_part(const struct rule_request *r, struct buf *words)
{
    for (struct block_at at = {0}; block_next(r, &at);) {
        bool text = strcmp(at.type, "text") == 0 && json_get_str(at.block, "text");
        bool image = strcmp(at.type, "image_url") == 0 &&
                     json_get_str(json_get(at.block, "image_url"), "url");
        if (!text && !image) {
            return say(
                words,
                "Invalid value: '%s'. Supported values are: 'text', 'image_url', "
                "'input_audio', 'refusal', and 'file' - 'messages[%zu].content[%zu]'",
                at.type, at.m, at.b);
        }
    }
    return false;
}

static bool strange_in_part(const struct rule_request *r, struct buf *words)
{
    for (struct block_at at = {0}; block_next(r, &at);) {
        const char *key = strange_key(at.block, "type text image_url cache_control ");
        if (key) {
            return say(words, "Unknown parameter: 'messages[%zu].content[%zu].%s'.", at.m,
                       at.b, key);
        }
    }
    return false;
}

static bool image_of_tool(const struct rule_request *r, struct buf *words)
{
    for (struct block_at at = {0}; block_next(r, &at);) {
        if (strcmp(at.type, "image_url") == 0 && strcmp(at.role, "user") != 0) {
            return say(
                words,
                "Invalid 'messages[%zu]'. Image URLs are only allowed for messages "
                "with role 'user', but this message with role '%s' contains an "
                "image URL.",
                at.m, at.role);
        }
    }
    return false;
}

static const char *image_url(const struct block_at *at)
{
    return json_get_str(json_get(at->block, "image_url"), "url");
}

// The data of a data: URL whose type is a picture's; NULL when it is something else.
static const char *image_data(const char *url)
{
    static const char *const starts[] = {
        "data:image/png;base64,", "data:image/jpeg;base64,", "data:image/gif;base64,",
        "data:image/webp;base64,"};
    for (size_t i = 0; i < sizeof starts / sizeof *starts; i++) {
        if (strncmp(url, starts[i], strlen(starts[i])) == 0) {
            return url + strlen(starts[i]);
        }
    }
    return NULL;
}

static bool bad_image(const struct rule_request *r, struct buf *words)
{
    for (struct block_at at = {0}; block_next(r, &at);) {
        const char *url = image_url(&at);
        const char *data = url ? image_data(url) : NULL;
        if (url && (!data || !is_base64(data) || !image_type(data))) {
            return say(
                words,
                "You uploaded an unsupported image. Please make sure your image has "
                "of one the following formats: ['png', 'jpeg', 'gif', 'webp'].");
        }
    }
    return false;
}

static bool false_image(const struct rule_request *r, struct buf *words)
{
    for (struct block_at at = {0}; block_next(r, &at);) {
        const char *url = image_url(&at);
        const char *data = url ? image_data(url) : NULL;
        const char *type = data ? image_type(data) : NULL;
        if (type && strncmp(url + 5, type, strlen(type)) != 0) {
            return say(words, "Invalid image: the data of messages[%zu] is %s", at.m,
                       type);
        }
    }
    return false;
}

/* -- calls -- */

static const struct json *calls_of(const struct json *message)
{
    const struct json *calls = json_get(message, "tool_calls");
    return json_type(calls) == JSON_ARRAY ? json_first(calls) : NULL;
}

// Walks the calls of all messages.
struct call_at {
    struct message_at in;
    const struct json *call;
    size_t c;
};

static bool call_next(const struct rule_request *r, struct call_at *at)
{
    at->call = json_next(at->call);
    at->c++;
    while (!at->call) {
        if (!message_next(r, &at->in)) {
            return false;
        }
        at->call = calls_of(at->in.message);
        at->c = 0;
    }
    return true;
}

static bool empty_calls(const struct rule_request *r, struct buf *words)
{
    for (struct message_at at = {0}; message_next(r, &at);) {
        if (json_get(at.message, "tool_calls") && !calls_of(at.message)) {
            return say(
                words,
                "Invalid 'messages[%zu].tool_calls': empty array. Expected an array "
                "with minimum length 1, but got an empty array instead.",
                at.m);
        }
    }
    return false;
}

static bool bad_call_type(const struct rule_request *r, struct buf *words)
{
    for (struct call_at at = {0}; call_next(r, &at);) {
        if (!is_type(at.call, "function")) {
            return say(
                words,
                "Missing required parameter: 'messages[%zu].tool_calls[%zu].type'.",
                at.in.m, at.c);
        }
    }
    return false;
}

static bool strange_in_call(const struct rule_request *r, struct buf *words)
{
    for (struct call_at at = {0}; call_next(r, &at);) {
        const char *key = strange_key(at.call, "id type function extra_content ");
        if (key) {
            return say(words, "Unknown parameter: 'messages[%zu].tool_calls[%zu].%s'.",
                       at.in.m, at.c, key);
        }
    }
    return false;
}

static bool no_call_id(const struct rule_request *r, struct buf *words)
{
    for (struct call_at at = {0}; call_next(r, &at);) {
        const char *id = json_get_str(at.call, "id");
        if (!id || !*id) {
            return say(words,
                       "Missing required parameter: 'messages[%zu].tool_calls[%zu].id'.",
                       at.in.m, at.c);
        }
    }
    return false;
}

static bool long_call_id(const struct rule_request *r, struct buf *words)
{
    for (struct call_at at = {0}; call_next(r, &at);) {
        const char *id = json_get_str(at.call, "id");
        if (id && strlen(id) > 40) {
            return say(words,
                       "Invalid 'messages[%zu].tool_calls[%zu].id': string too long. "
                       "Expected a string with maximum length 40, but got a string with "
                       "length %zu instead.",
                       at.in.m, at.c, strlen(id));
        }
    }
    return false;
}

static bool mistral_call_id(const struct rule_request *r, struct buf *words)
{
    for (struct call_at at = {0}; call_next(r, &at);) {
        const char *id = json_get_str(at.call, "id");
        if (id && (!is_name(id, 9) || strlen(id) != 9 || strpbrk(id, "-_"))) {
            return say(
                words,
                "Tool call id was %s but must be a-z, A-Z, 0-9, with a length of 9.", id);
        }
    }
    return false;
}

static bool bad_call_name(const struct rule_request *r, struct buf *words)
{
    for (struct call_at at = {0}; call_next(r, &at);) {
        const char *name = json_get_str(json_get(at.call, "function"), "name");
        if (!name || !is_name(name, 64)) {
            return say(
                words,
                "Invalid 'messages[%zu].tool_calls[%zu].function.name': string does "
                "not match pattern. Expected a string that matches the pattern "
                "'^[a-zA-Z0-9_-]+$'.",
                at.in.m, at.c);
        }
    }
    return false;
}

static bool bad_arguments(const struct rule_request *r, struct buf *words)
{
    for (struct call_at at = {0}; call_next(r, &at);) {
        const char *text = json_get_str(json_get(at.call, "function"), "arguments");
        struct json *parsed = NULL;
        bool object = text && json_parse(&parsed, sv_of(text), NULL, NULL) == PI_OK &&
                      json_type(parsed) == JSON_OBJECT;
        json_destroy(parsed);
        if (!object) {
            return say(words, "Failed to parse tool call arguments as JSON");
        }
    }
    return false;
}

static bool id_twice(const struct rule_request *r, struct buf *words)
{
    struct json *seen = json_new_object();
    bool twice = false;
    for (struct call_at at = {0}; call_next(r, &at);) {
        const char *id = json_get_str(at.call, "id");
        twice |= id && json_get(seen, id);
        if (id) {
            json_set_bool(seen, id, true);
        }
    }
    json_destroy(seen);
    return twice && say(words, "Duplicate value for 'tool_call_id'");
}

/* -- results -- */

static bool is_tool(const struct json *message)
{
    const char *role = json_get_str(message, "role");
    return role && strcmp(role, "tool") == 0;
}

// The number of tool messages for id from message on, up to one of another role.
static size_t results_for(const struct json *message, const char *id)
{
    size_t n = 0;
    for (; is_tool(message); message = json_next(message)) {
        const char *of = json_get_str(message, "tool_call_id");
        n += of && strcmp(of, id) == 0;
    }
    return n;
}

static bool call_without_result(const struct rule_request *r, struct buf *words)
{
    for (struct call_at at = {0}; call_next(r, &at);) {
        const char *id = json_get_str(at.call, "id");
        if (id && results_for(at.in.next, id) == 0) {
            return say(words,
                       "An assistant message with 'tool_calls' must be followed by tool "
                       "messages responding to each 'tool_call_id'. The following "
                       "tool_call_ids did not have response messages: %s",
                       id);
        }
    }
    return false;
}

static bool two_results(const struct rule_request *r, struct buf *words)
{
    for (struct call_at at = {0}; call_next(r, &at);) {
        const char *id = json_get_str(at.call, "id");
        if (id && results_for(at.in.next, id) > 1) {
            return say(words, "Duplicate tool messages for tool_call_id %s", id);
        }
    }
    return false;
}

static bool result_without_call(const struct rule_request *r, struct buf *words)
{
    const struct json *calls = NULL; // of the assistant message before
    for (struct message_at at = {0}; message_next(r, &at);) {
        if (!is_tool(at.message)) {
            calls = calls_of(at.message);
            continue;
        }
        const char *of = json_get_str(at.message, "tool_call_id");
        bool found = false;
        for (const struct json *c = calls; c; c = json_next(c)) {
            const char *id = json_get_str(c, "id");
            found |= id && of && strcmp(id, of) == 0;
        }
        if (!found) {
            return say(
                words,
                "Invalid parameter: messages with role 'tool' must be a response to "
                "a preceeding message with 'tool_calls': messages[%zu]",
                at.m);
        }
    }
    return false;
}

static bool parts_of_tool(const struct rule_request *r, struct buf *words)
{
    for (struct message_at at = {0}; message_next(r, &at);) {
        if (is_tool(at.message) &&
            json_type(json_get(at.message, "content")) == JSON_ARRAY) {
            return say(words, "messages[%zu].content: can only be a string", at.m);
        }
    }
    return false;
}

/* -- tools -- */

static bool empty_tools(const struct rule_request *r, struct buf *words)
{
    const struct json *tools = json_get(r->body, "tools");
    return tools && !json_first(tools) &&
           say(words,
               "Invalid 'tools': empty array. Expected an array with minimum length "
               "1, but got an empty array instead.");
}

static bool bad_tool(const struct rule_request *r, struct buf *words)
{
    size_t i = 0;
    const struct json *tools = json_get(r->body, "tools");
    for (const struct json *j = json_first(tools); j; j = json_next(j), i++) {
        const char *name = json_get_str(json_get(j, "function"), "name");
        if (!is_type(j, "function") || !name || !is_name(name, 64)) {
            return say(words,
                       "Invalid 'tools[%zu].function.name': string does not match "
                       "pattern '^[a-zA-Z0-9_-]+$'.",
                       i);
        }
    }
    return false;
}

static bool bad_schema(const struct rule_request *r, struct buf *words)
{
    const struct json *tools = json_get(r->body, "tools");
    for (const struct json *j = json_first(tools); j; j = json_next(j)) {
        const struct json *schema = json_get(json_get(j, "function"), "parameters");
        if (json_type(json_get(j, "function")) == JSON_OBJECT &&
            (!is_type(schema, "object") ||
             json_type(json_get(schema, "properties")) != JSON_OBJECT)) {
            return say(words,
                       "Invalid schema for function: schema must be a JSON Schema of "
                       "'type: \"object\"' with 'properties'");
        }
    }
    return false;
}

static bool strict_tool(const struct rule_request *r, struct buf *words)
{
    const struct json *tools = json_get(r->body, "tools");
    for (const struct json *j = json_first(tools); j; j = json_next(j)) {
        if (json_get(json_get(j, "function"), "strict")) {
            return say(words, "Unrecognized key(s) in object: 'strict'");
        }
    }
    return false;
}

static bool choice_without_tools(const struct rule_request *r, struct buf *words)
{
    return json_get(r->body, "tool_choice") && !json_get(r->body, "tools") &&
           say(words,
               "Invalid value for 'tool_choice': 'tool_choice' is only allowed when "
               "'tools' are specified.");
}

#define HI "{'role':'user','content':'hi'}"
#define PARTS(LIST) "{'role':'user','content':[" LIST "]}"
#define IMAGE(TYPE, DATA)                                                                \
    "{'type':'image_url','image_url':{'url':'data:" TYPE ";base64," DATA "'}}"
#define GIF "R0lGODlhAQABAAAA"
#define ASKS(CALLS) "{'role':'assistant','content':null,'tool_calls':[" CALLS "]}"
#define CALL_OF(ID, NAME, ARGUMENTS)                                                     \
    "{'id':'" ID "','type':'function','function':{'name':'" NAME                         \
    "','arguments':'" ARGUMENTS "'}}"
#define CALL(ID) CALL_OF(ID, "a", "{}")
#define RESULT(ID) "{'role':'tool','tool_call_id':'" ID "','content':'x'}"
#define MESSAGES(LIST) "{'messages':[" LIST "]}"
#define FORTY_ONE "0123456789012345678901234567890123456789x"
#define TOOL(REST) "{'tools':[{'type':'function','function':{" REST "}}]}"
#define SCHEMA "'parameters':{'type':'object','properties':{}}"

static const char *const good[] = {
    "{'model':'m','stream':true,'messages':[" HI "]}",
    MESSAGES(PARTS("{'type':'text','text':'a'}," IMAGE("image/gif", GIF))),
    MESSAGES(HI "," ASKS(CALL("t1") "," CALL("t2")) "," RESULT("t2") "," RESULT(
        "t1") "," PARTS(IMAGE("image/gif", GIF))),
    TOOL("'name':'a','description':'d'," SCHEMA),
};

static const struct rule rules[] = {
    {"part-unknown", NULL, 400, MESSAGES(PARTS("{'type':'image','text':'a'}")), bad_part},
    {"unknown-in-part", NULL, 400,
     MESSAGES(PARTS("{'type':'text','text':'a','textSignature':'s'}")), strange_in_part},
    {"image-of-tool", NULL, 400,
     MESSAGES(HI "," ASKS(CALL("abcdefgh1")) ",{'role':'tool','tool_call_id':'abcdefgh1',"
                                             "'content':[" IMAGE("image/gif", GIF) "]}"),
     image_of_tool},
    {"image-unsupported", NULL, 400, MESSAGES(PARTS(IMAGE("application/pdf", GIF))),
     bad_image},
    {"image-type-false", NULL, 400, MESSAGES(PARTS(IMAGE("image/png", GIF))),
     false_image},

    {"calls-empty", NULL, 400, MESSAGES(HI "," ASKS("") "," HI), empty_calls},
    {"call-type", NULL, 400,
     MESSAGES(HI "," ASKS(
         "{'id':'t','function':{'name':'a','arguments':'{}'}}") "," RESULT("t")),
     bad_call_type},
    {"unknown-in-call", NULL, 400,
     MESSAGES(HI "," ASKS("{'id':'t','type':'function','index':0,'function':{'name':'a',"
                          "'arguments':'{}'}}") "," RESULT("t")),
     strange_in_call},
    {"call-id-missing", NULL, 400,
     MESSAGES(HI "," ASKS(
         "{'type':'function','function':{'name':'a','arguments':'{}'}}") "," HI),
     no_call_id},
    {"call-id-long", NULL, 400,
     MESSAGES(HI "," ASKS(CALL(FORTY_ONE)) "," RESULT(FORTY_ONE)), long_call_id},
    {"call-id-mistral", "mistral", 400,
     MESSAGES(HI "," ASKS(CALL("call_1234")) "," RESULT("call_1234")), mistral_call_id},
    {"call-name", NULL, 400,
     MESSAGES(HI "," ASKS(CALL_OF("t", "a.b", "{}")) "," RESULT("t")), bad_call_name},
    {"call-arguments", NULL, 500,
     MESSAGES(HI "," ASKS(CALL_OF("t", "a", "{")) "," RESULT("t")), bad_arguments},
    {"call-id-twice", NULL, 400,
     MESSAGES(HI "," ASKS(CALL("t")) "," RESULT("t") "," ASKS(CALL("t")) "," RESULT("t")),
     id_twice},

    {"call-without-result", NULL, 400,
     MESSAGES(HI "," ASKS(CALL("t") "," CALL("u")) "," RESULT("t") "," HI),
     call_without_result},
    {"two-results", NULL, 400,
     MESSAGES(HI "," ASKS(CALL("t")) "," RESULT("t") "," RESULT("t")), two_results},
    {"result-without-call", NULL, 400, MESSAGES(HI "," RESULT("t")), result_without_call},
    {"parts-of-tool", "compatible", 400,
     MESSAGES(HI "," ASKS(CALL("t")) ",{'role':'tool','tool_call_id':'t','content':["
                                     "{'type':'text','text':'a'}]}"),
     parts_of_tool},

    {"tools-empty", NULL, 400, "{'tools':[]}", empty_tools},
    {"tool-name", NULL, 400, TOOL("'name':'a.b'," SCHEMA), bad_tool},
    {"tool-schema", NULL, 400, TOOL("'name':'a','parameters':{'type':'object'}"),
     bad_schema},
    {"tool-strict", "compatible", 400, TOOL("'name':'a','strict':false," SCHEMA),
     strict_tool},
    {"choice-without-tools", NULL, 400, "{'tool_choice':'auto'}", choice_without_tools},
};

const struct rule_table rules_chat_content = {
    "openai-completions",       rules, sizeof rules / sizeof *rules, good,
    sizeof good / sizeof *good,
};
