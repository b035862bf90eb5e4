#include "session/entry_message.h"

#include <stdlib.h>
#include <string.h>

#include "sys/clock.h"

// Takes text over as the one block of a message of the user.
static enum pi_status user_message(struct message **out, struct buf *text,
                                   struct pi_error *err)
{
    struct message *m = message_create(ROLE_USER);
    bool ok = m && buf_ok(text) && content_add_text(&m->content, buf_sv(text));
    buf_finish(text);
    if (!ok) {
        message_destroy(m);
        return error_nomem(err);
    }
    *out = m;
    return PI_OK;
}

static enum pi_status summary(struct message **out, const struct json *j,
                              const char *lead, struct pi_error *err)
{
    const char *words = json_get_str(j, "summary");
    if (!words) {
        return error_set(err, PI_INVALID, "a summary without text");
    }
    struct buf text = {0};
    buf_addf(&text, "%s\n\n<summary>\n", lead);
    buf_adds(&text, words);
    buf_adds(&text, "\n</summary>");
    return user_message(out, &text, err);
}

static enum pi_status compaction(struct message **out, const struct json *j,
                                 struct pi_error *err)
{
    return summary(
        out, j, "The conversation up to here was replaced by this summary of it:", err);
}

static enum pi_status branch_summary(struct message **out, const struct json *j,
                                     struct pi_error *err)
{
    return summary(out, j,
                   "The conversation had gone on another way from here before the user "
                   "came back. What happened there:",
                   err);
}

static enum pi_status custom(struct message **out, const struct json *j,
                             struct pi_error *err)
{
    struct message *m = message_create(ROLE_USER);
    if (!m) {
        return error_nomem(err);
    }
    enum pi_status status = content_parse(&m->content, json_get(j, "content"), err);
    if (status) {
        message_destroy(m);
        return status;
    }
    *out = m;
    return PI_OK;
}

// The fence is longer than any in the text.
static void add_fenced(struct buf *b, const char *text)
{
    size_t longest = 2;
    for (const char *p = text; *p; p++) {
        size_t n = strspn(p, "`");
        longest = n > longest ? n : longest;
        p += n > 0 ? n - 1 : 0;
    }
    struct buf fence = {0};
    for (size_t i = 0; i <= longest; i++) {
        buf_addc(&fence, '`');
    }
    buf_addf(b, "%s\n", buf_cstr(&fence));
    buf_adds(b, text);
    size_t n = strlen(text);
    buf_addf(b, "%s%s\n", n > 0 && text[n - 1] == '\n' ? "" : "\n", buf_cstr(&fence));
    b->failed = b->failed || !buf_ok(&fence);
    buf_finish(&fence);
}

// A command that the user ran beside the conversation.
static enum pi_status bash_execution(struct message **out, const struct json *j,
                                     struct pi_error *err)
{
    const char *command = json_get_str(j, "command");
    const char *output = json_get_str(j, "output");
    const struct json *code = json_get(j, "exitCode");
    const char *log = json_get_str(j, "fullOutputPath");
    if (json_get_bool(j, "excludeFromContext", false)) {
        return PI_OK;
    }
    if (!command) {
        return error_set(err, PI_INVALID, "a command of the user without its text");
    }
    struct buf text = {0};
    buf_adds(&text, "The user ran this command:\n");
    add_fenced(&text, command);
    if (output && *output) {
        buf_adds(&text, "Its output:\n");
        add_fenced(&text, output);
    } else {
        buf_adds(&text, "It printed nothing.\n");
    }
    if (json_get_bool(j, "truncated", false)) {
        buf_addf(&text, "Only the end of the output is shown%s%s.\n",
                 log ? "; all of it is in " : "", log ? log : "");
    }
    if (json_get_bool(j, "cancelled", false)) {
        buf_adds(&text, "The user stopped it.");
    } else if (json_type(code) == JSON_NUMBER) {
        buf_addf(&text, "It exited with code %.0f.", json_num(code, 0));
    }
    return user_message(out, &text, err);
}

typedef enum pi_status reader(struct message **out, const struct json *j,
                              struct pi_error *err);

struct row {
    const char *name;
    reader *read;
};

// Roles beside those of the transcript; hookMessage is what version 2 called custom.
static const struct row roles[] = {
    {"bashExecution", bash_execution}, {"custom", custom},
    {"hookMessage", custom},           {"branchSummary", branch_summary},
    {"compactionSummary", compaction}, {NULL, NULL},
};

static reader *find(const struct row *rows, const char *name)
{
    for (const struct row *r = rows; name && r->name; r++) {
        if (strcmp(name, r->name) == 0) {
            return r->read;
        }
    }
    return NULL;
}

static enum pi_status plain_message(struct message **out, const struct json *entry,
                                    struct pi_error *err)
{
    const struct json *j = json_get(entry, "message");
    reader *read = find(roles, json_get_str(j, "role"));
    if (read) {
        return read(out, j, err);
    }
    enum pi_status status = message_parse(out, j, err);
    // Other programs have roles of their own.
    return status == PI_UNSUPPORTED && json_get_str(j, "role") ? PI_OK : status;
}

static const struct row types[] = {
    {"message", plain_message},
    {"compaction", compaction},
    {"branch_summary", branch_summary},
    {"custom_message", custom},
    {NULL, NULL},
};

enum pi_status entry_message(struct message **out, const struct json *entry,
                             struct pi_error *err)
{
    *out = NULL;
    reader *read = find(types, json_get_str(entry, "type"));
    enum pi_status status = read ? read(out, entry, err) : PI_OK;
    if (status == PI_UNSUPPORTED) {
        status = error_set(err, PI_INVALID, "a message without a role");
    }
    const char *time = json_get_str(entry, "timestamp");
    int64_t ms;
    if (*out && (read != plain_message || (*out)->timestamp_ms == 0) && time &&
        clock_parse_iso(&ms, time)) {
        (*out)->timestamp_ms = ms;
    }
    return status;
}
