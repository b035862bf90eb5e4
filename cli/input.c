#include "input.h"

#include <ctype.h>
#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/image_info.h"
#include "base/vec.h"
#include "sys/file.h"
#include "sys/path.h"
#include "text/utf8.h"

// Someone who forgot that stdin is an open pipe is told after this time.
enum { PATIENCE_MS = 3000 };

enum { INPUT_IMAGE_MAX = 64 * 1024 * 1024 };

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

// A PDF may have no zero byte.
static bool is_binary(struct sv text)
{
    return (text.n > 0 && memchr(text.p, '\0', text.n)) ||
           (sv_starts(text, sv_of("%PDF-")) && !utf8_valid(text));
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

// Of images more is taken in: they are made smaller.
static enum pi_status load_file(struct buf *out, const char *path, struct pi_error *err)
{
    enum pi_status status = file_load(out, path, INPUT_MAX, err);
    if (status == PI_LIMIT) {
        struct buf image = {0};
        struct image_info info;
        if (file_load(&image, path, INPUT_IMAGE_MAX, NULL) == PI_OK &&
            image_info_read(&info, buf_sv(&image))) {
            *out = image;
            return PI_OK;
        }
        buf_finish(&image);
    }
    return status;
}

// PI_UNSUPPORTED when the file is no image.
static enum pi_status add_image(struct input *in, struct sv file, const char *path,
                                const char *cwd, struct pi_error *err)
{
    struct pi_agent_options options = PI_AGENT_OPTIONS_INIT;
    options.cwd = cwd;
    void *grown =
        vec_grow(in->images, &in->images_cap, in->images_len + 1, sizeof *in->images);
    if (!grown) {
        return error_nomem(err);
    }
    in->images = grown;
    struct pi_fit_image *image = &in->images[in->images_len];
    enum pi_status status =
        pi_fit_image_make(image, file.p, file.n, pi_images_resize(&options), err);
    if (status != PI_OK) {
        return status;
    }
    buf_adds(&in->prompt, image->note);
    if (image->data) {
        in->images_len++;
    } else {
        buf_addf(&in->notes, "%s: %s\n", path, image->note);
        pi_fit_image_finish(image);
    }
    return PI_OK;
}

static enum pi_status add_content(struct input *in, struct sv file, const char *path,
                                  const struct path_request *request,
                                  struct pi_error *err)
{
    enum pi_status status = PI_UNSUPPORTED;
    bool binary = is_binary(file);
    if (binary || !utf8_valid(file)) {
        status = add_image(in, file, path, request->cwd, err);
    }
    if (status != PI_UNSUPPORTED) {
        return status;
    }
    if (binary) {
        return error_set(err, PI_INVALID,
                         "@%s is binary and no image; name it in the prompt without '@' "
                         "and let the model look at it with its tools",
                         request->argument);
    }
    buf_addc(&in->prompt, '\n');
    add_repaired(&in->prompt, &in->notes, file, path);
    if (!sv_ends(file, sv_of("\n"))) {
        buf_addc(&in->prompt, '\n');
    }
    return PI_OK;
}

static enum pi_status add_file(struct input *in, const struct path_request *request,
                               struct pi_error *err)
{
    char *path = NULL;
    struct buf file = {0}, shown = {0};
    enum pi_status status = path_resolve(&path, NULL, request, err);
    if (status == PI_OK) {
        status = load_file(&file, path, err);
    }
    if (status == PI_OK) {
        utf8_repair(&shown, sv_of(path));
        separate(&in->prompt);
        buf_adds(&in->prompt, "<file name=\"");
        add_attribute(&in->prompt, buf_cstr(&shown));
        buf_adds(&in->prompt, "\">");
        status = add_content(in, buf_sv(&file), path, request, err);
        buf_adds(&in->prompt, "</file>\n");
    }
    free(path);
    buf_finish(&file);
    buf_finish(&shown);
    return status;
}

static enum pi_status add_files(struct input *in, const struct args *args,
                                struct path_request request, struct pi_error *err)
{
    for (size_t i = 0; i < args->words_len; i++) {
        if (args->words[i][0] == '@') {
            request.argument = args->words[i] + 1;
            enum pi_status status = add_file(in, &request, err);
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

void input_finish(struct input *in)
{
    for (size_t i = 0; i < in->images_len; i++) {
        pi_fit_image_finish(&in->images[i]);
    }
    free(in->images);
    buf_finish(&in->prompt);
    buf_finish(&in->notes);
    *in = (struct input){0};
}

enum pi_status input_read(struct input *in, const struct args *args, const char *cwd,
                          const struct env *env, struct pi_error *err)
{
    enum pi_status status = PI_OK;
    if (!isatty(STDIN_FILENO)) {
        status = add_stdin(&in->prompt, &in->notes, err);
    }
    if (status == PI_OK) {
        struct path_request request = {
            .cwd = cwd,
            .home = env_get(env, "HOME"),
            .for_reading = true,
        };
        status = add_files(in, args, request, err);
    }
    if (status == PI_OK) {
        add_words(&in->prompt, &in->notes, args);
        if (trimmed(buf_sv(&in->prompt)).n == 0) {
            buf_clear(&in->prompt); // blanks alone are no prompt
        }
        status = buf_ok(&in->prompt) ? PI_OK : error_nomem(err);
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
