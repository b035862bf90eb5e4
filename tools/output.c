#include "output.h"

#include <string.h>

#include "sys/clock.h"
#include "text/utf8.h"

enum {
    SHOW_EVERY_MS = 100,
    SHOW_BYTES = 32 * 1024,      // of one update
    PENDING_BYTES = 1024 * 1024, // interpreted when that many have come
    SUFFIX_BYTES = 256 * 1024,   // of which this is looked at to skip the rest
    FILLING_BYTES = 64 * 1024,   // plain text that fills the tail, its first line aside
    STEP_BYTES = 4096,
    TAIL_BYTES = 128 * 1024, // kept, at least; more than what is ever shown
};

/** Adds up the eight bytes of x. */
static size_t sum_bytes(uint64_t x)
{
    const uint64_t even = 0x00ff00ff00ff00ffU;
    uint64_t pairs = (x & even) + (x >> 8 & even);
    return (size_t)(pairs * 0x0001000100010001U >> 48);
}

// Eight bytes a step: memchr is slow when the lines are short.
size_t output_count_lf(struct sv bytes)
{
    const uint64_t lf = 0x0a0a0a0a0a0a0a0aU;
    const uint64_t low = 0x7f7f7f7f7f7f7f7fU;
    const size_t most = 255; // that a byte can count
    size_t count = 0;
    size_t i = 0;
    while (i + 8 <= bytes.n) {
        uint64_t counts = 0;
        for (size_t k = 0; k < most && i + 8 <= bytes.n; k++, i += 8) {
            uint64_t word;
            memcpy(&word, bytes.p + i, 8);
            word ^= lf;
            // The top bit of each byte that is zero now.
            counts += ~(((word & low) + low) | word | low) >> 7;
        }
        count += sum_bytes(counts);
    }
    for (; i < bytes.n; i++) {
        count += bytes.p[i] == '\n';
    }
    return count;
}

enum pi_status output_init(struct output *o, const char *temp_dir,
                           void (*show)(void *data, struct sv text), void *data,
                           struct pi_error *err)
{
    *o = (struct output){.show = show, .show_data = data};
    return spill_init(&o->spill, temp_dir, err);
}

void output_finish(struct output *o)
{
    if (!o) {
        return;
    }
    spill_finish(&o->spill);
    term_finish(&o->term);
    buf_finish(&o->raw);
    buf_finish(&o->pending);
    buf_finish(&o->tail);
    buf_finish(&o->fresh);
    buf_finish(&o->shown_line);
}

// -------------------------------------------------------------------------- the account
// --

static uint64_t total_lines(const struct output *o)
{
    return o->ended_lines + (o->open_bytes > 0);
}

static void count(struct output *o, struct sv bytes)
{
    o->total_bytes += bytes.n;
    const char *last = memrchr(bytes.p, '\n', bytes.n);
    if (!last) {
        o->open_bytes += bytes.n;
        return;
    }
    size_t at = (size_t)(last - bytes.p);
    const char *before = memrchr(bytes.p, '\n', at);
    o->last_bytes = before ? (uint64_t)(last - before - 1) : o->open_bytes + at;
    o->open_bytes = bytes.n - at - 1;
    o->ended_lines += output_count_lf(bytes);
}

static void spill_raw(struct output *o)
{
    o->failed |= !buf_ok(&o->raw);
    if (o->raw.len > 0) {
        spill_write(&o->spill, buf_sv(&o->raw));
    }
    buf_finish(&o->raw);
}

// Small output is held back: it may well fit into the result.
static void log_bytes(struct output *o, struct sv bytes)
{
    bool small = o->total_bytes <= TRUNCATE_MAX_BYTES &&
                 total_lines(o) <= TRUNCATE_MAX_LINES && !o->spill.created;
    if (small) {
        buf_addsv(&o->raw, bytes);
    } else {
        spill_raw(o);
        spill_write(&o->spill, bytes);
    }
}

void output_hand_over(struct output *o)
{
    spill_raw(o);
    spill_write(&o->spill, sv_make(NULL, 0));
}

// ---------------------------------------------------------------------------- the
// display --

// Text that follows what was already shown of the open line.
static void add_fresh(struct output *o, struct sv text)
{
    struct sv shown = buf_sv(&o->shown_line);
    if (text.n == 0) {
        return;
    }
    if (sv_starts(text, shown)) {
        text = sv_from(text, shown.n);
    } else if (sv_starts(shown, text)) {
        buf_drop(&o->shown_line, text.n);
        return;
    } else {
        // The line was overwritten; what was shown cannot be taken back.
        buf_addc(&o->fresh, '\n');
    }
    buf_clear(&o->shown_line);
    buf_addsv(&o->fresh, text);
    if (o->fresh.len > 2 * (size_t)SHOW_BYTES) {
        size_t drop = utf8_ceil(buf_sv(&o->fresh), o->fresh.len - SHOW_BYTES);
        buf_drop(&o->fresh, drop);
        o->skipped += drop;
    }
}

// What the open line has got since it was last shown, unless it was overwritten.
static void add_open_line(struct output *o)
{
    struct buf line = {0};
    term_peek(&o->term, &line);
    struct sv now = buf_sv(&line);
    struct sv shown = buf_sv(&o->shown_line);
    if (sv_starts(now, shown) && now.n > shown.n) {
        buf_addsv(&o->fresh, sv_from(now, shown.n));
        buf_clear(&o->shown_line);
        buf_addsv(&o->shown_line, now);
    }
    buf_finish(&line);
}

static void show(struct output *o)
{
    add_open_line(o);
    if (o->skipped > 0) {
        struct buf text = {0};
        buf_adds(&text, "\n[");
        size_format(&text, o->skipped);
        buf_adds(&text, " of output not shown here]\n");
        buf_addsv(&text, buf_sv(&o->fresh));
        o->show(o->show_data, buf_sv(&text));
        buf_finish(&text);
    } else if (o->fresh.len > 0) {
        o->show(o->show_data, buf_sv(&o->fresh));
    }
    o->skipped = 0;
    buf_clear(&o->fresh);
}

// ------------------------------------------------------------------------------- the
// tail --

/** Whether s alone gives more text than is ever shown, so that nothing before it counts.
 */
static bool fills_the_tail(struct sv s)
{
    size_t lines = 0;
    for (struct sv rest = s; rest.n > 0; rest = sv_from(rest, STEP_BYTES)) {
        lines +=
            output_count_lf(sv_make(rest.p, rest.n < STEP_BYTES ? rest.n : STEP_BYTES));
        if (lines > TRUNCATE_MAX_LINES + 1) {
            return true;
        }
    }
    // Without these every printable byte is text.
    if (memchr(s.p, '\r', s.n) || memchr(s.p, '\033', s.n) || memchr(s.p, '\b', s.n)) {
        return false;
    }
    size_t printable = 0;
    for (size_t i = 0; i < s.n && printable <= FILLING_BYTES; i++) {
        printable += (unsigned char)s.p[i] >= ' ' && s.p[i] != 0x7f;
    }
    return printable > FILLING_BYTES;
}

/** Forgets pending bytes that can no longer be shown, and all text before them. */
static void skip(struct output *o)
{
    struct sv all = buf_sv(&o->pending);
    size_t at = all.n - SUFFIX_BYTES;
    if (!fills_the_tail(sv_from(all, at))) {
        return;
    }
    struct sv suffix = sv_from(all, at);
    const char *lf = memchr(suffix.p, '\n', suffix.n / 2);
    at = lf ? (size_t)(lf - all.p) + 1 : utf8_ceil(all, at);
    o->skipped += at + o->fresh.len;
    buf_clear(&o->fresh);
    buf_clear(&o->shown_line);
    buf_clear(&o->tail);
    o->tail_is_cut = true;
    term_finish(&o->term);
    o->term = (struct term){0};
    buf_drop(&o->pending, at);
}

static void trim_tail(struct output *o)
{
    if (o->tail.len > 2 * (size_t)TAIL_BYTES) {
        buf_drop(&o->tail, o->tail.len - TAIL_BYTES);
        o->tail_is_cut = true;
    }
}

static void interpret(struct output *o)
{
    size_t before = o->tail.len;
    term_feed(&o->term, &o->tail, buf_sv(&o->pending));
    buf_clear(&o->pending);
    if (o->show) {
        add_fresh(o, sv_from(buf_sv(&o->tail), before));
    }
    trim_tail(o);
}

int output_feed(struct output *o, struct sv bytes)
{
    if (bytes.n > 0) {
        count(o, bytes);
        log_bytes(o, bytes);
        buf_addsv(&o->pending, bytes);
        o->failed |= !buf_ok(&o->pending);
        o->dirty = true;
    }
    if (o->pending.len >= PENDING_BYTES) {
        // Leaves the suffix: more may come that makes it superfluous, too.
        skip(o);
    }
    if (o->pending.len >= PENDING_BYTES) {
        interpret(o);
    }
    if (!o->show || !o->dirty) {
        return -1;
    }
    int64_t now = clock_mono_ms();
    if (now < o->show_at) {
        return (int)(o->show_at - now);
    }
    interpret(o);
    show(o);
    o->dirty = false;
    o->show_at = now + SHOW_EVERY_MS;
    return -1;
}

// ----------------------------------------------------------------------------- the
// result --

static void add_place(const struct output *o, struct buf *out)
{
    if (o->spill.created) {
        buf_addf(out, " Full output: %s", o->spill.path);
    }
    if (o->spill.stopped) {
        buf_addf(out,
                 o->spill.created ? " (not all of it: %s)"
                                  : " The full output could not be saved: %s",
                 o->spill.problem);
    }
}

static void add_notice(const struct output *o, const struct truncation *t,
                       struct buf *out)
{
    unsigned long long last = t->total_lines;
    buf_adds(out, "\n\n[Showing ");
    if (t->last_line_partial) {
        buf_adds(out, "last ");
        size_format(out, t->kept.n);
        buf_addf(out, " of line %llu (line is ", last);
        size_format(out, o->open_bytes ? o->open_bytes : o->last_bytes);
        buf_adds(out, ").");
    } else {
        buf_addf(out, "lines %llu-%llu of %llu", last - t->kept_lines + 1, last, last);
        buf_adds(out, t->by_bytes ? " (50.0KB limit)." : ".");
    }
    add_place(o, out);
    buf_addc(out, ']');
}

static struct json *make_details(const struct output *o, const struct truncation *t)
{
    struct json *details = json_new_object();
    bool ok =
        details && json_set(details, "truncation",
                            truncation_json(t, TRUNCATE_MAX_LINES, TRUNCATE_MAX_BYTES));
    if (ok && o->spill.created) {
        ok = json_set_str(details, "fullOutputPath", o->spill.path);
    }
    if (!ok) {
        json_destroy(details);
        return NULL;
    }
    return details;
}

static struct truncation cut(const struct output *o)
{
    struct truncation t =
        truncate_tail(buf_sv(&o->tail), TRUNCATE_MAX_LINES, TRUNCATE_MAX_BYTES);
    if (o->tail_is_cut && !t.truncated) {
        t.truncated = true;
        t.by_bytes = true;
    }
    if (t.truncated) {
        // The tail knows only itself.
        bool open = o->tail.len > 0 && o->tail.data[o->tail.len - 1] != '\n';
        t.total_bytes = o->total_bytes;
        t.total_lines = o->ended_lines + open;
    }
    return t;
}

enum pi_status output_end(struct output *o, bool keep_log, struct buf *out,
                          struct json **details, struct pi_error *err)
{
    *details = NULL;
    interpret(o);
    size_t before = o->tail.len;
    term_end(&o->term, &o->tail);
    if (o->show && o->dirty) {
        add_fresh(o, sv_from(buf_sv(&o->tail), before));
        show(o);
    }
    struct truncation t = cut(o);
    buf_addsv(out, t.kept);
    if (t.truncated) {
        spill_raw(o);
        add_notice(o, &t, out);
        *details = make_details(o, &t);
    } else if (!keep_log) {
        spill_remove(&o->spill);
    }
    bool ok = !o->failed && buf_ok(&o->raw) && buf_ok(&o->tail) && buf_ok(out) &&
              (*details || !t.truncated);
    if (!ok) {
        json_destroy(*details);
        *details = NULL;
        return error_nomem(err);
    }
    return PI_OK;
}
