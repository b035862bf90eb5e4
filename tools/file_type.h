#pragma once

#include <stdbool.h>

#include "base/sv.h"

/**
 * What a file is, by its first bytes and never by its name.
 */

/** Bytes that file_type_of wants to see, when the file has so many. */
enum { FILE_TYPE_SNIFF = 8192 };

enum text_encoding { TEXT_UTF8, TEXT_UTF16_LE, TEXT_UTF16_BE };

struct file_type {
    bool binary;                 // not to be shown as text
    const char *name;            // "ZIP archive"; NULL for plain text; static
    const char *hint;            // a command that shows what is inside, % standing for
                                 // the file, or NULL; static
    enum text_encoding encoding; // of text; TEXT_UTF8 also stands for 8-bit text
};

/** start: the first FILE_TYPE_SNIFF bytes, or the whole of a smaller file. */
struct file_type file_type_of(struct sv start);
