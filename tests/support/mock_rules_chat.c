#include "mock_rules.h"

#include <string.h>

// OpenAI Chat Completions: the request, its messages, calls and results. What only some
// servers refuse has the server's name: "openai", "compatible" (the strict side of what
// local servers and their templates do), "mistral", "deepseek".

static bool no_key(const struct rule_request *r, struct buf *words)
{
    const char *value = json_get_str(r->headers, "authorization");
    bool sent = value && strncmp(value, "Bearer ", 7) == 0 && !is_blank(value + 7);
    return !sent && !r->keyless &&
           say(words,
               "You didn't provide an API key. You need to provide your API key in "
               "an Authorization header using Bearer auth");
}

static bool no_content_type(const struct rule_request *r, struct buf *words)
{
    const char *type = json_get_str(r->headers, "content-type");
    return (!type || strncmp(type, "application/json", 16) != 0) &&
           say(words, "Invalid Content-Type header: expected application/json");
}

static bool no_json(const struct rule_request *r, struct buf *words)
{
    return json_type(r->body) != JSON_OBJECT &&
           say(words, "We could not parse the JSON body of your request.");
}

static bool half_character(const struct rule_request *r, struct buf *words)
{
    return (r->repairs & JSON_HAD_SURROGATE) &&
           say(words, "We could not parse the JSON body of your request: surrogates not "
                      "allowed");
}

static bool bad_utf8(const struct rule_request *r, struct buf *words)
{
    return (r->repairs & JSON_HAD_BAD_UTF8) &&
           say(words, "We could not parse the JSON body of your request: invalid UTF-8");
}

static bool strange_member(const struct rule_request *r, struct buf *words)
{
    const char *key = strange_key(
        r->body,
        "model messages stream stream_options max_tokens max_completion_tokens tools "
        "tool_choice temperature top_p stop seed n user store metadata reasoning_effort "
        "parallel_tool_calls prompt_cache_key prompt_cache_retention response_format "
        "thinking reasoning enable_thinking chat_template_kwargs ");
    return key && say(words, "Unrecognized request argument supplied: %s", key);
}

static bool not_openai(const struct rule_request *r, struct buf *words)
{
    const char *key = NULL;
    for (const struct json *j = json_first(r->body); j; j = json_next(j)) {
        bool other = strcmp(json_key(j), "enable_thinking") == 0 ||
                     strcmp(json_key(j), "chat_template_kwargs") == 0 ||
                     strcmp(json_key(j), "thinking") == 0 ||
                     strcmp(json_key(j), "reasoning") == 0;
        key = other ? json_key(j) : key;
    }
    return key && say(words, "Unrecognized request argument supplied: %s", key);
}

static bool only_openai(const struct rule_request *r, struct buf *words)
{
    static const char *const keys[] = {"store", "parallel_tool_calls", "prompt_cache_key",
                                       "prompt_cache_retention", "max_completion_tokens"};
    for (size_t i = 0; i < sizeof keys / sizeof *keys; i++) {
        if (json_get(r->body, keys[i])) {
            return say(words, "Extra inputs are not permitted: %s", keys[i]);
        }
    }
    return false;
}

static bool mistral_member(const struct rule_request *r, struct buf *words)
{
    const char *key = strange_key(r->body, "model messages stream max_tokens tools "
                                           "tool_choice temperature top_p stop "
                                           "response_format parallel_tool_calls ");
    return key &&
           say(words, "extra_forbidden: body.%s: Extra inputs are not permitted", key);
}

static bool no_model(const struct rule_request *r, struct buf *words)
{
    const char *model = json_get_str(r->body, "model");
    return r->body && (!model || is_blank(model)) &&
           say(words, "you must provide a model parameter");
}

static bool two_limits(const struct rule_request *r, struct buf *words)
{
    return json_get(r->body, "max_tokens") &&
           json_get(r->body, "max_completion_tokens") &&
           say(words, "Setting 'max_tokens' and 'max_completion_tokens' at the same time "
                      "is not supported.");
}

static bool old_limit(const struct rule_request *r, struct buf *words)
{
    return json_get(r->body, "max_tokens") &&
           say(words, "Unsupported parameter: 'max_tokens' is not supported with this "
                      "model. Use 'max_completion_tokens' instead.");
}

static bool bad_limit(const struct rule_request *r, struct buf *words)
{
    double n = json_get_num(r->body, "max_tokens", 1);
    double m = json_get_num(r->body, "max_completion_tokens", 1);
    return (n < 1 || m < 1) && say(words, "Invalid 'max_tokens': integer below minimum "
                                          "value. Expected a value >= 1");
}

static bool warm(const struct rule_request *r, struct buf *words)
{
    double t = json_get_num(r->body, "temperature", 1);
    return (t < 1 || t > 1) && say(words, "Unsupported value: 'temperature' does not "
                                          "support other values than 1 with this model.");
}

static bool options_without_stream(const struct rule_request *r, struct buf *words)
{
    return json_get(r->body, "stream_options") &&
           !json_get_bool(r->body, "stream", false) &&
           say(words, "The 'stream_options' parameter is only allowed when 'stream' is "
                      "enabled.");
}

/* -- messages -- */

static bool no_messages(const struct rule_request *r, struct buf *words)
{
    const struct json *list = json_get(r->body, "messages");
    return r->body && (json_type(list) != JSON_ARRAY || !json_first(list)) &&
           say(words, "Invalid 'messages': empty array. Expected an array with minimum "
                      "length 1");
}

static bool role_is(const struct message_at *at, const char *role)
{
    return strcmp(at->role, role) == 0;
}

static bool bad_role(const struct rule_request *r, struct buf *words)
{
    for (struct message_at at = {0}; message_next(r, &at);) {
        if (!role_is(&at, "system") && !role_is(&at, "developer") &&
            !role_is(&at, "user") && !role_is(&at, "assistant") &&
            !role_is(&at, "tool")) {
            return say(
                words,
                "Invalid value: '%s'. Supported values are: 'system', 'assistant', "
                "'user', 'function', 'tool', and 'developer'.",
                at.role);
        }
    }
    return false;
}

static bool developer(const struct rule_request *r, struct buf *words)
{
    for (struct message_at at = {0}; message_next(r, &at);) {
        if (role_is(&at, "developer")) {
            return say(words, "Unexpected message role: developer");
        }
    }
    return false;
}

static bool late_system(const struct rule_request *r, struct buf *words)
{
    for (struct message_at at = {0}; message_next(r, &at);) {
        if (role_is(&at, "system") && at.m > 0) {
            return say(words, "System message must be at the beginning.");
        }
    }
    return false;
}

static bool no_alternation(const struct rule_request *r, struct buf *words)
{
    for (struct message_at at = {0}; message_next(r, &at);) {
        const char *before = json_get_str(at.previous, "role");
        bool may_repeat = role_is(&at, "tool") || role_is(&at, "system");
        if (before && !may_repeat && strcmp(before, at.role) == 0) {
            return say(words,
                       "Conversation roles must alternate user/assistant/user/assistant: "
                       "messages[%zu] is the second '%s' in a row",
                       at.m, at.role);
        }
    }
    return false;
}

static bool assistant_first(const struct rule_request *r, struct buf *words)
{
    for (struct message_at at = {0}; message_next(r, &at);) {
        if (!role_is(&at, "system") && !role_is(&at, "developer")) {
            return role_is(&at, "assistant") &&
                   say(words,
                       "After the optional system message, conversation roles must "
                       "start with user");
        }
    }
    return false;
}

static bool user_after_tool(const struct rule_request *r, struct buf *words)
{
    for (struct message_at at = {0}; message_next(r, &at);) {
        const char *before = json_get_str(at.previous, "role");
        if (role_is(&at, "user") && before && strcmp(before, "tool") == 0) {
            return say(words, "Unexpected role 'user' after role 'tool'");
        }
    }
    return false;
}

static bool assistant_last(const struct rule_request *r, struct buf *words)
{
    for (struct message_at at = {0}; message_next(r, &at);) {
        if (!at.next && role_is(&at, "assistant")) {
            return say(words, "Expected last role User or Tool (or Assistant with prefix "
                              "True) for serving but got assistant");
        }
    }
    return false;
}

static bool strange_in_message(const struct rule_request *r, struct buf *words)
{
    for (struct message_at at = {0}; message_next(r, &at);) {
        const char *keys =
            role_is(&at, "assistant")
                ? "role content tool_calls name refusal reasoning_content reasoning "
                  "reasoning_text reasoning_details "
            : role_is(&at, "tool") ? "role content tool_call_id name "
                                   : "role content name ";
        const char *key = strange_key(at.message, keys);
        if (key) {
            return say(words,
                       "Additional properties are not allowed ('%s' was unexpected) - "
                       "'messages.%zu'",
                       key, at.m);
        }
    }
    return false;
}

static bool thinking_to_openai(const struct rule_request *r, struct buf *words)
{
    for (struct message_at at = {0}; message_next(r, &at);) {
        const char *key = strange_key(at.message, "role content tool_calls name refusal "
                                                  "tool_call_id ");
        if (key) {
            return say(words, "Unknown parameter: 'messages[%zu].%s'.", at.m, key);
        }
    }
    return false;
}

static bool no_content(const struct rule_request *r, struct buf *words)
{
    for (struct message_at at = {0}; message_next(r, &at);) {
        enum json_type type = json_type(json_get(at.message, "content"));
        bool calls = role_is(&at, "assistant") && json_get(at.message, "tool_calls");
        if (type != JSON_STRING && type != JSON_ARRAY && !calls) {
            return say(
                words,
                "Invalid value for 'messages[%zu].content': expected a string, got "
                "null.",
                at.m);
        }
    }
    return false;
}

static bool empty_content(const struct rule_request *r, struct buf *words)
{
    for (struct message_at at = {0}; message_next(r, &at);) {
        const struct json *content = json_get(at.message, "content");
        const char *text = json_str(content);
        bool calls = json_get(at.message, "tool_calls") != NULL;
        bool empty = text ? !*text && !calls
                          : json_type(content) == JSON_ARRAY && !json_first(content);
        if (empty) {
            return say(words,
                       "Invalid 'messages[%zu].content': empty. Expected minimum "
                       "length 1",
                       at.m);
        }
    }
    return false;
}

static bool parts_of_assistant(const struct rule_request *r, struct buf *words)
{
    for (struct message_at at = {0}; message_next(r, &at);) {
        if (role_is(&at, "assistant") &&
            json_type(json_get(at.message, "content")) == JSON_ARRAY) {
            return say(words, "messages[%zu].content: can only be a string", at.m);
        }
    }
    return false;
}

static bool no_reasoning(const struct rule_request *r, struct buf *words)
{
    for (struct message_at at = {0}; message_next(r, &at);) {
        if (role_is(&at, "assistant") && !json_get_str(at.message, "reasoning_content")) {
            return say(words,
                       "The `reasoning_content` in the thinking mode must be passed "
                       "back to the API.");
        }
    }
    return false;
}

#define SYSTEM "{'role':'system','content':'s'}"
#define HI "{'role':'user','content':'hi'}"
#define SAYS(TEXT) "{'role':'assistant','content':'" TEXT "'}"
#define CALL                                                                             \
    "{'role':'assistant','content':null,'tool_calls':[{'id':'abcdefgh1','type':"         \
    "'function','function':{'name':'a','arguments':'{}'}}]}"
#define RESULT "{'role':'tool','tool_call_id':'abcdefgh1','content':'x'}"
#define MESSAGES(LIST) "{'messages':[" LIST "]}"
#define RAW(TEXT) "{`model`:`m`,`messages`:[{`role`:`user`,`content`:`" TEXT "`}]}"

static const char *const good[] = {
    "{'model':'m','stream':true,'messages':[" HI "]}",
    "{'stream_options':{'include_usage':true},'max_tokens':5,'temperature':1}",
    MESSAGES(SYSTEM "," HI "," CALL "," RESULT "," SAYS("a") "," HI),
    MESSAGES(HI "," CALL "," RESULT "," HI),
};

static const struct rule rules[] = {
    {"key-missing", NULL, 401, "{'$headers':{'authorization':null}}", no_key},
    {"content-type", NULL, 400, "{'$headers':{'content-type':'text/plain'}}",
     no_content_type},
    {"not-json", NULL, 400, "{'$raw':'{'}", no_json},
    {"half-surrogate", NULL, 400, "{'$raw':'" RAW("\\\\ude00") "'}", half_character},
    {"bad-utf8", NULL, 400, "{'$raw':'" RAW("~") "'}", bad_utf8},
    {"unknown-member", NULL, 400, "{'max_output_tokens':5}", strange_member},
    {"not-openai", "openai", 400, "{'enable_thinking':true}", not_openai},
    {"only-openai", "compatible", 400, "{'store':false}", only_openai},
    {"mistral-member", "mistral", 422, "{'stream_options':{'include_usage':true}}",
     mistral_member},
    {"model-missing", NULL, 400, "{'model':null}", no_model},
    {"two-limits", NULL, 400, "{'max_tokens':5,'max_completion_tokens':5}", two_limits},
    {"old-limit", "openai", 400, "{'max_tokens':5}", old_limit},
    {"limit", NULL, 400, "{'max_tokens':0}", bad_limit},
    {"temperature", "openai", 400, "{'temperature':0}", warm},
    {"options-without-stream", NULL, 400,
     "{'stream':null,'stream_options':{'include_usage':true}}", options_without_stream},

    {"messages-missing", NULL, 400, "{'messages':[]}", no_messages},
    {"role", NULL, 400, MESSAGES("{'role':'toolResult','content':'a'}"), bad_role},
    {"developer", "compatible", 400, MESSAGES("{'role':'developer','content':'a'}," HI),
     developer},
    {"late-system", NULL, 400, MESSAGES(HI "," SYSTEM), late_system},
    {"roles-in-a-row", NULL, 400, MESSAGES(HI "," HI), no_alternation},
    {"assistant-first", NULL, 400, MESSAGES(SYSTEM "," SAYS("a") "," HI),
     assistant_first},
    {"user-after-tool", "mistral", 400, MESSAGES(HI "," CALL "," RESULT "," HI),
     user_after_tool},
    {"assistant-last", NULL, 400, MESSAGES(HI "," SAYS("a")), assistant_last},
    {"unknown-in-message", NULL, 400, MESSAGES("{'role':'user','content':'a','id':1}"),
     strange_in_message},
    {"thinking-to-openai", "openai", 400,
     MESSAGES(HI ",{'role':'assistant','content':'a','reasoning_content':'b'}," HI),
     thinking_to_openai},
    {"content-missing", NULL, 400, MESSAGES("{'role':'user','content':null}"),
     no_content},
    {"content-empty", NULL, 400, MESSAGES("{'role':'user','content':[]}"), empty_content},
    {"parts-of-assistant", "compatible", 400,
     MESSAGES(HI ",{'role':'assistant','content':[{'type':'text','text':'a'}]}," HI),
     parts_of_assistant},
    {"reasoning-missing", "deepseek", 400, MESSAGES(HI "," SAYS("a") "," HI),
     no_reasoning},
};

const struct rule_table rules_chat = {
    "openai-completions",       rules, sizeof rules / sizeof *rules, good,
    sizeof good / sizeof *good,
};
