#include "show.h"

#include "text/utf8.h"

static const struct {
    uint32_t first, last;
} hidden[] = {
    {0x00, 0x08},     {0x0b, 0x1f},     {0x7f, 0x9f},     {0xad, 0xad},
    {0x061c, 0x061c}, {0x200b, 0x200f}, {0x2028, 0x202e}, {0x2060, 0x206f},
    {0xfeff, 0xfeff}, {0xfff9, 0xfffb},
};

static bool is_hidden(uint32_t code)
{
    // 200d (zero width joiner) is part of ordinary emoji.
    if (code == 0x200d) {
        return false;
    }
    for (size_t i = 0; i < sizeof hidden / sizeof *hidden; i++) {
        if (code >= hidden[i].first && code <= hidden[i].last) {
            return true;
        }
    }
    return false;
}

static void show_code(struct buf *b, uint32_t code)
{
    if (!is_hidden(code)) {
        utf8_put(b, code);
    } else if (code < 0x100) {
        buf_addf(b, "\\x%02x", (unsigned)code);
    } else {
        buf_addf(b, "\\u%04x", (unsigned)code);
    }
}

void show_text(struct buf *b, struct sv text)
{
    while (text.n > 0) {
        show_code(b, utf8_next(&text));
    }
}

void show_line(struct buf *b, struct sv text, size_t columns)
{
    size_t used = 0;
    while (text.n > 0) {
        uint32_t code = utf8_next(&text);
        size_t before = b->len;
        show_code(b, code == '\n' || code == '\t' ? ' ' : code);
        if (!buf_ok(b)) {
            return;
        }
        size_t width = utf8_width(sv_make(b->data + before, b->len - before));
        bool last = text.n == 0;
        if (used + width > columns || (used + width == columns && !last)) {
            buf_truncate(b, before);
            buf_adds(b, "…");
            return;
        }
        used += width;
    }
}
