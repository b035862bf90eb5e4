#include "rows.h"

#include <inttypes.h>

#include "sys/env.h"
#include "text/truncate.h"
#include "text/utf8.h"

void rows_finish(struct rows *r)
{
    buf_finish(&r->text);
    buf_finish(&r->notes);
    json_destroy(r->details);
    *r = (struct rows){0};
}

static bool is_plain(struct sv name)
{
    for (size_t i = 0; i < name.n; i++) {
        unsigned char c = (unsigned char)name.p[i];
        if (c < ' ' || c == 0x7f) {
            return false;
        }
    }
    return utf8_valid(name);
}

void rows_add_name(struct rows *r, struct sv name)
{
    if (is_plain(name)) {
        buf_addsv(&r->text, name);
        return;
    }
    r->escaped = true;
    buf_adds(&r->text, "$'");
    while (name.n > 0) {
        unsigned char c = (unsigned char)name.p[0];
        size_t n = utf8_sequence(name);
        if (c == '\n') {
            buf_adds(&r->text, "\\n");
        } else if (c == '\t') {
            buf_adds(&r->text, "\\t");
        } else if (c == '\\' || c == '\'') {
            buf_addf(&r->text, "\\%c", c);
        } else if (n == 0 || c < ' ' || c == 0x7f) {
            buf_addf(&r->text, "\\x%02x", c);
        } else {
            buf_add(&r->text, name.p, n);
        }
        name = sv_from(name, n ? n : 1);
    }
    buf_addc(&r->text, '\'');
}

void rows_begin_note(struct rows *r)
{
    if (r->notes.len > 0) {
        buf_addc(&r->notes, '\n');
    }
    buf_addc(&r->notes, '[');
}

static bool set_detail(struct rows *r, const char *key, struct json *value)
{
    if (!r->details) {
        r->details = json_new_object();
    }
    return json_set(r->details, key, value);
}

bool rows_detail(struct rows *r, const char *key, size_t value)
{
    return set_detail(r, key, json_new_int((int64_t)value));
}

enum pi_status rows_limit(size_t *limit, const struct json *args, size_t usual,
                          struct pi_error *err)
{
    double asked = json_get_num(args, "limit", (double)usual);
    if (!(asked >= 1)) {
        return error_set(err, PI_INVALID,
                         "limit must be at least 1, not %g; leave it out for %zu", asked,
                         usual);
    }
    *limit = asked < 1e9 ? (size_t)asked : (size_t)1000000000;
    return PI_OK;
}

struct ignore_places rows_places(const struct tool_context *context)
{
    const struct env *env = context->environment;
    return (struct ignore_places){
        .home = context->home,
        .config_home = env ? env_get(env, "XDG_CONFIG_HOME") : NULL,
    };
}

bool rows_add_skipped(struct buf *out, const struct walk_report *report)
{
    if (report->ignored > 0) {
        buf_addf(out, "%zu entr%s left out by ignore rules (ignored: true takes %s in)",
                 report->ignored, report->ignored == 1 ? "y" : "ies",
                 report->ignored == 1 ? "it" : "them");
    }
    if (report->unreadable > 0) {
        buf_addf(out, "%s%zu folder%s that could not be read",
                 report->ignored > 0 ? ", " : "", report->unreadable,
                 report->unreadable == 1 ? "" : "s");
    }
    return report->ignored > 0 || report->unreadable > 0;
}

static void note_cut(struct rows *r, const struct truncation *t)
{
    rows_begin_note(r);
    if (t->first_line_exceeds_limit) {
        buf_adds(&r->notes, "The first row alone is over the limit of ");
    } else {
        buf_addf(&r->notes, "There are more than the %zu rows shown, which fill ",
                 t->kept_lines);
    }
    size_format(&r->notes, TRUNCATE_MAX_BYTES);
    buf_adds(&r->notes, ". Narrow the search to see the rest.]");
}

enum pi_status rows_result(struct tool_result *result, struct rows *r,
                           struct pi_error *err)
{
    struct truncation t = truncate_head(buf_sv(&r->text), SIZE_MAX, TRUNCATE_MAX_BYTES);
    struct buf out = {0};
    bool ok = true;
    if (t.truncated) {
        note_cut(r, &t);
        ok = set_detail(r, "truncation",
                        truncation_json(&t, SIZE_MAX, TRUNCATE_MAX_BYTES));
    }
    if (r->escaped) {
        rows_begin_note(r);
        buf_adds(&r->notes, "Names written as $'...' hold characters that cannot be "
                            "shown; bash understands this form, the other tools do "
                            "not.]");
    }
    buf_addsv(&out, t.kept);
    if (out.len > 0 && out.data[out.len - 1] == '\n') {
        buf_truncate(&out, out.len - 1);
    }
    if (r->notes.len > 0) {
        buf_adds(&out, out.len > 0 ? "\n\n" : "");
        buf_addsv(&out, buf_sv(&r->notes));
    }
    ok = ok && buf_ok(&r->text) && buf_ok(&r->notes) && buf_ok(&out) &&
         tool_result_text(result, buf_sv(&out));
    if (ok) {
        result->details = r->details;
        r->details = NULL;
    }
    buf_finish(&out);
    rows_finish(r);
    return ok ? PI_OK : error_nomem(err);
}
