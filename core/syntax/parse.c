#include "syntax/parse.h"

#include <string.h>
#include <time.h>

enum { SLICE_US = 5000 }; // how long cancel may go unseen

// Not the time of day: a machine that is busy with other things must not decide.
static int64_t thread_us(void)
{
    struct timespec t;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
    return (int64_t)t.tv_sec * 1000000 + t.tv_nsec / 1000;
}

static int64_t budget_us(size_t bytes)
{
    int64_t mib = 1024 * 1024;
    return 1000 * (PARSE_BASE_MS + (int64_t)bytes * PARSE_MS_PER_MIB / mib);
}

static enum pi_status parse_slices(TSTree **out, TSParser *parser, struct sv text,
                                   const struct cancel *cancel, struct pi_error *err)
{
    int64_t end = thread_us() + budget_us(text.n);
    ts_parser_set_timeout_micros(parser, SLICE_US);
    do {
        enum pi_status status = cancel_check(cancel, err);
        if (status) {
            return status;
        }
        // After a timeout the same call goes on where it stopped.
        *out = ts_parser_parse_string(parser, NULL, text.p, (uint32_t)text.n);
        if (*out) {
            return PI_OK;
        }
    } while (thread_us() < end);
    return error_set(err, PI_LIMIT, "the text takes too long to parse");
}

enum pi_status parse_text(TSTree **out, const TSLanguage *language, struct sv text,
                          const struct cancel *cancel, struct pi_error *err)
{
    if (text.n > PARSE_MAX_BYTES) {
        return error_set(err, PI_LIMIT, "the text is too large to be parsed");
    }
    if (text.n == 0) {
        text = sv_of("");
    }
    TSParser *parser = ts_parser_new();
    enum pi_status status =
        ts_parser_set_language(parser, language)
            ? parse_slices(out, parser, text, cancel, err)
            : error_set(err, PI_UNSUPPORTED, "the grammar does not fit");
    ts_parser_delete(parser);
    return status;
}

struct parse_walk parse_walk_start(TSNode root)
{
    return (struct parse_walk){.cursor = ts_tree_cursor_new(root)};
}

void parse_walk_finish(struct parse_walk *w)
{
    ts_tree_cursor_delete(&w->cursor);
}

static bool advance(struct parse_walk *w, bool descend)
{
    if (descend && ts_tree_cursor_goto_first_child(&w->cursor)) {
        w->depth++;
        return true;
    }
    while (!ts_tree_cursor_goto_next_sibling(&w->cursor)) {
        if (w->depth == 0) {
            return false;
        }
        ts_tree_cursor_goto_parent(&w->cursor);
        w->depth--;
    }
    return true;
}

bool parse_walk_next(struct parse_walk *w, bool descend, TSNode *node)
{
    if (!w->started) {
        w->started = true;
    } else if (!w->ended) {
        w->ended = !advance(w, descend);
    }
    if (!w->ended) {
        *node = ts_tree_cursor_current_node(&w->cursor);
    }
    return !w->ended;
}

TSNode parse_walk_parent(const struct parse_walk *w)
{
    TSNode node = {0};
    TSTreeCursor up = ts_tree_cursor_copy(&w->cursor);
    if (ts_tree_cursor_goto_parent(&up)) {
        node = ts_tree_cursor_current_node(&up);
    }
    ts_tree_cursor_delete(&up);
    return node;
}

struct sv parse_node_text(TSNode node, struct sv text)
{
    if (ts_node_is_null(node)) {
        return sv_make(NULL, 0);
    }
    uint32_t start = ts_node_start_byte(node);
    uint32_t end = ts_node_end_byte(node);
    return sv_sub(text, start, end > start ? end - start : 0);
}

TSNode parse_field(TSNode node, const char *field)
{
    return ts_node_child_by_field_name(node, field, (uint32_t)strlen(field));
}

bool parse_is(TSNode node, const char *type)
{
    return !ts_node_is_null(node) && strcmp(ts_node_type(node), type) == 0;
}
