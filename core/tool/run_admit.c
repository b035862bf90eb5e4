#include "tool/run_job.h"

#include <strings.h>

#include "tool/validate.h"

static void say_unknown(const struct registry *registry, const char *name,
                        struct buf *why)
{
    bool exists = registry_find_any(registry, name) != NULL;
    buf_addf(why,
             exists ? "The tool \"%.200s\" is not active." : "Unknown tool \"%.200s\".",
             name);
    for (size_t i = 0; i < registry->active_len; i++) {
        const char *active = registry->tools[registry->active[i]].name;
        if (strcasecmp(active, name) == 0) {
            buf_addf(why, " Did you mean \"%s\"?", active);
        }
    }
    if (registry->active_len == 0) {
        buf_adds(why, " Nothing was run. There are no tools in this session.");
        return;
    }
    buf_adds(why, " Nothing was run. The tools are: ");
    registry_names(registry, why);
    buf_addc(why, '.');
}

static bool say_error(enum pi_status status, const struct pi_error *err, struct buf *why)
{
    buf_adds(why, err->message[0] ? err->message : pi_status_name(status));
    return false;
}

enum pi_status job_parse(struct run_job *j, struct pi_error *err)
{
    enum pi_status status =
        validate_parse(&j->call.args, &j->repaired, j->name, buf_sv(&j->text), err);
    if (status) {
        // Faces show the arguments of a call in every case.
        j->call.args = json_new_object();
    }
    buf_finish(&j->text);
    return status;
}

bool job_admit(struct run_job *j, const struct registry *registry, struct buf *why)
{
    struct pi_error err = {0};
    const struct tool *tool = registry_find(registry, j->name);
    size_t arrived = j->text.len;
    enum pi_status status = job_parse(j, &err);
    if (!tool) {
        say_unknown(registry, j->name, why);
        return false;
    }
    j->tool = *tool;
    if (!status && !j->complete) {
        buf_addf(why,
                 "The arguments of \"%s\" did not arrive whole: the reply was cut off "
                 "after %zu bytes of them. Nothing was run. Send the call again; if it "
                 "holds a long text, send it in several smaller calls.",
                 j->name, arrived);
        return false;
    }
    if (!status && tool->prepare) {
        status = tool->prepare(&j->call.args, &err);
    }
    if (status) {
        return say_error(status, &err, why);
    }
    status = validate_arguments(&j->call.args, tool->parameters, j->name, why);
    return !status || (why->len == 0 && say_error(status, &err, why));
}
