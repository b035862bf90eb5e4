#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "file_type.h"
#include "image.h"
#include "line_window.h"
#include "read_image.h"
#include "read_outline.h"
#include "read_text.h"
#include "sys/path.h"
#include "target.h"
#include "text/truncate.h"
#include "tool/memory.h"
#include "tools.h"
#include "utf16.h"

// How far to count lines behind the window: cheap beside starting a program, and enough
// for the total of every ordinary source file.
enum { COUNT_AHEAD_BYTES = 4 * 1024 * 1024 };

// The largest number that a double holds exactly; line numbers beyond it mean "the end".
#define MAX_LINE_NUMBER 9007199254740992.0

// What flows from the host: first the kind of file is found out, then lines are cut out.
struct reader {
    const char *path;
    struct buf start; // of the file, until its kind is known
    bool known;
    bool stopped; // by us: the end was not reached
    struct file_type type;
    bool is_image;
    struct buf image; // its bytes, up to IMAGE_FILE_MAX + 1
    struct utf16_stream utf16;
    struct buf scratch;
    struct line_window window;
    struct read_outline outline;
};

static void reader_finish(struct reader *r)
{
    buf_finish(&r->start);
    buf_finish(&r->scratch);
    buf_finish(&r->image);
    line_window_finish(&r->window);
    read_outline_finish(&r->outline);
}

static bool feed_image(struct reader *r, struct sv bytes)
{
    buf_addsv(&r->image, sv_sub(bytes, 0, IMAGE_FILE_MAX + 1 - r->image.len));
    return buf_ok(&r->image) && r->image.len <= IMAGE_FILE_MAX;
}

static bool feed_utf8(struct reader *r, struct sv bytes)
{
    read_outline_feed(&r->outline, bytes);
    return line_window_feed(&r->window, bytes);
}

static bool feed_text(struct reader *r, struct sv bytes)
{
    if (r->type.encoding == TEXT_UTF8) {
        return feed_utf8(r, bytes);
    }
    buf_clear(&r->scratch);
    utf16_feed(&r->utf16, &r->scratch, bytes);
    return buf_ok(&r->scratch) && feed_utf8(r, buf_sv(&r->scratch));
}

static bool find_type(struct reader *r)
{
    r->known = true;
    r->type = file_type_of(buf_sv(&r->start));
    r->utf16.big_endian = r->type.encoding == TEXT_UTF16_BE;
    struct image_info info;
    struct sv start = buf_sv(&r->start);
    r->is_image = r->type.binary && image_info_read(&info, start);
    read_outline_start(&r->outline, r->path, start);
    bool more =
        r->is_image ? feed_image(r, start) : !r->type.binary && feed_text(r, start);
    buf_finish(&r->start);
    return more;
}

static bool feed(void *data, struct sv bytes)
{
    struct reader *r = data;
    bool more = true;
    if (!r->known) {
        size_t room = FILE_TYPE_SNIFF - r->start.len;
        size_t n = bytes.n < room ? bytes.n : room;
        buf_add(&r->start, bytes.p, n);
        bytes = sv_from(bytes, n);
        more = buf_ok(&r->start) && (r->start.len < FILE_TYPE_SNIFF || find_type(r));
    }
    if (more && bytes.n > 0) {
        more = r->is_image ? feed_image(r, bytes) : feed_text(r, bytes);
    }
    r->stopped = !more;
    return more;
}

static bool reader_end(struct reader *r)
{
    if (!r->stopped && !r->known) {
        r->stopped = !find_type(r);
    }
    if (!r->stopped && !r->is_image) {
        buf_clear(&r->scratch);
        utf16_end(&r->utf16, &r->scratch);
        r->stopped = !feed_utf8(r, buf_sv(&r->scratch));
    }
    if (!r->stopped && !r->is_image) {
        line_window_end(&r->window);
    }
    return buf_ok(&r->start) && buf_ok(&r->scratch) && buf_ok(&r->image) &&
           buf_ok(&r->window.kept);
}

// Offsets below 1 mean the start, as everybody expects; a limit below 1 asks for nothing.
static enum pi_status window_of(struct line_window *w, bool *limited,
                                const struct json *args, struct pi_error *err)
{
    double offset = json_get_num(args, "offset", 1);
    double limit = json_get_num(args, "limit", MAX_LINE_NUMBER);
    if (!(limit >= 1)) {
        return error_set(
            err, PI_INVALID,
            "limit is a number of lines and must be at least 1, not %g; leave "
            "it out to read up to %d lines",
            limit, TRUNCATE_MAX_LINES);
    }
    *limited = limit <= TRUNCATE_MAX_LINES;
    w->max_lines = *limited ? (uint64_t)limit : TRUNCATE_MAX_LINES;
    w->first = 1;
    if (offset >= 1) {
        w->first = (uint64_t)(offset < MAX_LINE_NUMBER ? offset : MAX_LINE_NUMBER);
    }
    w->max_bytes = TRUNCATE_MAX_BYTES;
    w->ahead = COUNT_AHEAD_BYTES;
    return PI_OK;
}

static enum pi_status explain(const struct host_target *target, enum pi_status st,
                              struct pi_error *err)
{
    if (st == PI_NOT_FOUND) {
        return error_set(err, st,
                         "%s: no such file (looked for %s). List the folder to see what "
                         "is there.",
                         target->shown, target->path);
    }
    if (st == PI_INVALID && target->exists && S_ISDIR(target->mode)) {
        return error_set(err, st, "%s is a directory, not a file. List it with ls.",
                         target->shown);
    }
    return st;
}

static void remember(const struct tool_call *call, const struct read_text *t)
{
    const struct line_window *w = t->window;
    bool whole = w->at_end && w->first == 1 && w->kept_lines == w->lines;
    // Of a page only the stamp tells whether the file is still the same; a buffer has
    // none.
    if (!call->context->memory || (!whole && t->origin.buffer)) {
        return;
    }
    uint64_t hash = whole ? file_hash(FILE_HASH_START, w->kept.data, w->kept.len) : 0;
    const struct host_target *target = &call->plan.target;
    file_memory_saw(call->context->memory, target->key, target->path,
                    t->origin.buffer ? NULL : &t->stamp, hash);
}

static enum pi_status show(struct tool_result *result, struct tool_call *call,
                           struct read_text *t, struct pi_error *err)
{
    struct buf text = {0};
    enum pi_status st = t->type.binary ? read_text_binary(&text, t, err)
                                       : read_text_write(&text, &result->details, t, err);
    if (st == PI_OK && (!buf_ok(&text) || !tool_result_text(result, buf_sv(&text)))) {
        st = error_nomem(err);
    }
    if (st == PI_OK && !t->type.binary && !t->outline_only) {
        remember(call, t);
    }
    buf_finish(&text);
    return st;
}

static enum pi_status execute(struct tool_result *result, struct tool_call *call,
                              struct pi_error *err)
{
    const struct host_target *target = &call->plan.target;
    struct host *host = call->context->host;
    struct reader r = {.path = target->path};
    struct read_text t = {.target = target, .window = &r.window};
    enum pi_status st = window_of(&r.window, &t.limited, call->args, err);
    r.outline = read_outline_begin(call, r.window.first);
    if (st == PI_OK) {
        st = host->ops->read(host, target, 0, feed, &r, &t.origin, &t.stamp, call->cancel,
                             err);
        st = explain(target, st, err);
    }
    if (st == PI_OK && !reader_end(&r)) {
        st = error_nomem(err);
    }
    if (st == PI_OK && r.is_image) {
        unsigned long long size = t.origin.buffer ? r.image.len : (size_t)t.stamp.size;
        st = read_image_write(result, call, buf_sv(&r.image), size, err);
    } else if (st == PI_OK) {
        t.type = r.type;
        read_outline_end(&r.outline, &t, call);
        st = show(result, call, &t, err);
    }
    reader_finish(&r);
    return st;
}

static enum pi_status plan(struct tool_plan *out, const struct json *args,
                           const struct tool_context *context, struct pi_error *err)
{
    return target_plan(out, args, context, TOOL_READ, err);
}

static const char *const guidelines[] = {
    "Look at files with read rather than with cat, head or sed.",
    NULL,
};

const struct pi_tool_definition tool_read = {
    .name = "read",
    .label = "Read",
    .description =
        "Shows the text of a file. At most 2000 lines or 50KB come at once, whole lines "
        "from the top; a notice at the end tells how to go on with offset, and of a "
        "source "
        "file what else is in it. Images (PNG, "
        "JPEG, GIF, WebP) are shown as such; other binary files are named, not shown.",
    .parameters =
        "{\"type\":\"object\",\"properties\":{"
        "\"path\":{\"type\":\"string\",\"description\":\"The file, absolute or relative "
        "to the working directory\"},"
        "\"offset\":{\"type\":\"number\",\"description\":\"First line to show, counted "
        "from 1\"},"
        "\"limit\":{\"type\":\"number\",\"description\":\"How many lines to show\"},"
        "\"outline\":{\"type\":\"boolean\",\"description\":\"true: show what the file "
        "consists of (functions, types, headings) with line numbers; the text only with "
        "offset or limit\"}},"
        "\"required\":[\"path\"]}",
    .snippet = "show the text of a file, or an image",
    .guidelines = guidelines,
    .title = "read {path}",
    .source = TOOL_BUILTIN,
    .mode = TOOL_PARALLEL,
    .plan = plan,
    .execute = execute,
};
