#include "sys/ignore_files.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/stat.h>
#include <unistd.h>

#include "sys/file.h"
#include "sys/path.h"

// Larger files are no lists of rules that anybody wrote.
enum { RULES_MAX = 1 << 20 };

/* -------------------------------------------------------------------------- files -- */

// False when there is no such regular file or it is too large.
static bool load_at(struct buf *out, int folder, const char *name)
{
    int flags = O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY | O_CLOEXEC;
    int fd = openat(folder, name, flags);
    struct stat st;
    bool found = fd >= 0 && fstat(fd, &st) == 0 && S_ISREG(st.st_mode) &&
                 st.st_size <= RULES_MAX && buf_reserve(out, (size_t)st.st_size);
    size_t got = 0;
    if (found && st.st_size > 0) {
        found = file_read(fd, out->data, (size_t)st.st_size, &got, NULL) == PI_OK;
        out->len = got;
        out->data[got] = '\0';
    }
    file_close(&fd);
    return found;
}

static enum pi_status add_file(struct ignore_level *l, int folder, const char *name,
                               struct pi_error *err)
{
    struct buf text = {0};
    enum pi_status st = PI_OK;
    if (load_at(&text, folder, name)) {
        st = ignore_add(l, buf_sv(&text), err);
    } else if (!buf_ok(&text)) {
        st = error_nomem(err);
    }
    buf_finish(&text);
    return st;
}

// The first line of a small file, without blanks around it; NULL when there is none.
static char *first_line(int folder, const char *name, const char *label)
{
    struct buf text = {0};
    char *line = NULL;
    if (load_at(&text, folder, name)) {
        const char *p = buf_cstr(&text);
        size_t n = strlen(label);
        if (strncmp(p, label, n) == 0) {
            p += n + strspn(p + n, " ");
            line = strndup(p, strcspn(p, "\r\n"));
        }
    }
    buf_finish(&text);
    return line;
}

// In a further working tree ".git" is a file that says where the repository is.
static enum pi_status add_linked_exclude(struct ignore_level *l, int folder,
                                         struct pi_error *err)
{
    char *git = first_line(folder, ".git", "gitdir:");
    int git_fd = git ? openat(folder, git, O_PATH | O_DIRECTORY | O_CLOEXEC) : -1;
    enum pi_status st = PI_OK;
    if (git_fd >= 0) {
        char *common = first_line(git_fd, "commondir", "");
        int fd = openat(git_fd, common ? common : ".", O_PATH | O_DIRECTORY | O_CLOEXEC);
        if (fd >= 0) {
            st = add_file(l, fd, "info/exclude", err);
        }
        file_close(&fd);
        free(common);
    }
    file_close(&git_fd);
    free(git);
    return st;
}

enum pi_status ignore_add_folder(struct ignore_level *l, int folder, struct pi_error *err)
{
    struct stat git;
    enum pi_status st = PI_OK;
    if (fstatat(folder, ".git", &git, AT_SYMLINK_NOFOLLOW) == 0) {
        st = S_ISREG(git.st_mode) ? add_linked_exclude(l, folder, err)
                                  : add_file(l, folder, ".git/info/exclude", err);
    }
    if (st == PI_OK) {
        st = add_file(l, folder, ".gitignore", err);
    }
    if (st == PI_OK) {
        st = add_file(l, folder, ".ignore", err);
    }
    return st;
}

/* ------------------------------------------------------------------ user's rules -- */

static struct sv trim(struct sv s)
{
    while (s.n > 0 && strchr(" \t\r", s.p[0])) {
        s = sv_from(s, 1);
    }
    while (s.n > 0 && strchr(" \t\r", s.p[s.n - 1])) {
        s.n--;
    }
    return s;
}

static bool same_word(struct sv s, const char *word)
{
    return s.n == strlen(word) && strncasecmp(s.p, word, s.n) == 0;
}

// The value of core.excludesFile in git's configuration; the last one counts.
static bool config_value(struct sv text, struct sv *value)
{
    bool core = false;
    bool found = false;
    struct sv line;
    while (sv_next_line(&text, &line)) {
        line = trim(line);
        const char *equals = memchr(line.p, '=', line.n);
        if (line.n > 0 && line.p[0] == '[') {
            core = same_word(line, "[core]");
        } else if (core && equals) {
            struct sv name = trim(sv_make(line.p, (size_t)(equals - line.p)));
            struct sv rest = trim(sv_from(line, (size_t)(equals - line.p) + 1));
            if (rest.n > 1 && rest.p[0] == '"' && rest.p[rest.n - 1] == '"') {
                rest = sv_make(rest.p + 1, rest.n - 2);
            }
            if (same_word(name, "excludesfile")) {
                *value = rest;
                found = true;
            }
        }
    }
    return found;
}

// *path gets what a configuration file names; it stays NULL when that names none.
static enum pi_status configured(char **path, const char *config, const char *home,
                                 struct pi_error *err)
{
    struct buf text = {0};
    struct sv value;
    bool named = load_at(&text, AT_FDCWD, config) && config_value(buf_sv(&text), &value);
    bool ok = buf_ok(&text);
    if (named) {
        bool tilde = sv_starts(value, sv_of("~/"));
        char *name = strndup(value.p + (tilde ? 2 : 0), value.n - (tilde ? 2 : 0));
        *path = name ? path_join(home, name) : NULL;
        ok = *path != NULL;
        free(name);
    }
    buf_finish(&text);
    return ok ? PI_OK : error_nomem(err);
}

static enum pi_status add_user(struct ignore_level *l, const struct ignore_places *places,
                               struct pi_error *err)
{
    if (!places->home || places->home[0] != '/') {
        return PI_OK;
    }
    char *own = path_join(places->home, ".config");
    const char *config =
        places->config_home && places->config_home[0] == '/' ? places->config_home : own;
    char *main = path_join(places->home, ".gitconfig");
    char *other = config ? path_join(config, "git/config") : NULL;
    char *usual = config ? path_join(config, "git/ignore") : NULL;
    enum pi_status st = PI_OK;
    if (!main || !other || !usual) {
        st = error_nomem(err);
    } else {
        char *named = NULL;
        st = configured(&named, main, places->home, err);
        if (st == PI_OK && !named) {
            st = configured(&named, other, places->home, err);
        }
        if (st == PI_OK) {
            st = add_file(l, AT_FDCWD, named ? named : usual, err);
        }
        free(named);
    }
    free(usual);
    free(other);
    free(main);
    free(own);
    return st;
}

/* --------------------------------------------------------------------------- base -- */

// The length of the part of root that is the repository's top folder; the whole of root
// when it lies in none.
static size_t find_top(struct buf *path, const char *root)
{
    size_t n = strlen(root);
    while (true) {
        struct stat st;
        buf_clear(path);
        buf_add(path, root, n);
        buf_adds(path, "/.git");
        if (!buf_ok(path) || lstat(buf_cstr(path), &st) == 0) {
            return n;
        }
        while (n > 0 && root[n - 1] != '/') {
            n--;
        }
        if (n <= 1) {
            return strlen(root);
        }
        n--;
    }
}

// Adds the level of the folder that ends at byte n of root; the top ends at byte `top`.
static enum pi_status add_level(struct ignore_base *b, const char *root, size_t top,
                                size_t n, struct pi_error *err)
{
    struct ignore_level *l = &b->levels[b->len++];
    *l = (struct ignore_level){.parent = l - 1, .depth = n > top ? n - top - 1 : 0};
    char *path = strndup(root, n);
    if (!path) {
        return error_nomem(err);
    }
    int fd = open(path, O_PATH | O_DIRECTORY | O_CLOEXEC);
    enum pi_status st = fd >= 0 ? ignore_add_folder(l, fd, err) : PI_OK;
    file_close(&fd);
    free(path);
    return st;
}

static void drop_levels(struct ignore_base *b)
{
    for (size_t i = 0; i < b->len; i++) {
        ignore_finish(&b->levels[i]);
    }
    b->len = 0;
}

static enum pi_status add_levels(struct ignore_base *b, const char *root, size_t top,
                                 struct pi_error *err)
{
    enum pi_status st = PI_OK;
    size_t n = top;
    while (st == PI_OK && root[n] != '\0') {
        st = add_level(b, root, top, n, err);
        n += 1 + strcspn(root + n + 1, "/");
        struct sv folder = sv_make(b->prefix, n - top - 1);
        if (ignore_check(&b->levels[b->len - 1], folder, true) == IGNORE_YES) {
            drop_levels(b);
            break;
        }
    }
    return st;
}

enum pi_status ignore_base_load(struct ignore_base *b, const char *root,
                                const struct ignore_places *places, struct pi_error *err)
{
    struct buf path = {0};
    size_t top = find_top(&path, root);
    size_t most = 2;
    for (const char *p = root + top; *p; p++) {
        most += *p == '/';
    }
    *b = (struct ignore_base){0};
    b->prefix = strdup(root + top + (root[top] == '/'));
    b->levels = calloc(most, sizeof(*b->levels));
    enum pi_status st = PI_OK;
    if (!buf_ok(&path) || !b->prefix || !b->levels) {
        st = error_nomem(err);
    } else {
        b->len = 1;
        st = add_user(&b->levels[0], places, err);
    }
    if (st == PI_OK) {
        st = add_levels(b, root, top, err);
    }
    buf_finish(&path);
    if (st != PI_OK) {
        ignore_base_finish(b);
    }
    return st;
}

void ignore_base_finish(struct ignore_base *b)
{
    drop_levels(b);
    free(b->levels);
    free(b->prefix);
    *b = (struct ignore_base){0};
}
