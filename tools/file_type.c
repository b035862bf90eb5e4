#include "file_type.h"

#include <stddef.h>
#include <string.h>

struct magic {
    size_t at;
    struct sv bytes;
    bool alone; // proof by itself; else only for a file that does not look like text
    const char *name;
    const char *hint;
};

#define BYTES(literal)                                                                   \
    {                                                                                    \
        literal, sizeof(literal) - 1                                                     \
    }

static const struct magic table[] = {
    {0, BYTES("\x89PNG\r\n\x1a\n"), true, "PNG image", NULL},
    {0, BYTES("\xff\xd8\xff"), true, "JPEG image", NULL},
    {0, BYTES("GIF87a"), false, "GIF image", NULL},
    {0, BYTES("GIF89a"), false, "GIF image", NULL},
    {8, BYTES("WEBPVP8"), false, "WebP image", NULL},
    {0, BYTES("BM"), false, "BMP image", NULL},
    {0, BYTES("II*\0"), true, "TIFF image", NULL},
    {0, BYTES("MM\0*"), true, "TIFF image", NULL},
    {0, BYTES("%PDF-"), true, "PDF document", "pdftotext % -"},
    {0, BYTES("PK\x03\x04"), true, "ZIP archive (also office documents, jar, epub)",
     "unzip -l %"},
    {0, BYTES("PK\x05\x06"), true, "empty ZIP archive", NULL},
    {0, BYTES("\x1f\x8b"), true, "gzip data", "zcat % | head -n 100"},
    {0, BYTES("BZh"), false, "bzip2 data", "bzcat % | head -n 100"},
    {0, BYTES("\xfd\x37zXZ\0"), true, "xz data", "xzcat % | head -n 100"},
    {0, BYTES("\x28\xb5\x2f\xfd"), true, "Zstandard data", "zstdcat % | head -n 100"},
    {0, BYTES("7z\xbc\xaf\x27\x1c"), true, "7-Zip archive", "7z l %"},
    {0, BYTES("Rar!\x1a\x07"), true, "RAR archive", "unrar l %"},
    {257, BYTES("ustar"), false, "tar archive", "tar -tvf %"},
    {0, BYTES("!<arch>\n"), false, "library or package archive (ar)", "ar t %"},
    {0,
     BYTES("\x7f"
           "ELF"),
     true, "ELF program or library", "readelf -hd %"},
    {0, BYTES("MZ"), false, "Windows program or library", "objdump -x % | head -n 100"},
    {0, BYTES("\xfe\xed\xfa\xce"), true, "Mach-O program", NULL},
    {0, BYTES("\xfe\xed\xfa\xcf"), true, "Mach-O program", NULL},
    {0, BYTES("\xcf\xfa\xed\xfe"), true, "Mach-O program", NULL},
    {0, BYTES("\xca\xfe\xba\xbe"), true, "Java class or universal program", "javap %"},
    {0, BYTES("\0asm"), true, "WebAssembly module", "wasm-objdump -x % | head -n 100"},
    {0, BYTES("SQLite format 3\0"), true, "SQLite database", "sqlite3 % .schema"},
    {8, BYTES("WAVEfmt"), true, "WAVE audio", NULL},
    {0, BYTES("OggS"), false, "Ogg audio or video", NULL},
    {0, BYTES("ID3"), false, "MP3 audio", NULL},
    {4, BYTES("ftyp"), false, "MP4, QuickTime or HEIF file", NULL},
    {0, BYTES("wOFF"), false, "web font", NULL},
    {0, BYTES("wOF2"), false, "web font", NULL},
    {0, BYTES("OTTO"), false, "OpenType font", NULL},
    {0, BYTES("\0\1\0\0\0"), true, "TrueType font", NULL},
    {0, BYTES("\xff\xfe\0\0"), true, "text in UTF-32", "iconv -f UTF-32 -t UTF-8 %"},
    {0, BYTES("\0\0\xfe\xff"), true, "text in UTF-32", "iconv -f UTF-32 -t UTF-8 %"},
};

// Text holds TAB, LF, CR, form feeds, and in logs BEL, backspaces and escape sequences.
static bool is_odd_control(unsigned char c)
{
    return c < 0x07 || (c > 0x0d && c < 0x1b) || (c > 0x1b && c < 0x20);
}

static bool looks_binary(struct sv start)
{
    size_t odd = 0;
    if (start.n > 0 && memchr(start.p, '\0', start.n)) {
        return true;
    }
    for (size_t i = 0; i < start.n; i++) {
        odd += is_odd_control((unsigned char)start.p[i]);
    }
    return odd * 10 > start.n;
}

static const struct magic *find_magic(struct sv start, bool binary)
{
    for (size_t i = 0; i < sizeof(table) / sizeof(table[0]); i++) {
        const struct magic *m = &table[i];
        if ((m->alone || binary) && m->at < start.n && start.p[m->at] == m->bytes.p[0] &&
            sv_starts(sv_from(start, m->at), m->bytes)) {
            return m;
        }
    }
    return NULL;
}

// JSON whose first member lists cells.
static bool is_notebook(struct sv start)
{
    size_t at = 0;
    while (at < start.n && strchr("{ \t\r\n", start.p[at]) && start.p[at]) {
        at++;
    }
    return at > 0 && sv_starts(sv_from(start, at), sv_of("\"cells\"")) &&
           memmem(start.p, start.n, "\"cell_type\"", 11);
}

struct file_type file_type_of(struct sv start)
{
    bool binary = looks_binary(start);
    const struct magic *m = find_magic(start, binary);
    if (m) {
        return (struct file_type){.binary = true, .name = m->name, .hint = m->hint};
    }
    if (sv_starts(start, sv_of("\xff\xfe"))) {
        return (struct file_type){.encoding = TEXT_UTF16_LE};
    }
    if (sv_starts(start, sv_of("\xfe\xff"))) {
        return (struct file_type){.encoding = TEXT_UTF16_BE};
    }
    if (binary) {
        return (struct file_type){
            .binary = true, .name = "data", .hint = "xxd % | head -n 20"};
    }
    struct file_type type = {.encoding = TEXT_UTF8};
    if (is_notebook(start)) {
        type.name = "Jupyter notebook";
        type.hint = "jupyter nbconvert --to markdown --stdout %";
    }
    return type;
}
