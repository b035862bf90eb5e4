#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "channel.h"
#include "pack.h"
#include "pi.h"

/**
 * The state of pi-nvim: one connection and, after `hello`, one agent. Everything runs on
 * the thread of the poll loop; only the wake-up comes from others.
 *
 * Flow: what the agent has to say goes to Neovim in batches, one request at a time, and
 * the next one starts when Neovim has answered and 16 ms have passed. Until then things
 * wait in the agent, which merges and bounds them. Before each batch Neovim is asked
 * whether it can take one (nvim_get_mode answers at once, also in a dialog), so that
 * requests for buffers are not taken out of the agent's hands while they cannot be
 * served.
 */

enum server_flight { FLIGHT_NONE, FLIGHT_PROBE, FLIGHT_BATCH };

struct server {
    struct channel channel;
    pi_agent *agent;
    uint64_t connection; // how Neovim names this channel; goes with each batch
    int wake_fd;         // eventfd

    bool mail;        // there is something to dispatch
    struct buf items; // of the next batch, packed
    size_t items_len; // how many
    enum server_flight flight;
    uint32_t flight_id; // of the request that waits for its answer
    int64_t next_ms;    // no batch before this

    bool over;   // the loop ends
    bool failed; // and not well
};

/** The levels around an item of a batch: request, parameters, arguments, batch. */
enum { SERVER_ITEM_BASE = 4 };

/** Takes the descriptors over. */
enum pi_status server_init(struct server *s, int in, int out,
                           struct pi_error *err) NODISCARD;

/** Ends the agent and all that it started. */
void server_finish(struct server *s);

/** Adds one to the items of the next batch; the caller packs it. */
void server_add_item(struct server *s, struct pack *item);

/** Adds a text for the user. */
void server_add_error(struct server *s, const char *text);

/** The agent may have something (wake-up). */
void server_woken(struct server *s);

/** Handles one message of Neovim; data is the server. */
void server_message(void *data, const msgpack_object *message);

/** Sends what may be sent now. */
void server_step(struct server *s);

/** How long the loop may sleep, -1 = until something happens. */
int server_timeout_ms(const struct server *s);
