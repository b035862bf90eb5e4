#include "agent/context_files.h"

#include <stdlib.h>
#include <string.h>

#include "base/vec.h"
#include "sys/file.h"
#include "sys/path.h"
#include "text/utf8.h"

static const char *const names[] = {"AGENTS.md", "AGENTS.MD", "CLAUDE.md", "CLAUDE.MD"};

static bool is_space(char c)
{
    return c == ' ' || (c >= '\t' && c <= '\r');
}

struct sv context_text_trim(struct sv text)
{
    while (text.n > 0 && is_space(text.p[0])) {
        text = sv_from(text, 1);
    }
    while (text.n > 0 && is_space(text.p[text.n - 1])) {
        text.n--;
    }
    return text;
}

void context_text_clean(struct buf *out, struct sv text)
{
    struct buf repaired = {0};
    if (sv_starts(text, sv_of("\xEF\xBB\xBF"))) {
        text = sv_from(text, 3);
    }
    utf8_repair(&repaired, text);
    for (size_t i = 0; i < repaired.len; i++) {
        char c = repaired.data[i];
        bool line_end = c == '\r' && repaired.data[i + 1] == '\n';
        if (c == '\0') {
            buf_adds(out, "\xEF\xBF\xBD");
        } else if (!line_end) {
            buf_addc(out, c);
        }
    }
    out->failed = out->failed || !buf_ok(&repaired);
    buf_finish(&repaired);
}

enum pi_status context_file_load(struct buf *out, struct buf *problems, const char *path,
                                 struct pi_error *err)
{
    struct buf bytes = {0};
    struct pi_error why = {0};
    enum pi_status st = file_load(&bytes, path, CONTEXT_FILE_MAX_BYTES, &why);
    if (st == PI_OK) {
        context_text_clean(out, buf_sv(&bytes));
    } else if (st == PI_NOMEM) {
        error_nomem(err);
    } else if (st != PI_NOT_FOUND) {
        buf_addf(problems, "%s\n", why.message);
        st = PI_IO;
    }
    buf_finish(&bytes);
    return st;
}

static bool is_known(const struct context_files *files, const char *real)
{
    for (size_t i = 0; i < files->len; i++) {
        if (strcmp(files->items[i].real, real) == 0) {
            return true;
        }
    }
    return false;
}

static void context_file_finish(struct context_file *file)
{
    free(file->path);
    free(file->real);
    buf_finish(&file->text);
    *file = (struct context_file){0};
}

// Takes *file over, or frees it when it adds nothing.
static enum pi_status add(struct context_files *files, struct context_file *file,
                          struct pi_error *err)
{
    if (is_known(files, file->real) || context_text_trim(buf_sv(&file->text)).n == 0) {
        context_file_finish(file);
        return PI_OK;
    }
    struct context_file *grown =
        vec_grow(files->items, &files->cap, files->len + 1, sizeof(*grown));
    if (!grown) {
        context_file_finish(file);
        return error_nomem(err);
    }
    files->items = grown;
    grown[files->len++] = *file;
    return PI_OK;
}

static enum pi_status load_from(struct context_files *files, struct buf *problems,
                                const char *dir, struct pi_error *err)
{
    // What cannot be used has left a line in problems; the next name may do.
    enum pi_status st = PI_NOT_FOUND;
    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
        struct context_file file = {.path = path_join(dir, names[i])};
        st = file.path ? context_file_load(&file.text, problems, file.path, err)
                       : error_nomem(err);
        if (st == PI_OK && !buf_ok(&file.text)) {
            st = error_nomem(err);
        }
        if (st == PI_OK) {
            st = path_real(&file.real, file.path, err);
        }
        if (st == PI_OK) {
            return add(files, &file, err);
        }
        context_file_finish(&file);
        if (st == PI_NOMEM) {
            return st;
        }
    }
    return PI_OK;
}

enum pi_status context_files_load(struct context_files *out, struct buf *problems,
                                  const char *agent_dir, const char *cwd,
                                  struct pi_error *err)
{
    *out = (struct context_files){0};
    enum pi_status st = load_from(out, problems, agent_dir, err);
    // "/", "/a", "/a/b": every prefix of cwd that ends before a slash or at its end.
    size_t n = 0;
    while (st == PI_OK) {
        char *dir = n == 0 ? strdup("/") : strndup(cwd, n);
        st = dir ? load_from(out, problems, dir, err) : error_nomem(err);
        free(dir);
        if (!cwd[n] || !cwd[n + strspn(cwd + n, "/")]) {
            break;
        }
        n += strspn(cwd + n, "/");
        n += strcspn(cwd + n, "/");
    }
    if (st != PI_OK) {
        context_files_finish(out);
    }
    return st;
}

void context_files_finish(struct context_files *files)
{
    if (!files) {
        return;
    }
    for (size_t i = 0; i < files->len; i++) {
        context_file_finish(&files->items[i]);
    }
    free(files->items);
    *files = (struct context_files){0};
}
