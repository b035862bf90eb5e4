#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/vec.h"
#include "rows.h"
#include "target.h"
#include "tools.h"

enum { ENTRIES = 500 };

struct names {
    char **items;
    size_t len, cap;
};

static void names_finish(struct names *n)
{
    for (size_t i = 0; i < n->len; i++) {
        free(n->items[i]);
    }
    free(n->items);
}

static bool names_add(struct names *n, const char *name)
{
    if (strcmp(name, ".") == 0 || strcmp(name, "..") == 0) {
        return true;
    }
    char **grown = vec_grow(n->items, &n->cap, n->len + 1, sizeof *grown);
    char *copy = grown ? strdup(name) : NULL;
    n->items = grown ? grown : n->items;
    if (!copy) {
        return false;
    }
    n->items[n->len++] = copy;
    return true;
}

static int compare(const void *a, const void *b)
{
    const char *x = *(char *const *)a;
    const char *y = *(char *const *)b;
    int order = strcasecmp(x, y);
    return order != 0 ? order : strcmp(x, y);
}

static enum pi_status names_read(struct names *n, DIR *dir, const char *shown,
                                 const struct cancel *cancel, struct pi_error *err)
{
    enum pi_status st = PI_OK;
    const struct dirent *d;
    errno = 0;
    while (st == PI_OK && (d = readdir(dir)) != NULL) {
        st = names_add(n, d->d_name) ? cancel_check(cancel, err) : error_nomem(err);
        errno = 0;
    }
    if (st == PI_OK && errno != 0) {
        st = error_errno(err, errno, "cannot read the folder %s", shown);
    }
    if (n->len > 1) {
        qsort(n->items, n->len, sizeof *n->items, compare);
    }
    return st;
}

static void add_broken(struct rows *r, int folder, const char *name)
{
    char target[4096];
    ssize_t n = readlinkat(folder, name, target, sizeof target);
    if (n > 0) {
        buf_adds(&r->text, " -> ");
        rows_add_name(r, sv_make(target, (size_t)n));
    }
    buf_adds(&r->text, " (broken link)");
}

static void add_entry(struct rows *r, int folder, const char *name)
{
    struct stat st;
    rows_add_name(r, sv_of(name));
    if (fstatat(folder, name, &st, 0) == 0) {
        if (S_ISDIR(st.st_mode)) {
            buf_addc(&r->text, '/');
        } else if (!S_ISREG(st.st_mode)) {
            buf_addf(&r->text, " (%s)", file_kind_name(st.st_mode));
        }
    } else if (fstatat(folder, name, &st, AT_SYMLINK_NOFOLLOW) == 0 &&
               S_ISLNK(st.st_mode)) {
        add_broken(r, folder, name);
    }
    buf_addc(&r->text, '\n');
}

static enum pi_status open_dir(DIR **out, const struct host_target *t,
                               struct pi_error *err)
{
    int fd = open(t->path, O_RDONLY | O_DIRECTORY | O_NONBLOCK | O_CLOEXEC);
    if (fd < 0 && errno == ENOTDIR) {
        return error_set(err, PI_INVALID,
                         "%s is a file, not a folder. Look at it with read.", t->shown);
    }
    if (fd < 0 && errno == ENOENT) {
        return error_set(err, PI_NOT_FOUND, "%s: no such folder (looked for %s)",
                         t->shown, t->path);
    }
    *out = fd >= 0 ? fdopendir(fd) : NULL;
    if (!*out) {
        int why = errno;
        file_close(&fd);
        return error_errno(err, why, "cannot open the folder %s", t->shown);
    }
    return PI_OK;
}

static enum pi_status show(struct tool_result *result, const struct names *n, int folder,
                           size_t limit, struct pi_error *err)
{
    struct rows r = {0};
    bool ok = true;
    for (size_t i = 0; i < n->len && i < limit; i++) {
        add_entry(&r, folder, n->items[i]);
    }
    if (n->len == 0) {
        buf_adds(&r.text, "(empty folder)\n");
    }
    if (n->len > limit) {
        rows_begin_note(&r);
        buf_addf(&r.notes, "%zu of %zu entries are shown. Use limit=%zu for all.]", limit,
                 n->len, n->len);
        ok = rows_detail(&r, "entryLimitReached", limit);
    }
    if (!ok) {
        rows_finish(&r);
        return error_nomem(err);
    }
    return rows_result(result, &r, err);
}

static enum pi_status execute(struct tool_result *result, struct tool_call *call,
                              struct pi_error *err)
{
    const struct host_target *t = &call->plan.target;
    struct names names = {0};
    DIR *dir = NULL;
    size_t limit;
    enum pi_status st = rows_limit(&limit, call->args, ENTRIES, err);
    if (st == PI_OK) {
        st = open_dir(&dir, t, err);
    }
    if (st == PI_OK) {
        st = names_read(&names, dir, t->shown, call->cancel, err);
    }
    if (st == PI_OK) {
        st = show(result, &names, dirfd(dir), limit, err);
    }
    if (dir) {
        closedir(dir);
    }
    names_finish(&names);
    return st;
}

const struct pi_tool_definition tool_ls = {
    .name = "ls",
    .label = "List",
    .description = "Lists a folder: one name a row, hidden ones too, folders with a "
                   "slash at the end. Sorted; at most 500 entries or 50KB.",
    .parameters =
        "{\"type\":\"object\",\"properties\":{"
        "\"path\":{\"type\":\"string\",\"description\":\"The folder; the working "
        "directory when left out\"},"
        "\"limit\":{\"type\":\"number\",\"description\":\"How many entries to show\"}}}",
    .snippet = "list a folder",
    .title = "ls {path}",
    .source = TOOL_BUILTIN,
    .mode = TOOL_PARALLEL,
    .plan = target_plan_tree,
    .execute = execute,
};
