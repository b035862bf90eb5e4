#include "agent/added_tool.h"

#include <stdlib.h>
#include <string.h>

#include "base/json.h"

enum { NAME_MAX_BYTES = 64, TEXT_MAX_BYTES = 64 * 1024 };

/* -- a call -- */

// A tool that only looks has nothing to be asked about.
static enum pi_status plan_reading(struct tool_plan *plan, const struct json *args UNUSED,
                                   const struct tool_context *context UNUSED,
                                   struct pi_error *err UNUSED)
{
    plan->effect = TOOL_READ;
    return PI_OK;
}

static enum pi_status execute(struct tool_result *result, struct tool_call *call,
                              struct pi_error *err)
{
    struct host *host = call->context->host;
    struct buf arguments = {0};
    struct buf text = {0};
    if (!host->ops->call_tool) {
        return error_set(err, PI_UNSUPPORTED, "the tool %s needs its editor", call->name);
    }
    json_write(&arguments, call->args);
    enum pi_status status = PI_OK;
    if (!buf_ok(&arguments)) {
        status = error_nomem(err);
    } else {
        status = host->ops->call_tool(host,
                                      &(struct host_tool_call){
                                          .name = call->name,
                                          .arguments = buf_sv(&arguments),
                                          .cwd = call->context->cwd,
                                      },
                                      &text, call->cancel, err);
    }
    if (!status && (!buf_ok(&text) || !tool_result_text(result, buf_sv(&text)))) {
        status = error_nomem(err);
    }
    buf_finish(&arguments);
    buf_finish(&text);
    return status;
}

/* -- the definition -- */

void added_tool_destroy(struct added_tool *t)
{
    if (!t) {
        return;
    }
    const char *const texts[] = {
        t->definition.name,       t->definition.label,   t->definition.description,
        t->definition.parameters, t->definition.snippet, t->definition.title,
    };
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
        free((void *)(uintptr_t)texts[i]);
    }
    free(t);
}

static enum pi_status check_name(const char *name, struct pi_error *err)
{
    static const char first[] = "abcdefghijklmnopqrstuvwxyz";
    static const char more[] = "abcdefghijklmnopqrstuvwxyz0123456789_";
    size_t n = name ? strspn(name, more) : 0;
    if (n == 0 || name[n] || n > NAME_MAX_BYTES || !strchr(first, name[0])) {
        return error_set(err, PI_INVALID,
                         "\"%.80s\" is no name for a tool: use a-z, 0-9 and _, a letter "
                         "first, up to %d of them",
                         name ? name : "", NAME_MAX_BYTES);
    }
    return PI_OK;
}

static enum pi_status check_texts(const struct pi_added_tool *tool, struct pi_error *err)
{
    const struct {
        const char *name, *text;
    } texts[] = {
        {"label", tool->label},           {"description", tool->description},
        {"parameters", tool->parameters}, {"snippet", tool->snippet},
        {"title", tool->title},
    };
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
        if (texts[i].text && strlen(texts[i].text) > TEXT_MAX_BYTES) {
            return error_set(err, PI_INVALID,
                             "the %s of the tool %s is longer than %d KiB", texts[i].name,
                             tool->name, TEXT_MAX_BYTES / 1024);
        }
    }
    if (!tool->description || !*tool->description) {
        return error_set(err, PI_INVALID,
                         "the tool %s has no description; the model needs one",
                         tool->name);
    }
    return PI_OK;
}

static enum pi_status check_parameters(const struct pi_added_tool *tool,
                                       struct pi_error *err)
{
    struct json *schema = NULL;
    struct pi_error why = {0};
    if (!tool->parameters) {
        return PI_OK;
    }
    enum pi_status status = json_parse(&schema, sv_of(tool->parameters), NULL, &why);
    const char *type = status ? NULL : json_get_str(schema, "type");
    if (status == PI_NOMEM) {
        return error_nomem(err);
    }
    if (status) {
        return error_set(err, PI_INVALID, "the parameters of the tool %s are no JSON: %s",
                         tool->name, why.message);
    }
    bool object = type && strcmp(type, "object") == 0;
    json_destroy(schema);
    return object ? PI_OK
                  : error_set(err, PI_INVALID,
                              "the parameters of the tool %s must be a JSON schema with "
                              "\"type\": \"object\"",
                              tool->name);
}

static char *copy(const char *text, bool *ok)
{
    char *made = text ? strdup(text) : NULL;
    *ok = *ok && (made || !text);
    return made;
}

enum pi_status added_tool_create(struct added_tool **out,
                                 const struct pi_added_tool *tool, struct pi_error *err)
{
    enum pi_status status = check_name(tool->name, err);
    if (!status) {
        status = check_texts(tool, err);
    }
    if (!status) {
        status = check_parameters(tool, err);
    }
    if (status) {
        return status;
    }
    struct added_tool *t = calloc(1, sizeof *t);
    if (!t) {
        return error_nomem(err);
    }
    bool ok = true;
    t->definition = (struct pi_tool_definition){
        .name = copy(tool->name, &ok),
        .label = copy(tool->label ? tool->label : tool->name, &ok),
        .description = copy(tool->description, &ok),
        .parameters = copy(tool->parameters ? tool->parameters
                                            : "{\"type\":\"object\",\"properties\":{}}",
                           &ok),
        .snippet = copy(tool->snippet, &ok),
        .title = copy(tool->title ? tool->title : tool->name, &ok),
        .source = TOOL_FACE,
        .mode = tool->reads ? TOOL_PARALLEL : TOOL_SEQUENTIAL,
        .plan = tool->reads ? plan_reading : NULL,
        .execute = execute,
    };
    if (!ok) {
        added_tool_destroy(t);
        return error_nomem(err);
    }
    *out = t;
    return PI_OK;
}
