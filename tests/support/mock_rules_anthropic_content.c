#include "mock_rules.h"

#include <string.h>

// Anthropic Messages: thinking, images, tools and cache marks.

/* -- thinking -- */

static bool is_thinking(const struct json *block)
{
    return is_type(block, "thinking") || is_type(block, "redacted_thinking");
}

static bool no_signature(const struct rule_request *r, struct buf *words)
{
    for (struct block_at at = {0}; block_next(r, &at);) {
        bool bare =
            strcmp(at.type, "thinking") == 0 &&
            (!json_get_str(at.block, "signature") || !json_get_str(at.block, "thinking"));
        bool no_data =
            strcmp(at.type, "redacted_thinking") == 0 && !json_get_str(at.block, "data");
        if (bare || no_data) {
            return say(words, "messages.%zu.content.%zu.%s.%s: Field required", at.m,
                       at.b, at.type, bare ? "signature" : "data");
        }
    }
    return false;
}

// The block with this signature (or data) that was issued.
static const struct json *issued_block(const struct rule_request *r,
                                       const struct json *block)
{
    const char *key = is_type(block, "thinking") ? "signature" : "data";
    const char *wanted = json_get_str(block, key);
    for (const struct json *a = json_first(r->issued); a && wanted; a = json_next(a)) {
        for (const struct json *b = json_first(a); b; b = json_next(b)) {
            const char *has = json_get_str(b, key);
            if (is_thinking(b) && has && strcmp(has, wanted) == 0) {
                return b;
            }
        }
    }
    return NULL;
}

static size_t last_assistant(const struct rule_request *r)
{
    size_t last = (size_t)-1;
    for (struct message_at at = {0}; message_next(r, &at);) {
        last = strcmp(at.role, "assistant") == 0 ? at.m : last;
    }
    return last;
}

static bool foreign_signature(const struct rule_request *r, struct buf *words)
{
    size_t last = last_assistant(r);
    for (struct block_at at = {0}; block_next(r, &at);) {
        if (!is_thinking(at.block) ||
            (is_type(at.block, "thinking") && !json_get_str(at.block, "signature"))) {
            continue;
        }
        const struct json *issued = issued_block(r, at.block);
        // An alteration of the latest message is another rule.
        if (!issued || (at.m != last && !json_same(issued, at.block))) {
            return say(
                words,
                "messages.%zu.content.%zu: Invalid `signature` in `thinking` block", at.m,
                at.b);
        }
    }
    return false;
}

// The answer that issued the first call of a message.
static const struct json *answer_of(const struct rule_request *r,
                                    const struct json *message)
{
    const char *id = NULL;
    for (const struct json *j = blocks_of(message); j && !id; j = json_next(j)) {
        id = is_type(j, "tool_use") ? json_get_str(j, "id") : NULL;
    }
    for (const struct json *a = json_first(r->issued); a && id; a = json_next(a)) {
        for (const struct json *b = json_first(a); b; b = json_next(b)) {
            const char *has = json_get_str(b, "id");
            if (has && strcmp(has, id) == 0) {
                return a;
            }
        }
    }
    return NULL;
}

static const struct json *next_thinking(const struct json *block)
{
    while (block && !is_thinking(block)) {
        block = json_next(block);
    }
    return block;
}

static bool thinking_changed(const struct rule_request *r, struct buf *words)
{
    size_t last = last_assistant(r);
    for (struct message_at at = {0}; message_next(r, &at);) {
        const struct json *answer = at.m == last ? answer_of(r, at.message) : NULL;
        const struct json *has = next_thinking(blocks_of(at.message));
        if (!answer || !has) {
            continue;
        }
        const struct json *was = next_thinking(json_first(answer));
        while (has && was && json_same(has, was)) {
            has = next_thinking(json_next(has));
            was = next_thinking(json_next(was));
        }
        if (has || was) {
            return say(words,
                       "messages.%zu: `thinking` or `redacted_thinking` blocks in the "
                       "latest assistant message cannot be modified. These blocks must "
                       "remain as they were in the original response.",
                       at.m);
        }
    }
    return false;
}

static bool has_result(const struct json *message)
{
    bool has = false;
    for (const struct json *j = blocks_of(message); j; j = json_next(j)) {
        has |= is_type(j, "tool_result");
    }
    return has;
}

// A turn that uses tools begins with thinking, when that is on with a budget.
static bool thinking_missing(const struct rule_request *r, struct buf *words)
{
    if (!is_type(json_get(r->body, "thinking"), "enabled")) {
        return false;
    }
    const struct json *first = NULL; // answer of the turn that is still going on
    size_t m = 0;
    for (struct message_at at = {0}; message_next(r, &at);) {
        bool user = strcmp(at.role, "user") == 0;
        if (user && !has_result(at.message)) {
            first = NULL;
        } else if (!user && !first) {
            first = at.message;
            m = at.m;
        }
    }
    const char *type = json_get_str(blocks_of(first), "type");
    return type && !is_thinking(blocks_of(first)) &&
           say(words,
               "messages.%zu.content.0.type: Expected `thinking` or `redacted_thinking`, "
               "but found `%s`. When `thinking` is enabled, a final `assistant` message "
               "must start with a thinking block.",
               m, type);
}

static bool bad_thinking(const struct rule_request *r, struct buf *words)
{
    const struct json *thinking = json_get(r->body, "thinking");
    bool known = is_type(thinking, "enabled") || is_type(thinking, "disabled") ||
                 is_type(thinking, "adaptive");
    return thinking && !known &&
           say(words,
               "thinking.type: Input should be 'enabled', 'disabled' or 'adaptive'");
}

static bool small_budget(const struct rule_request *r, struct buf *words)
{
    const struct json *thinking = json_get(r->body, "thinking");
    return is_type(thinking, "enabled") &&
           json_get_num(thinking, "budget_tokens", 0) < 1024 &&
           say(words, "thinking.enabled.budget_tokens: Input should be greater than or "
                      "equal to 1024");
}

static bool large_budget(const struct rule_request *r, struct buf *words)
{
    const struct json *thinking = json_get(r->body, "thinking");
    return is_type(thinking, "enabled") &&
           json_get_num(thinking, "budget_tokens", 0) >=
               json_get_num(r->body, "max_tokens", 0) &&
           say(words, "`max_tokens` must be greater than `thinking.budget_tokens`.");
}

static bool thinks(const struct rule_request *r)
{
    const struct json *thinking = json_get(r->body, "thinking");
    return is_type(thinking, "enabled") || is_type(thinking, "adaptive");
}

static bool warm_thinking(const struct rule_request *r, struct buf *words)
{
    double t = json_get_num(r->body, "temperature", 1);
    return thinks(r) && (t < 1 || t > 1) &&
           say(words, "`temperature` may only be set to 1 when thinking is enabled");
}

static bool forced_thinking(const struct rule_request *r, struct buf *words)
{
    const struct json *choice = json_get(r->body, "tool_choice");
    return thinks(r) && (is_type(choice, "any") || is_type(choice, "tool")) &&
           say(words, "Thinking may not be enabled when tool_choice forces tool use.");
}

static bool bad_effort(const struct rule_request *r, struct buf *words)
{
    const struct json *effort = json_get(json_get(r->body, "output_config"), "effort");
    static const char *const known[] = {"low", "medium", "high", "xhigh", "max"};
    bool found = !effort;
    for (size_t i = 0; i < sizeof known / sizeof *known; i++) {
        found |= is_string(effort) && strcmp(json_str(effort), known[i]) == 0;
    }
    return !found && say(words, "output_config.effort: Input should be 'low', 'medium', "
                                "'high', 'xhigh' or 'max'");
}

/* -- images -- */

static const struct json *image_source(const struct block_at *at)
{
    return strcmp(at->type, "image") == 0 ? json_get(at->block, "source") : NULL;
}

static bool bad_image_type(const struct rule_request *r, struct buf *words)
{
    for (struct block_at at = {0}; block_next(r, &at);) {
        const struct json *source = image_source(&at);
        const char *type = json_get_str(source, "media_type");
        bool known =
            type && (strcmp(type, "image/png") == 0 || strcmp(type, "image/jpeg") == 0 ||
                     strcmp(type, "image/gif") == 0 || strcmp(type, "image/webp") == 0);
        if (strcmp(at.type, "image") == 0 && (!is_type(source, "base64") || !known)) {
            return say(words,
                       "messages.%zu.content.%zu.image.source.base64.media_type: Input "
                       "should be 'image/jpeg', 'image/png', 'image/gif' or 'image/webp'",
                       at.m, at.b);
        }
    }
    return false;
}

static bool false_image_type(const struct rule_request *r, struct buf *words)
{
    for (struct block_at at = {0}; block_next(r, &at);) {
        const struct json *source = image_source(&at);
        const char *data = json_get_str(source, "data");
        const char *type = json_get_str(source, "media_type");
        const char *real = data ? image_type(data) : NULL;
        if (real && type && strncmp(type, "image/", 6) == 0 && strcmp(real, type) != 0) {
            return say(words,
                       "messages.%zu.content.%zu.image.source.base64: The image was "
                       "specified using the %s media type, but the image appears to be a "
                       "%s image",
                       at.m, at.b, type, real);
        }
    }
    return false;
}

static bool broken_image(const struct rule_request *r, struct buf *words)
{
    for (struct block_at at = {0}; block_next(r, &at);) {
        const char *data = json_get_str(image_source(&at), "data");
        if (strcmp(at.type, "image") == 0 &&
            (!data || !is_base64(data) || !image_type(data))) {
            return say(words, "messages.%zu.content.%zu.image: Could not process image",
                       at.m, at.b);
        }
    }
    return false;
}

static bool heavy_image(const struct rule_request *r, struct buf *words)
{
    for (struct block_at at = {0}; block_next(r, &at);) {
        const char *data = json_get_str(image_source(&at), "data");
        size_t n = data ? strlen(data) : 0;
        if (n > 5u * 1024 * 1024) {
            return say(words,
                       "messages.%zu.content.%zu.image.source.base64: image exceeds 5 MB "
                       "maximum: %zu bytes > 5242880 bytes",
                       at.m, at.b, n);
        }
    }
    return false;
}

static bool wider_than(const struct rule_request *r, unsigned most, const char *why,
                       struct buf *words)
{
    for (struct block_at at = {0}; block_next(r, &at);) {
        const char *data = json_get_str(image_source(&at), "data");
        unsigned width = 0, height = 0;
        if (data && image_size(data, &width, &height) &&
            (width > most || height > most)) {
            return say(words,
                       "messages.%zu.content.%zu.image.source.base64.data: At least one "
                       "of the image dimensions exceed max allowed size%s: %u pixels",
                       at.m, at.b, why, most);
        }
    }
    return false;
}

static bool wide_image(const struct rule_request *r, struct buf *words)
{
    return wider_than(r, 8000, "", words);
}

static bool wide_of_many(const struct rule_request *r, struct buf *words)
{
    size_t images = 0;
    for (struct block_at at = {0}; block_next(r, &at);) {
        images += image_source(&at) != NULL;
    }
    return images > 20 && wider_than(r, 2000, " for many-image requests", words);
}

/* -- tools and cache marks -- */

static bool bad_tool_name(const struct rule_request *r, struct buf *words)
{
    size_t i = 0;
    const struct json *tools = json_get(r->body, "tools");
    for (const struct json *j = json_first(tools); j; j = json_next(j), i++) {
        const char *name = json_get_str(j, "name");
        if (!name || !is_name(name, 128)) {
            return say(words,
                       "tools.%zu.custom.name: String should match pattern "
                       "'^[a-zA-Z0-9_-]{1,128}$'",
                       i);
        }
    }
    return false;
}

static bool tool_twice(const struct rule_request *r, struct buf *words)
{
    struct json *seen = json_new_object();
    bool twice = false;
    const struct json *tools = json_get(r->body, "tools");
    for (const struct json *j = json_first(tools); j; j = json_next(j)) {
        const char *name = json_get_str(j, "name");
        twice |= name && json_get(seen, name);
        if (name) {
            json_set_bool(seen, name, true);
        }
    }
    json_destroy(seen);
    return twice && say(words, "tools: Tool names must be unique.");
}

static bool bad_schema(const struct rule_request *r, struct buf *words)
{
    size_t i = 0;
    const struct json *tools = json_get(r->body, "tools");
    for (const struct json *j = json_first(tools); j; j = json_next(j), i++) {
        if (!is_type(json_get(j, "input_schema"), "object")) {
            return say(words, "tools.%zu.custom.input_schema.type: Field required", i);
        }
    }
    return false;
}

static bool strange_in_tool(const struct rule_request *r, struct buf *words)
{
    size_t i = 0;
    const struct json *tools = json_get(r->body, "tools");
    for (const struct json *j = json_first(tools); j; j = json_next(j), i++) {
        const char *key = strange_key(j, "type name description input_schema strict "
                                         "cache_control eager_input_streaming ");
        if (key) {
            return say(words, "tools.%zu.custom.%s: Extra inputs are not permitted", i,
                       key);
        }
    }
    return false;
}

static bool choice_without_tools(const struct rule_request *r, struct buf *words)
{
    return json_get(r->body, "tool_choice") && !json_first(json_get(r->body, "tools")) &&
           say(words, "tool_choice may only be specified while providing tools.");
}

static size_t marks_of(const struct json *list)
{
    size_t n = 0;
    bool objects = json_type(list) == JSON_ARRAY;
    for (const struct json *j = objects ? json_first(list) : NULL; j; j = json_next(j)) {
        n += json_get(j, "cache_control") != NULL;
    }
    return n;
}

static bool many_marks(const struct rule_request *r, struct buf *words)
{
    size_t n =
        marks_of(json_get(r->body, "system")) + marks_of(json_get(r->body, "tools"));
    for (struct block_at at = {0}; block_next(r, &at);) {
        n += json_get(at.block, "cache_control") != NULL;
    }
    return n > 4 && say(words,
                        "A maximum of 4 blocks with cache_control may be provided. "
                        "Found %zu.",
                        n);
}

static bool bad_mark(const struct rule_request *r, struct buf *words)
{
    for (struct block_at at = {0}; block_next(r, &at);) {
        const struct json *mark = json_get(at.block, "cache_control");
        const char *ttl = json_get_str(mark, "ttl");
        bool known = !ttl || strcmp(ttl, "5m") == 0 || strcmp(ttl, "1h") == 0;
        if (mark && (!is_type(mark, "ephemeral") || !known)) {
            return say(words,
                       "messages.%zu.content.%zu.%s.cache_control: Input does not match "
                       "any of the expected tags: 'ephemeral'",
                       at.m, at.b, at.type);
        }
    }
    return false;
}

#define HI "{'role':'user','content':'hi'}"
#define SAYS(BLOCKS) "{'role':'assistant','content':[" BLOCKS "]}"
#define TELLS(BLOCKS) "{'role':'user','content':[" BLOCKS "]}"
#define CALL "{'type':'tool_use','id':'t','name':'read','input':{}}"
#define RESULT "{'type':'tool_result','tool_use_id':'t'}"
#define THOUGHT(T, S) "{'type':'thinking','thinking':'" T "','signature':'" S "'}"
#define SECRET(D) "{'type':'redacted_thinking','data':'" D "'}"
#define MESSAGES(LIST) "'messages':[" LIST "]"
#define ISSUED(BLOCKS) "'$issued':[[" BLOCKS "]]"
#define THINK "'thinking':{'type':'enabled','budget_tokens':1024},'max_tokens':2000"
#define IMAGE(TYPE, DATA)                                                                \
    "{'type':'image','source':{'type':'base64','media_type':'" TYPE "','data':'" DATA    \
    "'}}"
#define GIF "R0lGODlhAQABAAAA"
// The first bytes of pictures of 9000 x 1 and 2001 x 1.
#define WIDE "R0lGODlhKCMBAAAA"
#define BROAD "R0lGODlh0QcBAAAA"
#define MARK "'cache_control':{'type':'ephemeral'}"
#define MARKED "{'type':'text','text':'a'," MARK "}"
#define FIVE(X) X "," X "," X "," X "," X
#define TOOL(NAME) "{'name':'" NAME "','input_schema':{'type':'object'}}"

static const char *const good[] = {
    "{'model':'m','max_tokens':1000,'stream':true,'messages':[" HI "]," // the base
    "'tools':[" TOOL("read") "]}",
    "{" THINK "," ISSUED(THOUGHT("a ", "S") "," SECRET("D") "," CALL) "," MESSAGES(
        HI "," SAYS(THOUGHT("a ", "S") "," SECRET("D") "," CALL) "," TELLS(RESULT)) "}",
    // Of an earlier turn the thinking may be left out, and of every one without thinking.
    "{" THINK "," MESSAGES(HI "," SAYS(CALL) "," TELLS(RESULT) "," SAYS(
        "{'type':'text','text':'a'}") "," HI) "}",
    "{" ISSUED(THOUGHT("a", "S") "," CALL) "," MESSAGES(
        HI "," SAYS(CALL) "," TELLS(RESULT)) "}",
    "{'thinking':{'type':'adaptive'},'output_config':{'effort':'low'}}",
    "{" MESSAGES(TELLS(IMAGE("image/gif", GIF) ",{'type':'text','text':'a'}")) "}",
    "{" MESSAGES(TELLS(MARKED "," MARKED)) ",'tools':[{'name':'a','input_schema':"
                                           "{'type':'object'}," MARK
                                           "}],'system':[" MARKED "]}",
};

static const struct rule rules[] = {
    {"signature-missing", NULL, 400,
     "{" MESSAGES(
         HI "," SAYS("{'type':'thinking','thinking':'a'}," CALL) "," TELLS(RESULT)) "}",
     no_signature},
    {"signature-foreign", NULL, 400,
     "{" ISSUED(THOUGHT("a", "S")) "," MESSAGES(
         HI "," SAYS(THOUGHT("a", "other") "," CALL) "," TELLS(RESULT)) "}",
     foreign_signature},
    {"thinking-changed", NULL, 400,
     "{" THINK "," ISSUED(THOUGHT("a ", "S") "," CALL) "," MESSAGES(
         HI "," SAYS(THOUGHT("a", "S") "," CALL) "," TELLS(RESULT)) "}",
     thinking_changed},
    {"thinking-missing", NULL, 400,
     "{" THINK "," MESSAGES(HI "," SAYS(CALL) "," TELLS(RESULT)) "}", thinking_missing},
    {"thinking-type", NULL, 400, "{'thinking':{'type':'on'}}", bad_thinking},
    {"budget-small", NULL, 400,
     "{'thinking':{'type':'enabled','budget_tokens':1023},'max_tokens':2000}",
     small_budget},
    {"budget-large", NULL, 400,
     "{'thinking':{'type':'enabled','budget_tokens':2000},'max_tokens':2000}",
     large_budget},
    {"thinking-temperature", NULL, 400, "{" THINK ",'temperature':0.5}", warm_thinking},
    {"thinking-forced-tool", NULL, 400, "{" THINK ",'tool_choice':{'type':'any'}}",
     forced_thinking},
    {"effort", NULL, 400, "{'output_config':{'effort':'minimal'}}", bad_effort},

    {"image-type", NULL, 400, "{" MESSAGES(TELLS(IMAGE("application/pdf", GIF))) "}",
     bad_image_type},
    {"image-type-false", NULL, 400, "{" MESSAGES(TELLS(IMAGE("image/png", GIF))) "}",
     false_image_type},
    {"image-broken", NULL, 400,
     "{" MESSAGES(TELLS(IMAGE("image/png", "bm90IG9uZQ=="))) "}", broken_image},
    {"image-heavy", NULL, 400,
     "{'$heavy':'" GIF "'," MESSAGES(TELLS(IMAGE("image/gif", "HEAVY"))) "}",
     heavy_image},
    {"image-wide", NULL, 400, "{" MESSAGES(TELLS(IMAGE("image/gif", WIDE))) "}",
     wide_image},
    {"images-many-wide", NULL, 400,
     "{" MESSAGES(TELLS(FIVE(FIVE(IMAGE("image/gif", BROAD))))) "}", wide_of_many},

    {"tool-name", NULL, 400, "{'tools':[" TOOL("a.b") "]}", bad_tool_name},
    {"tool-twice", NULL, 400, "{'tools':[" TOOL("a") "," TOOL("a") "]}", tool_twice},
    {"tool-schema", NULL, 400, "{'tools':[{'name':'a','input_schema':{}}]}", bad_schema},
    {"unknown-in-tool", NULL, 400,
     "{'tools':[{'name':'a','input_schema':{'type':'object'},'label':'a'}]}",
     strange_in_tool},
    {"choice-without-tools", NULL, 400, "{'tools':null,'tool_choice':{'type':'auto'}}",
     choice_without_tools},
    {"cache-marks", NULL, 400, "{" MESSAGES(TELLS(FIVE(MARKED))) "}", many_marks},
    {"cache-mark-type", NULL, 400,
     "{" MESSAGES(TELLS("{'type':'text','text':'a','cache_control':{'type':'x'}}")) "}",
     bad_mark},
};

const struct rule_table rules_anthropic_content = {
    "anthropic-messages",       rules, sizeof rules / sizeof *rules, good,
    sizeof good / sizeof *good,
};
