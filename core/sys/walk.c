#include "sys/walk.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/vec.h"
#include "sys/file.h"

// Each level holds a descriptor; deeper trees are made by accident or by an attacker.
enum { DEPTH_MAX = 400, ENTRY_BYTES = 32 * 1024 };

struct walk {
    const struct walk_options *options;
    walk_visit visit;
    void *data;
    struct walk_report *report;
    struct pi_error *err;
    const struct ignore_level *user; // the rules that hold in every repository
    struct buf path;                 // below the top of the rules
    size_t skip;                     // bytes of path that lead to the root
    size_t depth;
    bool stopped;  // by the visitor
    char *entries; // ENTRY_BYTES as the kernel writes them
};

/* ------------------------------------------------------------------------- listing -- */

struct item {
    size_t at; // of the name, while names still grows
    const char *name;
    enum walk_kind kind;
};

struct listing {
    struct buf names;
    struct item *items;
    size_t len, cap;
    bool is_repository;
    bool has_rules; // one of the names is that of a file with rules
};

static void listing_finish(struct listing *l)
{
    buf_finish(&l->names);
    free(l->items);
}

static enum walk_kind kind_of(int folder, const struct dirent64 *d)
{
    unsigned char type = d->d_type;
    struct stat st;
    if (type == DT_UNKNOWN && fstatat(folder, d->d_name, &st, AT_SYMLINK_NOFOLLOW) == 0) {
        type = (unsigned char)IFTODT(st.st_mode);
    }
    switch (type) {
    case DT_REG:
        return WALK_FILE;
    case DT_DIR:
        return WALK_FOLDER;
    case DT_LNK:
        return WALK_LINK;
    default:
        return WALK_OTHER;
    }
}

static bool listing_add(struct listing *l, int folder, const struct dirent64 *d)
{
    const char *name = d->d_name;
    if (name[0] == '.' && (name[1] == '\0' || (name[1] == '.' && name[2] == '\0'))) {
        return true;
    }
    bool git = strcmp(name, ".git") == 0;
    l->is_repository = l->is_repository || git;
    l->has_rules = l->has_rules || git || strcmp(name, ".gitignore") == 0 ||
                   strcmp(name, ".ignore") == 0;
    enum walk_kind kind = kind_of(folder, d);
    if (git && kind == WALK_FOLDER) {
        return true;
    }
    struct item *grown = vec_grow(l->items, &l->cap, l->len + 1, sizeof *grown);
    if (!grown) {
        return false;
    }
    l->items = grown;
    l->items[l->len++] = (struct item){.at = l->names.len, .kind = kind};
    buf_add(&l->names, name, strlen(name) + 1);
    return buf_ok(&l->names);
}

static int by_name(const void *a, const void *b)
{
    return strcmp(((const struct item *)a)->name, ((const struct item *)b)->name);
}

static enum pi_status listing_read(struct walk *w, struct listing *l, int folder)
{
    enum pi_status st = PI_OK;
    ssize_t got = 1;
    while (st == PI_OK && got > 0) {
        got = getdents64(folder, w->entries, ENTRY_BYTES);
        if (got < 0 && errno != ENOENT) { // ENOENT: removed while it was open
            st = error_errno(w->err, errno, "cannot read the folder");
        }
        for (ssize_t at = 0; st == PI_OK && at < got;) {
            const struct dirent64 *d = (const void *)(w->entries + at);
            st = listing_add(l, folder, d) ? PI_OK : error_nomem(w->err);
            at += d->d_reclen;
        }
    }
    for (size_t i = 0; i < l->len; i++) {
        l->items[i].name = buf_cstr(&l->names) + l->items[i].at;
    }
    if (l->len > 1) {
        qsort(l->items, l->len, sizeof *l->items, by_name);
    }
    return st;
}

/* ---------------------------------------------------------------------------- walk -- */

static enum pi_status walk_folder(struct walk *w, int folder,
                                  const struct ignore_level *above);

static int open_folder(int parent, const char *name)
{
    return openat(parent, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
}

static enum pi_status enter(struct walk *w, int parent, const struct item *item,
                            const struct ignore_level *rules)
{
    int fd = w->depth < DEPTH_MAX ? open_folder(parent, item->name) : -1;
    if (fd < 0) {
        // What vanished since the listing is not missed.
        w->report->unreadable += w->depth >= DEPTH_MAX || errno != ENOENT;
        return PI_OK;
    }
    w->depth++;
    enum pi_status st = walk_folder(w, fd, rules);
    w->depth--;
    file_close(&fd);
    return st;
}

static enum pi_status walk_item(struct walk *w, int folder, const struct item *item,
                                const struct ignore_level *rules)
{
    bool is_folder = item->kind == WALK_FOLDER;
    size_t before = w->path.len;
    if (before > 0) {
        buf_addc(&w->path, '/');
    }
    buf_adds(&w->path, item->name);
    if (!buf_ok(&w->path)) {
        return error_nomem(w->err);
    }
    enum pi_status st = cancel_check(w->options->cancel, w->err);
    if (st == PI_OK && !w->options->ignored &&
        ignore_check(rules, buf_sv(&w->path), is_folder) == IGNORE_YES) {
        w->report->ignored++;
    } else if (st == PI_OK) {
        struct walk_entry entry = {.path = buf_cstr(&w->path) + w->skip,
                                   .name = item->name,
                                   .kind = item->kind,
                                   .folder = folder};
        w->stopped = !w->visit(w->data, &entry);
        if (is_folder && !w->stopped) {
            st = enter(w, folder, item, rules);
        }
    }
    buf_truncate(&w->path, before);
    return st;
}

static enum pi_status walk_folder(struct walk *w, int folder,
                                  const struct ignore_level *above)
{
    struct listing list = {0};
    struct ignore_level own = {.parent = above, .depth = w->path.len};
    enum pi_status st = listing_read(w, &list, folder);
    if (st != PI_OK && st != PI_NOMEM) {
        w->report->unreadable++;
        st = PI_OK;
    }
    // A repository inside another one is a world of its own.
    if (list.is_repository) {
        own.parent = w->user;
    }
    if (st == PI_OK && list.has_rules && !w->options->ignored) {
        st = ignore_add_folder(&own, folder, w->err);
    }
    const struct ignore_level *rules = own.len > 0 ? &own : own.parent;
    for (size_t i = 0; st == PI_OK && !w->stopped && i < list.len; i++) {
        st = walk_item(w, folder, &list.items[i], rules);
    }
    ignore_finish(&own);
    listing_finish(&list);
    return st;
}

enum pi_status walk_tree(const struct walk_options *options, walk_visit visit, void *data,
                         struct walk_report *report, struct pi_error *err)
{
    struct walk w = {
        .options = options, .visit = visit, .data = data, .report = report, .err = err};
    struct ignore_base base = {0};
    *report = (struct walk_report){0};
    int fd = open(options->root, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (fd < 0) {
        return error_errno(err, errno, "cannot open the folder %s", options->root);
    }
    w.entries = malloc(ENTRY_BYTES);
    enum pi_status st = w.entries ? PI_OK : error_nomem(err);
    if (st == PI_OK && !options->ignored) {
        st = ignore_base_load(&base, options->root, &options->rules, err);
    }
    if (st == PI_OK && base.prefix) {
        buf_adds(&w.path, base.prefix);
        w.skip = w.path.len > 0 ? w.path.len + 1 : 0;
    }
    if (st == PI_OK) {
        w.user = base.len > 0 ? base.levels : NULL;
        st = walk_folder(&w, fd, base.len > 0 ? &base.levels[base.len - 1] : NULL);
    }
    ignore_base_finish(&base);
    buf_finish(&w.path);
    free(w.entries);
    file_close(&fd);
    return st;
}
