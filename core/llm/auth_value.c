#include "llm/auth_value.h"

#include <string.h>

#include "sys/process.h"

enum { COMMAND_TIMEOUT_S = 10, OUTPUT_MAX = 64 * 1024 };

enum pi_status value_check(struct sv text, const char *what, struct pi_error *err)
{
    for (size_t i = 0; i < text.n; i++) {
        unsigned char c = (unsigned char)text.p[i];
        if (c < 0x20 || c >= 0x7F) {
            const char *kind = c == '\n' || c == '\r' ? "a line break"
                               : c >= 0x80            ? "a character outside ASCII"
                                                      : "a control character";
            return error_set(err, PI_INVALID,
                             "%s holds %s; it must be one line of printable ASCII: "
                             "correct it there",
                             what, kind);
        }
    }
    return PI_OK;
}

/* -- commands -- */

static int take_output(void *data, struct sv bytes)
{
    struct buf *out = data;
    if (out->len <= OUTPUT_MAX) {
        buf_addsv(out, bytes);
    }
    return -1;
}

static void trim(struct buf *text)
{
    while (text->len > 0 && strchr(" \t\r\n", text->data[text->len - 1])) {
        buf_truncate(text, text->len - 1);
    }
    if (text->len > 0) {
        buf_drop(text, strspn(text->data, " \t\r\n"));
    }
}

// The words of the command are not shown, nor is what it printed: both may hold the key.
static enum pi_status judge(const struct buf *out, const struct process_result *result,
                            const char *what, struct pi_error *err)
{
    switch (result->end) {
    case PROCESS_TIMED_OUT:
        return error_set(err, PI_TIMEOUT, "the command for %s did not end in %d seconds",
                         what, COMMAND_TIMEOUT_S);
    case PROCESS_ABORTED:
        return error_set(err, PI_ABORTED, "aborted");
    case PROCESS_SIGNALED:
    case PROCESS_LOST:
        return error_set(err, PI_IO, "the command for %s was killed", what);
    default:
        break;
    }
    if (result->code != 0) {
        return error_set(err, PI_IO,
                         "the command for %s failed with exit code %d; run it in a shell "
                         "to see why",
                         what, result->code);
    }
    if (!buf_ok(out)) {
        return error_nomem(err);
    }
    if (out->len > OUTPUT_MAX || memchr(buf_cstr(out), '\0', out->len)) {
        return error_set(err, PI_INVALID,
                         "the command for %s printed no text of one line", what);
    }
    return PI_OK;
}

static enum pi_status run_command(struct buf *out, const char *command, const char *what,
                                  const struct value_context *context,
                                  struct cancel *cancel, struct pi_error *err)
{
    if (!context->guard_path) {
        return error_set(err, PI_NOT_FOUND,
                         "the command for %s cannot run: the helper pi-guard is missing",
                         what);
    }
    struct buf script = {0};
    // stdout and stderr are one pipe; what the command complains about is no key.
    buf_addf(&script, "exec 2>/dev/null\n%s", command);
    struct process_request request = {
        .guard_path = context->guard_path,
        .shell = "/bin/sh",
        .command = buf_cstr(&script),
        .cwd = context->cwd,
        .environment = context->environment,
        .timeout_s = COMMAND_TIMEOUT_S,
    };
    struct process_sink sink = {.feed = take_output, .data = out};
    struct process_result result = {0};
    enum pi_status status = PI_NOMEM;
    if (buf_ok(&script)) {
        status = process_run(&request, &sink, cancel, &result, err);
    } else {
        error_nomem(err);
    }
    if (!status) {
        status = judge(out, &result, what, err);
    }
    trim(out);
    if (!status && out->len == 0) {
        status = error_set(err, PI_IO, "the command for %s printed nothing", what);
    }
    buf_finish(&script);
    return status;
}

/* -- values -- */

static const char *variable(const char *name, const struct env *environment)
{
    const char *value = *name && !strchr(name, '=') ? env_get(environment, name) : NULL;
    return value && *value ? value : NULL;
}

bool value_is_indirect(const char *value, const struct env *environment)
{
    return value[0] == '!' || variable(value, environment);
}

// "MY_PROXY_KEY": sent as a key it would only be refused by the server.
static bool looks_like_variable(const char *value)
{
    static const char *const ends[] = {"_KEY", "_TOKEN", "_SECRET"};
    size_t n = strlen(value);
    if (strspn(value, "ABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_") != n) {
        return false;
    }
    for (size_t i = 0; i < sizeof ends / sizeof *ends; i++) {
        if (sv_ends(sv_make(value, n), sv_of(ends[i]))) {
            return true;
        }
    }
    return false;
}

enum pi_status value_find(struct buf *out, const char *value, const char *what,
                          const struct value_context *context, struct cancel *cancel,
                          struct pi_error *err)
{
    enum pi_status status = PI_OK;
    const char *set = variable(value, context->environment);
    if (value[0] == '!') {
        status = run_command(out, value + 1, what, context, cancel, err);
    } else if (!set && looks_like_variable(value)) {
        status =
            error_set(err, PI_NOT_FOUND,
                      "%s is the variable %s, which is not set or empty", what, value);
    } else {
        buf_adds(out, set ? set : value);
    }
    if (!status && !buf_ok(out)) {
        status = error_nomem(err);
    }
    return status ? status : value_check(buf_sv(out), what, err);
}
