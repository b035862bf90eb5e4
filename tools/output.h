#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/buf.h"
#include "base/json.h"
#include "spill.h"
#include "text/term.h"
#include "text/truncate.h"

/**
 * The output of a running command in fixed memory: the end of it as plain text for the
 * result, all of it in a log once it is more than that, and what is new for the display.
 *
 * Bytes that can no longer be shown are counted and logged but not interpreted, so that a
 * flood costs little more than copying it.
 */
struct output {
    struct spill spill;

    uint64_t total_bytes, ended_lines;
    uint64_t open_bytes; // of the line that has not ended
    uint64_t last_bytes; // of the line that ended last

    struct buf raw;     // everything, as long as it is small
    struct buf pending; // bytes that are not yet interpreted
    struct term term;
    struct buf tail;  // interpreted text, its newest part
    bool tail_is_cut; // older text is gone
    bool failed;      // bytes were lost for want of memory

    void (*show)(void *data, struct sv text); // NULL = no display
    void *show_data;
    struct buf fresh;      // text that was not shown yet
    struct buf shown_line; // what was shown of the open line
    uint64_t skipped;      // bytes that will not be shown
    int64_t show_at;       // not earlier, in ms of clock_mono_ms
    bool dirty;            // something came since the last time
};

/** show, which may be NULL, gets new text at most every 100 ms, from output_feed. */
enum pi_status output_init(struct output *o, const char *temp_dir,
                           void (*show)(void *data, struct sv text), void *data,
                           struct pi_error *err) NODISCARD;

/** Accepts a zeroed struct. The log stays. */
void output_finish(struct output *o);

/**
 * Takes the next bytes, if any, and shows what is due. Returns after how many ms to call
 * it without bytes when none come; -1: not.
 */
int output_feed(struct output *o, struct sv bytes);

/** Makes the log hold everything so far, because others go on writing it. */
void output_hand_over(struct output *o);

/**
 * No more bytes come: shows the rest and appends to out the end of the output and, when
 * something is missing, a notice that tells where all of it is. *details gets the record
 * for the result, NULL when nothing is missing. keep_log: the log has other writers and
 * stays in any case. PI_NOMEM.
 */
enum pi_status output_end(struct output *o, bool keep_log, struct buf *out,
                          struct json **details, struct pi_error *err) NODISCARD;

/** Number of LF. */
size_t output_count_lf(struct sv bytes);
