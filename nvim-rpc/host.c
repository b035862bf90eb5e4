#include "host.h"

#include <string.h>

#include "server.h"

static void on_request(void *data, const struct pi_host_request *request)
{
    static const char *const ops[] = {
        [PI_HOST_READ] = "read",
        [PI_HOST_SNAPSHOT] = "snapshot",
        [PI_HOST_APPLY] = "apply",
        [PI_HOST_CALL_TOOL] = "call_tool",
        [PI_HOST_BEFORE_COMMAND] = "before_command",
    };
    struct pack item;
    server_add_item(data, &item);
    pack_array(&item, 8);
    pack_text(&item, sv_of("host"));
    pack_text(&item, sv_of(ops[request->op]));
    pack_number(&item, request->id);
    pack_text(&item, sv_of(request->path));
    pack_number(&item, request->version);
    pack_array(&item, request->changes_len);
    for (size_t i = 0; i < request->changes_len; i++) {
        const struct pi_change *c = &request->changes[i];
        pack_array(&item, 3);
        pack_number(&item, c->offset);
        pack_number(&item, c->length);
        pack_text(&item, sv_make(c->text, c->text_len));
    }
    pack_text(&item, sv_of(request->tool ? request->tool : ""));
    pack_text(&item, sv_make(request->arguments, request->arguments_len));
}

static void on_withdraw(void *data, uint64_t id)
{
    struct pack item;
    server_add_item(data, &item);
    pack_array(&item, 2);
    pack_text(&item, sv_of("withdraw"));
    pack_number(&item, id);
}

const struct pi_host host_of_neovim = {.request = on_request, .withdraw = on_withdraw};

enum pi_status host_status(const char *name)
{
    static const struct {
        const char *name;
        enum pi_status status;
    } names[] = {
        {"ok", PI_OK},           {"not_open", PI_HOST_NOT_OPEN},
        {"stale", PI_STALE},     {"conflict", PI_CONFLICT},
        {"invalid", PI_INVALID},
    };
    for (size_t i = 0; name && i < sizeof names / sizeof *names; i++) {
        if (strcmp(name, names[i].name) == 0) {
            return names[i].status;
        }
    }
    return PI_IO;
}
