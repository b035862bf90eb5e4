#include "utf16.h"

#include "text/utf8.h"

static void put_unit(struct utf16_stream *u, struct buf *out, uint16_t unit)
{
    bool trail = unit >= 0xDC00 && unit < 0xE000;
    if (u->lead && trail) {
        utf8_put(out, 0x10000u + ((uint32_t)(u->lead - 0xD800) << 10) + (unit - 0xDC00u));
        u->lead = 0;
        return;
    }
    if (u->lead) {
        utf8_put(out, 0xFFFD);
        u->lead = 0;
    }
    if (unit >= 0xD800 && unit < 0xDC00) {
        u->lead = unit;
    } else {
        utf8_put(out, trail ? 0xFFFD : unit);
    }
}

void utf16_feed(struct utf16_stream *u, struct buf *out, struct sv piece)
{
    for (size_t i = 0; i < piece.n; i++) {
        unsigned char byte = (unsigned char)piece.p[i];
        if (!u->odd) {
            u->byte = byte;
            u->odd = true;
            continue;
        }
        u->odd = false;
        unsigned unit =
            u->big_endian ? (unsigned)u->byte << 8 | byte : (unsigned)byte << 8 | u->byte;
        put_unit(u, out, (uint16_t)unit);
    }
}

void utf16_end(struct utf16_stream *u, struct buf *out)
{
    if (u->lead || u->odd) {
        utf8_put(out, 0xFFFD);
    }
    *u = (struct utf16_stream){.big_endian = u->big_endian};
}
