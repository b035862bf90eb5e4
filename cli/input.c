#include "input.h"

#include <ctype.h>
#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "sys/file.h"
#include "sys/path.h"
#include "text/utf8.h"

// Someone who forgot that stdin is an open pipe is told after this time.
enum { PATIENCE_MS = 3000 };

static const size_t piece_bytes = 64 << 10;

static void hint_when_stdin_is_silent(void)
{
    struct pollfd p = {.fd = STDIN_FILENO, .events = POLLIN};
    if (isatty(STDERR_FILENO) && poll(&p, 1, PATIENCE_MS) == 0) {
        fputs("pi: waiting for the end of stdin ('</dev/null' when there is none)\n",
              stderr);
    }
}

enum pi_status input_read_stdin(struct buf *out, size_t max, struct pi_error *err)
{
    for (;;) {
        if (!buf_reserve(out, piece_bytes)) {
            return error_nomem(err);
        }
        ssize_t n = read(STDIN_FILENO, out->data + out->len, piece_bytes);
        if (n == 0) {
            break;
        }
        if (n < 0 && errno != EINTR) {
            return error_errno(err, errno, "cannot read stdin");
        }
        out->len += n > 0 ? (size_t)n : 0;
        if (out->len > max) {
            return error_set(
                err, PI_LIMIT,
                "stdin holds more than %zu MiB; save it to a file and ask for "
                "the part that matters",
                max / 1024 / 1024);
        }
    }
    out->data[out->len] = '\0';
    return PI_OK;
}

static bool is_binary(struct sv text)
{
    return text.n > 0 && memchr(text.p, '\0', text.n) != NULL;
}

// Starts a new part of the prompt after a blank line.
static void separate(struct buf *out)
{
    if (out->len > 0) {
        buf_adds(out, out->data[out->len - 1] == '\n' ? "\n" : "\n\n");
    }
}

static void add_repaired(struct buf *out, struct buf *notes, struct sv text,
                         const char *name)
{
    if (utf8_valid(text)) {
        buf_addsv(out, text);
        return;
    }
    buf_addf(notes, "%s is not valid UTF-8; the bad bytes were replaced by U+FFFD\n",
             name);
    utf8_repair(out, text);
}

static struct sv trimmed(struct sv text)
{
    while (text.n > 0 && isspace((unsigned char)text.p[text.n - 1])) {
        text.n--;
    }
    while (text.n > 0 && (text.p[0] == '\n' || text.p[0] == '\r')) {
        text = sv_from(text, 1);
    }
    return text;
}

static enum pi_status add_stdin(struct buf *out, struct buf *notes, struct pi_error *err)
{
    struct buf text = {0};
    hint_when_stdin_is_silent();
    enum pi_status status = input_read_stdin(&text, INPUT_MAX, err);
    if (status == PI_OK && is_binary(buf_sv(&text))) {
        status = error_set(err, PI_INVALID, "stdin is binary; a prompt is text");
    }
    if (status == PI_OK) {
        add_repaired(out, notes, trimmed(buf_sv(&text)), "stdin");
    }
    buf_finish(&text);
    return status;
}

static void add_attribute(struct buf *out, const char *text)
{
    for (; *text; text++) {
        switch (*text) {
        case '"':
            buf_adds(out, "&quot;");
            break;
        case '&':
            buf_adds(out, "&amp;");
            break;
        case '<':
            buf_adds(out, "&lt;");
            break;
        case '\n':
            buf_adds(out, "&#10;");
            break;
        default:
            buf_addc(out, *text);
            break;
        }
    }
}

static enum pi_status add_file(struct buf *out, struct buf *notes,
                               const struct path_request *request, struct pi_error *err)
{
    char *path = NULL;
    struct buf text = {0}, shown = {0};
    enum pi_status status = path_resolve(&path, NULL, request, err);
    if (status == PI_OK) {
        status = file_load(&text, path, INPUT_MAX, err);
    }
    if (status != PI_OK) {
        goto out;
    }
    if (is_binary(buf_sv(&text))) {
        status = error_set(err, PI_INVALID,
                           "@%s is binary; name it in the prompt without '@' and let the "
                           "model look at it with its tools",
                           request->argument);
        goto out;
    }
    utf8_repair(&shown, sv_of(path));
    separate(out);
    buf_adds(out, "<file name=\"");
    add_attribute(out, buf_cstr(&shown));
    buf_adds(out, "\">\n");
    add_repaired(out, notes, buf_sv(&text), path);
    buf_adds(out, text.len > 0 && text.data[text.len - 1] == '\n' ? "</file>\n"
                                                                  : "\n</file>\n");
out:
    free(path);
    buf_finish(&text);
    buf_finish(&shown);
    return status;
}

static enum pi_status add_files(struct buf *out, struct buf *notes,
                                const struct args *args, struct path_request request,
                                struct pi_error *err)
{
    for (size_t i = 0; i < args->words_len; i++) {
        if (args->words[i][0] == '@') {
            request.argument = args->words[i] + 1;
            enum pi_status status = add_file(out, notes, &request, err);
            if (status != PI_OK) {
                return status;
            }
        }
    }
    return PI_OK;
}

static void add_words(struct buf *out, struct buf *notes, const struct args *args)
{
    bool first = true;
    for (size_t i = 0; i < args->words_len; i++) {
        if (args->words[i][0] != '@') {
            if (first) {
                separate(out);
            } else {
                buf_addc(out, ' ');
            }
            add_repaired(out, notes, sv_of(args->words[i]), "the prompt");
            first = false;
        }
    }
}

enum pi_status input_read(struct buf *out, struct buf *notes, const struct args *args,
                          const char *cwd, const struct env *env, struct pi_error *err)
{
    enum pi_status status = PI_OK;
    if (!isatty(STDIN_FILENO)) {
        status = add_stdin(out, notes, err);
    }
    if (status == PI_OK) {
        struct path_request request = {
            .cwd = cwd,
            .home = env_get(env, "HOME"),
            .for_reading = true,
        };
        status = add_files(out, notes, args, request, err);
    }
    if (status == PI_OK) {
        add_words(out, notes, args);
        if (trimmed(buf_sv(out)).n == 0) {
            buf_clear(out); // blanks alone are no prompt
        }
        status = buf_ok(out) ? PI_OK : error_nomem(err);
    }
    return status;
}

enum pi_status input_ask_line(struct buf *out, struct pi_error *err)
{
    fputs("> ", stderr);
    char *line = NULL;
    size_t cap = 0;
    ssize_t n = getline(&line, &cap, stdin);
    if (n < 0 && ferror(stdin)) {
        free(line);
        return error_errno(err, errno, "cannot read the terminal");
    }
    if (n <= 0 || line[n - 1] != '\n') {
        fputc('\n', stderr); // Ctrl-D leaves the cursor behind what was typed
    }
    if (n > 0) {
        utf8_repair(out, trimmed(sv_make(line, (size_t)n)));
    }
    free(line);
    return buf_ok(out) ? PI_OK : error_nomem(err);
}
