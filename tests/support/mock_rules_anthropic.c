#include "mock_rules.h"

#include <string.h>

// Anthropic Messages: the request, its messages, calls and results, with the words of the
// real server as far as they are known. A check walks the whole request itself and
// reports the first place.

static const char *header(const struct rule_request *r, const char *name)
{
    return json_get_str(r->headers, name);
}

static bool no_version(const struct rule_request *r, struct buf *words)
{
    return !header(r, "anthropic-version") &&
           say(words, "anthropic-version: header is required");
}

static bool no_key(const struct rule_request *r, struct buf *words)
{
    bool sent = header(r, "x-api-key") || header(r, "authorization");
    return !sent && !r->keyless && say(words, "x-api-key header is required");
}

static bool no_content_type(const struct rule_request *r, struct buf *words)
{
    const char *type = header(r, "content-type");
    return (!type || strncmp(type, "application/json", 16) != 0) &&
           say(words, "Content-Type must be application/json");
}

static bool no_json(const struct rule_request *r, struct buf *words)
{
    return json_type(r->body) != JSON_OBJECT &&
           say(words, "The request body is not valid JSON");
}

static bool half_character(const struct rule_request *r, struct buf *words)
{
    return (r->repairs & JSON_HAD_SURROGATE) &&
           say(words, "The request body is not valid JSON: no low surrogate in string");
}

static bool bad_utf8(const struct rule_request *r, struct buf *words)
{
    return (r->repairs & JSON_HAD_BAD_UTF8) &&
           say(words, "The request body is not valid JSON: invalid UTF-8");
}

static bool too_large(const struct rule_request *r, struct buf *words)
{
    return r->raw.n > 32u * 1024 * 1024 &&
           say(words, "Request exceeds the maximum size of 32 MB");
}

static bool strange_member(const struct rule_request *r, struct buf *words)
{
    const char *key = strange_key(
        r->body, "model max_tokens messages system tools tool_choice stream temperature "
                 "top_p top_k stop_sequences metadata thinking output_config "
                 "service_tier container context_management cache_control ");
    return key && say(words, "%s: Extra inputs are not permitted", key);
}

static bool no_model(const struct rule_request *r, struct buf *words)
{
    const char *model = json_get_str(r->body, "model");
    return r->body && (!model || is_blank(model)) && say(words, "model: Field required");
}

static bool no_max_tokens(const struct rule_request *r, struct buf *words)
{
    double n = json_get_num(r->body, "max_tokens", 0);
    return r->body && n < 1 &&
           say(words, "max_tokens: Input should be greater than or equal to 1");
}

static bool many_max_tokens(const struct rule_request *r, struct buf *words)
{
    double n = json_get_num(r->body, "max_tokens", 0);
    return n > 128000 && say(words,
                             "max_tokens: %.0f > 128000, which is the maximum allowed "
                             "number of output tokens for %s",
                             n, json_get_str(r->body, "model"));
}

static bool bad_temperature(const struct rule_request *r, struct buf *words)
{
    double t = json_get_num(r->body, "temperature", 1);
    return (t < 0 || t > 1) && say(words, "temperature: Input should be between 0 and 1");
}

/* -- messages -- */

static bool no_messages(const struct rule_request *r, struct buf *words)
{
    const struct json *list = json_get(r->body, "messages");
    return r->body && (json_type(list) != JSON_ARRAY || !json_first(list)) &&
           say(words, "messages: at least one message is required");
}

static bool bad_role(const struct rule_request *r, struct buf *words)
{
    for (struct message_at at = {0}; message_next(r, &at);) {
        if (strcmp(at.role, "user") != 0 && strcmp(at.role, "assistant") != 0) {
            return say(words, "messages.%zu.role: Input should be 'user' or 'assistant'",
                       at.m);
        }
    }
    return false;
}

static bool bad_start(const struct rule_request *r, struct buf *words)
{
    struct message_at at = {0};
    return message_next(r, &at) && strcmp(at.role, "assistant") == 0 &&
           say(words, "messages: first message must use the \"user\" role");
}

// A paused turn is the exception: it goes on from what the assistant said.
static bool bad_end(const struct rule_request *r, struct buf *words)
{
    struct message_at at = {0};
    const struct json *last = NULL;
    const char *role = "";
    while (message_next(r, &at)) {
        last = at.message;
        role = at.role;
    }
    if (!last || strcmp(role, "assistant") != 0) {
        return false;
    }
    for (const struct json *j = json_first(r->issued); j; j = json_next(j)) {
        if (!json_next(j) && json_same(j, json_get(last, "content"))) {
            return false;
        }
    }
    return say(words, "This model does not support assistant message prefill. The "
                      "conversation must end with a user message.");
}

static bool no_alternation(const struct rule_request *r, struct buf *words)
{
    for (struct message_at at = {0}; message_next(r, &at);) {
        const char *before = json_get_str(at.previous, "role");
        if (before && strcmp(before, at.role) == 0) {
            return say(words,
                       "messages.%zu: roles must alternate between \"user\" and "
                       "\"assistant\", but found two \"%s\" in a row",
                       at.m, at.role);
        }
    }
    return false;
}

static bool strange_in_message(const struct rule_request *r, struct buf *words)
{
    for (struct message_at at = {0}; message_next(r, &at);) {
        const char *key = strange_key(at.message, "role content ");
        if (key) {
            return say(words, "messages.%zu.%s: Extra inputs are not permitted", at.m,
                       key);
        }
    }
    return false;
}

static bool empty_message(const struct rule_request *r, struct buf *words)
{
    for (struct message_at at = {0}; message_next(r, &at);) {
        const struct json *content = json_get(at.message, "content");
        const char *text = json_str(content);
        bool filled = text ? *text != '\0' : json_first(content) != NULL;
        if (!filled) {
            return say(words,
                       "messages.%zu: all messages must have non-empty content "
                       "except for the optional final assistant message",
                       at.m);
        }
    }
    return false;
}

/* -- blocks -- */

static bool unknown_block(const struct rule_request *r, struct buf *words)
{
    static const char *const known[2] = {
        "text image tool_use tool_result thinking redacted_thinking document ",
        "text image document search_result ",
    };
    for (struct block_at at = {0}; block_next(r, &at);) {
        struct json *type = json_new_object();
        json_set_bool(type, at.type, true);
        bool strange = strange_key(type, known[at.inner]) != NULL;
        json_destroy(type);
        if (strange) {
            return say(words,
                       "messages.%zu.content.%zu: Input tag '%s' found using "
                       "'type' does not match any of the expected tags",
                       at.m, at.b, at.type);
        }
    }
    return false;
}

static bool block_of_other_role(const struct rule_request *r, struct buf *words)
{
    for (struct block_at at = {0}; block_next(r, &at);) {
        bool user = strcmp(at.role, "user") == 0;
        bool users = strcmp(at.type, "tool_result") == 0 || strcmp(at.type, "image") == 0;
        bool models = strcmp(at.type, "tool_use") == 0 || strstr(at.type, "thinking");
        if (user ? models : users) {
            return say(words, "messages.%zu: `%s` blocks can only be in `%s` messages",
                       at.m, at.type, user ? "assistant" : "user");
        }
    }
    return false;
}

static bool strange_in_block(const struct rule_request *r, struct buf *words)
{
    static const struct {
        const char *type, *keys;
    } known[] = {
        {"text", "type text cache_control citations "},
        {"image", "type source cache_control "},
        {"tool_use", "type id name input cache_control caller "},
        {"tool_result", "type tool_use_id content is_error cache_control "},
        {"thinking", "type thinking signature "},
        {"redacted_thinking", "type data "},
    };
    for (struct block_at at = {0}; block_next(r, &at);) {
        for (size_t i = 0; i < sizeof known / sizeof *known; i++) {
            const char *key = strcmp(known[i].type, at.type) == 0
                                  ? strange_key(at.block, known[i].keys)
                                  : NULL;
            if (key) {
                return say(words,
                           "messages.%zu.content.%zu.%s.%s: Extra inputs are not "
                           "permitted",
                           at.m, at.b, at.type, key);
            }
        }
    }
    return false;
}

static bool blank_text_at(const struct rule_request *r, bool inner, struct buf *words)
{
    for (struct block_at at = {0}; block_next(r, &at);) {
        const char *text = json_get_str(at.block, "text");
        if (at.inner == inner && strcmp(at.type, "text") == 0 &&
            (!text || is_blank(text))) {
            return say(words, text && *text
                                  ? "messages: text content blocks must contain "
                                    "non-whitespace text"
                                  : "messages: text content blocks must be non-empty");
        }
    }
    return false;
}

static bool blank_text(const struct rule_request *r, struct buf *words)
{
    return blank_text_at(r, false, words);
}

static bool blank_text_in_result(const struct rule_request *r, struct buf *words)
{
    return blank_text_at(r, true, words);
}

static bool blank_system(const struct rule_request *r, struct buf *words)
{
    const struct json *system = json_get(r->body, "system");
    if (json_type(system) == JSON_NONE || is_string(system)) {
        return false;
    }
    for (const struct json *j = json_first(system); j; j = json_next(j)) {
        const char *text = json_get_str(j, "text");
        if (!is_type(j, "text") || !text || is_blank(text)) {
            return say(words, "system: text content blocks must be non-empty");
        }
    }
    return json_type(system) != JSON_ARRAY &&
           say(words, "system: Input should be a valid list");
}

/* -- calls and results -- */

static bool bad_call_id(const struct rule_request *r, struct buf *words)
{
    for (struct block_at at = {0}; block_next(r, &at);) {
        const char *id = json_get_str(at.block, "id");
        if (strcmp(at.type, "tool_use") == 0 && (!id || !is_name(id, 256))) {
            return say(words,
                       "messages.%zu.content.%zu.tool_use.id: String should match "
                       "pattern '^[a-zA-Z0-9_-]+$'",
                       at.m, at.b);
        }
    }
    return false;
}

static bool bad_call_name(const struct rule_request *r, struct buf *words)
{
    for (struct block_at at = {0}; block_next(r, &at);) {
        const char *name = json_get_str(at.block, "name");
        if (strcmp(at.type, "tool_use") == 0 && (!name || !is_name(name, 128))) {
            return say(words,
                       "messages.%zu.content.%zu.tool_use.name: String should match "
                       "pattern '^[a-zA-Z0-9_-]{1,128}$'",
                       at.m, at.b);
        }
    }
    return false;
}

static bool bad_input(const struct rule_request *r, struct buf *words)
{
    for (struct block_at at = {0}; block_next(r, &at);) {
        if (strcmp(at.type, "tool_use") == 0 &&
            json_type(json_get(at.block, "input")) != JSON_OBJECT) {
            return say(words,
                       "messages.%zu.content.%zu.tool_use.input: Input should be a valid "
                       "dictionary",
                       at.m, at.b);
        }
    }
    return false;
}

static bool id_twice(const struct rule_request *r, struct buf *words)
{
    struct json *seen = json_new_object();
    const char *twice = NULL;
    for (struct block_at at = {0}; !twice && block_next(r, &at);) {
        const char *id =
            strcmp(at.type, "tool_use") == 0 ? json_get_str(at.block, "id") : NULL;
        twice = id && json_get(seen, id) ? id : NULL;
        if (id) {
            json_set_bool(seen, id, true);
        }
    }
    json_destroy(seen);
    return twice && say(words, "messages: `tool_use` ids must be unique");
}

// The number of results for id in a message; only those before any other block on
// request.
static size_t results_for(const struct json *message, const char *id, bool leading)
{
    size_t n = 0;
    for (const struct json *j = blocks_of(message); j; j = json_next(j)) {
        const char *for_id = json_get_str(j, "tool_use_id");
        if (!is_type(j, "tool_result") && leading) {
            break;
        }
        n += is_type(j, "tool_result") && for_id && strcmp(for_id, id) == 0;
    }
    return n;
}

static bool missing_result(const struct rule_request *r, bool late, struct buf *words)
{
    for (struct message_at at = {0}; message_next(r, &at);) {
        for (const struct json *j = blocks_of(at.message); j; j = json_next(j)) {
            const char *id = is_type(j, "tool_use") ? json_get_str(j, "id") : NULL;
            bool missing = id && at.next && results_for(at.next, id, true) == 0;
            if (missing && late == (results_for(at.next, id, false) > 0)) {
                return say(words,
                           "messages.%zu: `tool_use` ids were found without "
                           "`tool_result` blocks immediately after: %s. Each `tool_use` "
                           "block must have a corresponding `tool_result` block in the "
                           "next message.",
                           at.m, id);
            }
        }
    }
    return false;
}

static bool call_without_result(const struct rule_request *r, struct buf *words)
{
    return missing_result(r, false, words);
}

static bool late_result(const struct rule_request *r, struct buf *words)
{
    return missing_result(r, true, words);
}

static bool content_after_call(const struct rule_request *r, struct buf *words)
{
    for (struct message_at at = {0}; message_next(r, &at);) {
        const char *call = NULL;
        for (const struct json *j = blocks_of(at.message); j; j = json_next(j)) {
            if (call && !is_type(j, "tool_use")) {
                return say(words,
                           "messages.%zu: `tool_use` ids were found without "
                           "`tool_result` blocks immediately after: %s",
                           at.m, call);
            }
            call = is_type(j, "tool_use") ? json_get_str(j, "id") : call;
        }
    }
    return false;
}

static bool result_without_call(const struct rule_request *r, struct buf *words)
{
    for (struct message_at at = {0}; message_next(r, &at);) {
        for (const struct json *j = blocks_of(at.message); j; j = json_next(j)) {
            const char *id =
                is_type(j, "tool_result") ? json_get_str(j, "tool_use_id") : NULL;
            bool found = !is_type(j, "tool_result");
            for (const struct json *c = blocks_of(at.previous); c; c = json_next(c)) {
                const char *of = json_get_str(c, "id");
                found |= is_type(c, "tool_use") && id && of && strcmp(id, of) == 0;
            }
            if (!found) {
                return say(words,
                           "messages.%zu: unexpected `tool_use_id` found in "
                           "`tool_result` blocks: %s. Each `tool_result` block must have "
                           "a corresponding `tool_use` block in the previous message.",
                           at.m, id ? id : "");
            }
        }
    }
    return false;
}

static bool two_results(const struct rule_request *r, struct buf *words)
{
    for (struct message_at at = {0}; message_next(r, &at);) {
        for (const struct json *j = blocks_of(at.message); j; j = json_next(j)) {
            const char *id = json_get_str(j, "tool_use_id");
            if (id && results_for(at.message, id, false) > 1) {
                return say(words,
                           "messages.%zu: each tool_use must have a single result. Found "
                           "multiple `tool_result` blocks with id: %s",
                           at.m, id);
            }
        }
    }
    return false;
}

static bool image_in_error(const struct rule_request *r, struct buf *words)
{
    for (struct block_at at = {0}; block_next(r, &at);) {
        if (at.inner && strcmp(at.type, "text") != 0 &&
            json_get_bool(at.outer, "is_error", false)) {
            return say(words,
                       "messages.%zu.content.%zu.tool_result: all content must be "
                       "type \"text\" if \"is_error\" is true",
                       at.m, at.b);
        }
    }
    return false;
}

static bool calls_without_tools(const struct rule_request *r, struct buf *words)
{
    bool tools = json_first(json_get(r->body, "tools")) != NULL;
    for (struct block_at at = {0}; !tools && block_next(r, &at);) {
        if (strncmp(at.type, "tool_", 5) == 0) {
            return say(words, "Requests which include `tool_use` or `tool_result` blocks "
                              "must define tools");
        }
    }
    return false;
}

#define HI "{'role':'user','content':'hi'}"
#define SAYS(BLOCKS) "{'role':'assistant','content':[" BLOCKS "]}"
#define TELLS(BLOCKS) "{'role':'user','content':[" BLOCKS "]}"
#define CALL(ID) "{'type':'tool_use','id':'" ID "','name':'read','input':{}}"
#define RESULT(ID) "{'type':'tool_result','tool_use_id':'" ID "','content':'x'}"
#define TEXT(T) "{'type':'text','text':'" T "'}"
#define MESSAGES(LIST) "{'messages':[" LIST "]}"
#define RAW(TEXT)                                                                        \
    "{`model`:`m`,`max_tokens`:9,`messages`:[{`role`:`user`,`content`:`" TEXT "`}]}"

static const char *const good[] = {
    "{'model':'m','max_tokens':1000,'stream':true,'messages':[" HI "],"
    "'tools':[{'name':'read','description':'d','input_schema':{'type':'object'}}]}",
    "{'system':[{'type':'text','text':'s','cache_control':{'type':'ephemeral'}}],"
    "'temperature':1}",
    "{'system':'s','stream':false}",
    MESSAGES(HI "," SAYS(TEXT("a") "," CALL("t-1") "," CALL("t_2")) "," TELLS(
        RESULT("t-1") "," RESULT("t_2") "," TEXT(
            "and")) "," SAYS(CALL("t3")) "," TELLS("{'type':'tool_result','tool_use_id':'"
                                                   "t3','content':[" TEXT("x") "],'is_"
                                                                               "error':"
                                                                               "true}")),
    // A turn that was paused goes on without a message of the user.
    "{'$issued':[[" TEXT("so far") "]],'messages':[" HI "," SAYS(TEXT("so far")) "]}",
};

static const struct rule rules[] = {
    {"version-missing", NULL, 400, "{'$headers':{'anthropic-version':null}}", no_version},
    {"key-missing", NULL, 401, "{'$headers':{'x-api-key':null,'authorization':null}}",
     no_key},
    {"content-type", NULL, 400, "{'$headers':{'content-type':'text/plain'}}",
     no_content_type},
    {"not-json", NULL, 400, "{'$raw':'{'}", no_json},
    {"half-surrogate", NULL, 400, "{'$raw':'" RAW("\\\\ud83d") "'}", half_character},
    {"bad-utf8", NULL, 400, "{'$raw':'" RAW("~") "'}", bad_utf8},
    {"too-large", NULL, 413, "{'$pad':33554433}", too_large},
    {"unknown-member", NULL, 400, "{'max_completion_tokens':5}", strange_member},
    {"model-missing", NULL, 400, "{'model':null}", no_model},
    {"max-tokens-missing", NULL, 400, "{'max_tokens':null}", no_max_tokens},
    {"max-tokens-too-many", NULL, 400, "{'max_tokens':128001}", many_max_tokens},
    {"temperature", NULL, 400, "{'temperature':1.5}", bad_temperature},

    {"messages-missing", NULL, 400, "{'messages':[]}", no_messages},
    {"role", NULL, 400, MESSAGES("{'role':'system','content':'s'}," HI), bad_role},
    {"assistant-first", NULL, 400, MESSAGES(SAYS(TEXT("a")) "," HI), bad_start},
    {"assistant-last", NULL, 400, MESSAGES(HI "," SAYS(TEXT("a"))), bad_end},
    {"roles-in-a-row", NULL, 400, MESSAGES(HI "," HI), no_alternation},
    {"unknown-in-message", NULL, 400, MESSAGES("{'role':'user','content':'a','id':1}"),
     strange_in_message},
    {"message-empty", NULL, 400, MESSAGES("{'role':'user','content':[]}"), empty_message},
    {"block-unknown", NULL, 400, MESSAGES(TELLS("{'type':'input_text','text':'a'}")),
     unknown_block},
    {"block-of-other-role", NULL, 400,
     MESSAGES(HI "," SAYS("{'type':'image','source':{'type':'base64','media_type':"
                          "'image/gif','data':'R0lGODlhAQABAAAA'}}") "," HI),
     block_of_other_role},
    {"unknown-in-block", NULL, 400,
     MESSAGES(TELLS("{'type':'text','text':'a','textSignature':'s'}")), strange_in_block},
    {"text-blank", NULL, 400, MESSAGES(TELLS(TEXT(" \\n"))), blank_text},
    {"text-blank-in-result", NULL, 400,
     MESSAGES(HI "," SAYS(CALL("t")) "," TELLS("{'type':'tool_result','tool_use_id':'t',"
                                               "'content':[" TEXT("") "]}")),
     blank_text_in_result},
    {"system-blank", NULL, 400, "{'system':[" TEXT("") "]}", blank_system},

    {"call-id", NULL, 400, MESSAGES(HI "," SAYS(CALL("a|b")) "," TELLS(RESULT("a|b"))),
     bad_call_id},
    {"call-name", NULL, 400,
     MESSAGES(HI "," SAYS(
         "{'type':'tool_use','id':'t','name':'a b','input':{}}") "," TELLS(RESULT("t"))),
     bad_call_name},
    {"call-input", NULL, 400,
     MESSAGES(HI "," SAYS(
         "{'type':'tool_use','id':'t','name':'a','input':'{}'}") "," TELLS(RESULT("t"))),
     bad_input},
    {"call-id-twice", NULL, 400,
     MESSAGES(HI "," SAYS(CALL("t")) "," TELLS(RESULT("t")) "," SAYS(CALL("t")) "," TELLS(
         RESULT("t"))),
     id_twice},
    {"call-without-result", NULL, 400,
     MESSAGES(HI "," SAYS(CALL("t") "," CALL("u")) "," TELLS(RESULT("t"))),
     call_without_result},
    {"result-after-text", NULL, 400,
     MESSAGES(HI "," SAYS(CALL("t")) "," TELLS(TEXT("a") "," RESULT("t"))), late_result},
    {"content-after-call", NULL, 400,
     MESSAGES(HI "," SAYS(CALL("t") "," TEXT("a")) "," TELLS(RESULT("t"))),
     content_after_call},
    {"result-without-call", NULL, 400, MESSAGES(TELLS(RESULT("t"))), result_without_call},
    {"two-results", NULL, 400,
     MESSAGES(HI "," SAYS(CALL("t")) "," TELLS(RESULT("t") "," RESULT("t"))),
     two_results},
    {"image-in-error", NULL, 400,
     MESSAGES(HI "," SAYS(CALL("t")) "," TELLS(
         "{'type':'tool_result','tool_use_id':'t','is_error':true,'content':["
         "{'type':'image','source':{'type':'base64','media_type':"
         "'image/gif','data':'R0lGODlhAQABAAAA'}}]}")),
     image_in_error},
    {"calls-without-tools", NULL, 400,
     "{'tools':null,'messages':[" HI "," SAYS(CALL("t")) "," TELLS(RESULT("t")) "]}",
     calls_without_tools},
};

const struct rule_table rules_anthropic = {
    "anthropic-messages",       rules, sizeof rules / sizeof *rules, good,
    sizeof good / sizeof *good,
};
