#include "pack.h"

#include <msgpack.h>

static int append(void *data, const char *bytes, size_t len)
{
    struct buf *out = data;
    buf_add(out, bytes, len);
    return buf_ok(out) ? 0 : -1;
}

static msgpack_packer packer(struct pack *p)
{
    msgpack_packer packer;
    msgpack_packer_init(&packer, p->out, append);
    return packer;
}

void pack_init(struct pack *p, struct buf *out, unsigned base)
{
    *p = (struct pack){.out = out, .base = base};
}

// A value is written; so may be the containers around it.
static void close_value(struct pack *p)
{
    while (p->depth > 0 && --p->left[p->depth - 1] == 0) {
        p->depth--;
    }
}

static void open_container(struct pack *p, size_t values)
{
    if (p->base + p->depth >= PACK_DEPTH_MAX) {
        p->out->failed = true;
    } else if (values == 0) {
        close_value(p);
    } else {
        p->left[p->depth++] = values;
    }
}

void pack_array(struct pack *p, size_t n)
{
    msgpack_packer pk = packer(p);
    msgpack_pack_array(&pk, n);
    open_container(p, n);
}

void pack_map(struct pack *p, size_t n)
{
    msgpack_packer pk = packer(p);
    msgpack_pack_map(&pk, n);
    open_container(p, 2 * n);
}

void pack_text(struct pack *p, struct sv text)
{
    msgpack_packer pk = packer(p);
    msgpack_pack_str(&pk, text.n);
    msgpack_pack_str_body(&pk, text.p, text.n);
    close_value(p);
}

void pack_number(struct pack *p, uint64_t number)
{
    msgpack_packer pk = packer(p);
    msgpack_pack_uint64(&pk, number);
    close_value(p);
}

void pack_nil(struct pack *p)
{
    msgpack_packer pk = packer(p);
    msgpack_pack_nil(&pk);
    close_value(p);
}

void pack_packed(struct pack *p, const struct buf *values, size_t n)
{
    p->out->failed = p->out->failed || values->failed;
    buf_add(p->out, values->data, values->len);
    for (size_t i = 0; i < n; i++) {
        close_value(p);
    }
}
