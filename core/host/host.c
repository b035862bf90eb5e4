#include "host/host.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "host/safety.h"
#include "sys/path.h"

void host_target_finish(struct host_target *t)
{
    if (!t) {
        return;
    }
    free(t->path);
    free(t->shown);
    free(t->key);
    free(t->leftover);
    *t = (struct host_target){0};
}

void host_snapshot_finish(struct host_snapshot *s)
{
    if (!s) {
        return;
    }
    buf_finish(&s->text);
    *s = (struct host_snapshot){0};
}

void host_applied_finish(struct host_applied *a)
{
    if (!a) {
        return;
    }
    free(a->changes);
    buf_finish(&a->memory);
    *a = (struct host_applied){0};
}

// The real path names a file well enough unless it has other names, too.
static char *file_key(const char *path, const struct stat *st)
{
    if (!st || !S_ISREG(st->st_mode) || st->st_nlink < 2) {
        return strdup(path);
    }
    struct buf b = {0};
    buf_addf(&b, "%ju:%ju", (uintmax_t)st->st_dev, (uintmax_t)st->st_ino);
    return buf_take(&b);
}

enum pi_status host_resolve(struct host_target *out, const char *path, const char *shown,
                            struct pi_error *err)
{
    struct host_target t = {0};
    struct stat st;
    enum pi_status status = path_real(&t.path, path, err);
    if (status == PI_IO && err) {
        err->code = PI_INVALID; // a loop of links: nothing that the system could mend
    }
    if (status != PI_OK) {
        return status == PI_IO ? PI_INVALID : status;
    }
    t.exists = stat(t.path, &st) == 0;
    t.mode = t.exists ? st.st_mode : 0;
    t.shown = strdup(shown);
    t.key = file_key(t.path, t.exists ? &st : NULL);
    if (!t.shown || !t.key) {
        host_target_finish(&t);
        return error_nomem(err);
    }
    if (t.exists && S_ISREG(st.st_mode)) {
        t.leftover = safety_find(t.path);
    }
    *out = t;
    return PI_OK;
}

enum pi_status host_changed_text(struct buf *out, struct sv text,
                                 const struct host_change *changes, size_t len)
{
    size_t at = 0;
    for (size_t i = 0; i < len; i++) {
        const struct host_change *c = &changes[i];
        if (c->offset < at || c->offset > text.n || c->length > text.n - c->offset) {
            return PI_INVALID;
        }
        buf_addsv(out, sv_sub(text, at, c->offset - at));
        buf_addsv(out, c->text);
        at = c->offset + c->length;
    }
    buf_addsv(out, sv_from(text, at));
    return buf_ok(out) ? PI_OK : PI_NOMEM;
}
