#pragma once

#include "rows.h"
#include "sys/cancel.h"
#include "text/regex.h"

/**
 * Searches texts line by line and writes rows: NAME:LINE: TEXT for a line that matches,
 * NAME-LINE- TEXT for one shown around it, "--" between blocks.
 */
struct grep {
    struct regex *regex;
    struct regex_matcher *matcher;
    bool across;   // a search in the whole text finds the line of every match
    bool line_end; // the pattern may look at the end of a line
    size_t context, limit;
    struct cancel *cancel;

    struct rows rows;
    size_t matches;        // lines that match, shown
    bool more;             // than the limit or the byte cap
    size_t cut_lines;      // shown in part
    size_t complex;        // lines that the pattern was too complex for
    struct buf complex_at; // the first of them: NAME:LINE
};

/** After so many lines that are too complex the search ends: each takes its time. */
enum { GREP_COMPLEX_MAX = 20 };

/** PI_INVALID: the pattern. */
enum pi_status grep_init(struct grep *g, struct sv pattern, unsigned flags,
                         struct pi_error *err) NODISCARD;
void grep_finish(struct grep *g);

/** The same search for another thread; shares the expression with `from`, which must
 * outlive it. */
enum pi_status grep_share(struct grep *out, const struct grep *from,
                          struct pi_error *err) NODISCARD;

/** Moves what was found so far to *out; from goes on with nothing found. */
void grep_take(struct grep *out, struct grep *from);

/** Adds what was found behind what was found before; found is empty afterwards. */
void grep_append(struct grep *g, struct grep *found);

/** PI_OK also without a match; ends early with g->more. PI_ABORTED, PI_NOMEM. */
enum pi_status grep_text(struct grep *g, struct sv name, struct sv text,
                         struct pi_error *err) NODISCARD;
