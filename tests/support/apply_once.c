// usage: apply-once FILE FROM TO   changes FROM, which must stand in FILE, to TO
//        apply-once FILE TEXT      creates FILE
// One change on disk, as small a program as can be, to be killed at every system call.
// Status 0: done; 2: refused because of the safety copy of a killed run; 1: other.

#include <stdio.h>
#include <string.h>

#include "host/host.h"

static enum pi_status change(struct host_target *t, int argc, char **argv,
                             struct pi_error *err)
{
    struct host *h = host_posix();
    struct host_snapshot s = {0};
    struct host_applied a = {0};
    struct host_change c = {.text = sv_of(argv[argc - 1])};
    enum pi_status status = h->ops->snapshot(h, t, &s, NULL, err);
    if (status == PI_OK && argc == 4) {
        const char *at = strstr(buf_cstr(&s.text), argv[2]);
        c.offset = at ? (size_t)(at - buf_cstr(&s.text)) : 0;
        c.length = at ? strlen(argv[2]) : 0;
        status = at ? PI_OK : error_set(err, PI_NOT_FOUND, "no such text");
    }
    if (status == PI_OK) {
        status = h->ops->apply(h, t, &s, &c, 1, NULL, &a, NULL, err);
    }
    host_applied_finish(&a);
    host_snapshot_finish(&s);
    return status;
}

int main(int argc, char **argv)
{
    struct host_target t = {0};
    struct pi_error err = {0};
    if (argc != 3 && argc != 4) {
        fputs("usage: apply-once FILE [FROM] TO\n", stderr);
        return 64;
    }
    enum pi_status status = host_resolve(&t, argv[1], argv[1], &err);
    if (status == PI_OK) {
        status = change(&t, argc, argv, &err);
    }
    host_target_finish(&t);
    if (status != PI_OK) {
        fprintf(stderr, "%s\n", err.message);
    }
    return status == PI_OK ? 0 : status == PI_CONFLICT ? 2 : 1;
}
