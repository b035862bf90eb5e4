#include "base/error.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "base/sv.h"
#include "base/utf8_scan.h"

// Names of files may hold any bytes, a message is UTF-8: a byte that fits nowhere becomes
// a question mark.
static void make_valid(char *text, size_t n)
{
    size_t at = 0;
    for (;;) {
        at += utf8_scan_run(sv_make(text + at, n - at));
        if (at >= n) {
            return;
        }
        text[at++] = '?';
    }
}

// The largest cut <= at that does not divide a character.
static size_t boundary(const char *text, size_t at)
{
    while (at > 0 && ((unsigned char)text[at] & 0xc0) == 0x80) {
        at--;
    }
    return at;
}

// Formats into text[size]; a text that does not fit ends in "...".
PRINTF(3, 0)
static void format_into(char *text, size_t size, const char *format, va_list args)
{
    static const char dots[] = "...";
    int n = vsnprintf(text, size, format, args);
    if (n < 0) {
        text[0] = '\0';
        return;
    }
    if ((size_t)n >= size) {
        size_t cut = boundary(text, size - sizeof dots);
        memcpy(text + cut, dots, sizeof dots);
    }
    make_valid(text, strlen(text));
}

enum pi_status error_set(struct pi_error *err, enum pi_status code, const char *format,
                         ...)
{
    if (!err) {
        return code;
    }
    // A copy first: the arguments may point into *err.
    char text[sizeof err->message];
    va_list args;
    va_start(args, format);
    format_into(text, sizeof text, format, args);
    va_end(args);
    err->code = code;
    memcpy(err->message, text, strlen(text) + 1);
    return code;
}

static enum pi_status code_of(int errnum)
{
    switch (errnum) {
    case ENOENT:
        return PI_NOT_FOUND;
    case EACCES:
    case EPERM:
    case EROFS:
        return PI_DENIED;
    case ENOMEM:
        return PI_NOMEM;
    default:
        return PI_IO;
    }
}

enum pi_status error_errno(struct pi_error *err, int errnum, const char *format, ...)
{
    enum pi_status code = code_of(errnum);
    if (!err) {
        return code;
    }
    // Not strerror: these words do not depend on the locale of the program around us.
    const char *words = strerrordesc_np(errnum);
    char system[64];
    if (!words) {
        snprintf(system, sizeof system, "Unknown error %d", errnum);
        words = system;
    }
    char text[sizeof err->message];
    va_list args;
    va_start(args, format);
    format_into(text, sizeof text - strlen(words) - strlen(": "), format, args);
    va_end(args);
    return error_set(err, code, "%s: %s", text, words);
}

enum pi_status error_nomem(struct pi_error *err)
{
    return error_set(err, PI_NOMEM, "Out of memory");
}

const char *error_errno_name(int errnum)
{
    const char *name = errnum ? strerrorname_np(errnum) : NULL;
    return name ? name : "";
}

const char *pi_status_name(enum pi_status status)
{
    static const char *const names[] = {
        [PI_OK] = "ok",
        [PI_NOMEM] = "out of memory",
        [PI_INVALID] = "invalid",
        [PI_NOT_FOUND] = "not found",
        [PI_DENIED] = "permission denied",
        [PI_IO] = "input/output error",
        [PI_LIMIT] = "limit exceeded",
        [PI_ABORTED] = "aborted",
        [PI_TIMEOUT] = "timed out",
        [PI_STALE] = "stale",
        [PI_CONFLICT] = "conflict",
        [PI_HOST_NOT_OPEN] = "not open in the editor",
        [PI_BUSY] = "busy",
        [PI_MORE] = "more to do",
        [PI_CLOSED] = "closed",
        [PI_UNSUPPORTED] = "unsupported",
    };
    size_t i = (size_t)status;
    return i < sizeof names / sizeof names[0] ? names[i] : "unknown status";
}

const char *pi_version(void)
{
    return PI_VERSION;
}
