#include "sys/path.h"

#include <dirent.h>
#include <errno.h>
#include <limits.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/buf.h"
#include "text/fold.h"
#include "text/utf8.h"

enum { MAX_PATH = 4095, MAX_COMPONENT = 255, MAX_LINKS = 40 };

/* ------------------------------------------------------------------------ lexical -- */

// Takes the next component off *rest; false at the end. Empty ones and "." are skipped.
static bool next_component(struct sv *rest, struct sv *component)
{
    while (rest->n > 0) {
        const char *slash = memchr(rest->p, '/', rest->n);
        size_t n = slash ? (size_t)(slash - rest->p) : rest->n;
        *component = sv_make(rest->p, n);
        *rest = sv_from(*rest, slash ? n + 1 : n);
        if (n > 0 && !sv_eqs(*component, ".")) {
            return true;
        }
    }
    return false;
}

static struct sv last_component(struct sv path)
{
    size_t at = path.n;
    while (at > 0 && path.p[at - 1] != '/') {
        at--;
    }
    return sv_from(path, at);
}

// Appends one component to the folded path in b.
static void fold_component(struct buf *b, struct sv component, bool absolute)
{
    if (sv_eqs(component, "..")) {
        struct sv last = last_component(buf_sv(b));
        if (last.n > 0 && !sv_eqs(last, "..")) {
            size_t keep = b->len - last.n;
            buf_truncate(b, keep > 1 ? keep - 1 : (absolute ? 1 : 0));
            return;
        }
        if (absolute) {
            return;
        }
    }
    if (b->len > 0 && b->data[b->len - 1] != '/') {
        buf_addc(b, '/');
    }
    buf_addsv(b, component);
}

static void fold_path(struct buf *b, struct sv path, bool absolute)
{
    struct sv component;
    while (next_component(&path, &component)) {
        fold_component(b, component, absolute);
    }
}

char *path_join(const char *dir, const char *name)
{
    struct buf b = {0};
    bool fresh = name[0] == '/' || dir[0] == '\0';
    bool absolute = name[0] == '/' || dir[0] == '/';
    if (absolute) {
        buf_addc(&b, '/');
    }
    if (!fresh) {
        fold_path(&b, sv_of(dir), absolute);
    }
    fold_path(&b, sv_of(name), absolute);
    if (b.len == 0) {
        buf_addc(&b, '.');
    }
    return buf_take(&b);
}

const char *path_base(const char *path)
{
    const char *slash = strrchr(path, '/');
    return slash ? slash + 1 : path;
}

char *path_dir(const char *path)
{
    const char *slash = strrchr(path, '/');
    if (!slash) {
        return strdup(".");
    }
    return slash == path ? strdup("/") : strndup(path, (size_t)(slash - path));
}

bool path_inside(const char *path, const char *dir)
{
    size_t n = strlen(dir);
    while (n > 0 && dir[n - 1] == '/') {
        n--;
    }
    return strncmp(path, dir, n) == 0 && (path[n] == '\0' || path[n] == '/');
}

const char *path_relative(const char *path, const char *dir)
{
    if (!path_inside(path, dir)) {
        return path;
    }
    const char *rest = path + strlen(dir);
    rest += strspn(rest, "/");
    return *rest ? rest : path;
}

/* ----------------------------------------------------------------------- real path -- */

struct walk {
    struct buf done; // resolved so far, absolute
    struct buf rest; // still to do
    int links;
};

// Puts the target of the link in w->done (whose last component is `length` bytes) in
// front of the rest.
static enum pi_status walk_link(struct walk *w, size_t parent, struct pi_error *err)
{
    char target[PATH_MAX + 1];
    ssize_t n = readlink(buf_cstr(&w->done), target, PATH_MAX);
    if (n < 0) {
        return error_errno(err, errno, "cannot read the link %s", buf_cstr(&w->done));
    }
    if (++w->links > MAX_LINKS) {
        return error_set(err, PI_IO, "too many symbolic links, perhaps a loop, at %s",
                         buf_cstr(&w->done));
    }
    struct buf rest = {0};
    buf_add(&rest, target, (size_t)n);
    buf_addc(&rest, '/');
    buf_addsv(&rest, buf_sv(&w->rest));
    buf_finish(&w->rest);
    w->rest = rest;
    buf_truncate(&w->done, n > 0 && target[0] == '/' ? 1 : parent);
    return PI_OK;
}

static enum pi_status walk_path(struct walk *w, struct pi_error *err)
{
    bool missing = false;
    while (buf_ok(&w->done) && buf_ok(&w->rest)) {
        struct sv rest = buf_sv(&w->rest), component;
        if (!next_component(&rest, &component)) {
            break;
        }
        size_t parent = w->done.len;
        fold_component(&w->done, component, true);
        bool up = sv_eqs(component, "..");
        buf_drop(&w->rest, w->rest.len - rest.n);
        struct stat st;
        // Below something missing or unsearchable there is nothing to follow.
        if (missing || up || !buf_ok(&w->done)) {
            continue;
        }
        if (lstat(buf_cstr(&w->done), &st) != 0) {
            missing = true;
        } else if (S_ISLNK(st.st_mode)) {
            enum pi_status status = walk_link(w, parent, err);
            if (status != PI_OK) {
                return status;
            }
        }
    }
    return buf_ok(&w->done) && buf_ok(&w->rest) ? PI_OK : error_nomem(err);
}

enum pi_status path_real(char **out, const char *path, struct pi_error *err)
{
    struct walk w = {0};
    buf_addc(&w.done, '/');
    buf_adds(&w.rest, path);
    enum pi_status status = walk_path(&w, err);
    struct stat st;
    if (status == PI_OK && lstat(buf_cstr(&w.done), &st) != 0 && stat(path, &st) == 0) {
        // A link of /proc to something without a name (a pipe, a removed file).
        buf_clear(&w.done);
        buf_adds(&w.done, path);
    }
    if (status == PI_OK) {
        char *real = buf_take(&w.done);
        status = real ? PI_OK : error_nomem(err);
        if (real) {
            *out = real;
        }
    }
    buf_finish(&w.done);
    buf_finish(&w.rest);
    return status;
}

/* ------------------------------------------------------------------------ variants -- */

static bool is_odd_blank(uint32_t code)
{
    return code == 0xA0 || (code >= 0x2000 && code <= 0x200A) || code == 0x202F ||
           code == 0x205F || code == 0x3000;
}

static bool exists(const char *path)
{
    struct stat st;
    return lstat(path, &st) == 0;
}

static char *plain_blanks(const char *path)
{
    struct buf b = {0};
    struct sv rest = sv_of(path);
    while (rest.n > 0) {
        uint32_t code = utf8_next(&rest);
        utf8_put(&b, is_odd_blank(code) ? ' ' : code);
    }
    return buf_take(&b);
}

// The form in which names that look alike are equal. NULL without memory or when the name
// is not UTF-8.
static char *look_alike(struct sv name)
{
    struct buf b = {0};
    uint32_t folded[FOLD_MAX];
    if (!utf8_valid(name)) {
        return NULL;
    }
    while (name.n > 0) {
        size_t n = fold_char(utf8_next(&name), folded);
        for (size_t i = 0; i < n; i++) {
            utf8_put(&b, folded[i]);
        }
    }
    return buf_take(&b);
}

// The one entry of dir that looks like name; NULL when there is none or more than one.
static char *find_look_alike(const char *dir, struct sv name)
{
    char *wanted = look_alike(name);
    DIR *d = wanted ? opendir(dir) : NULL;
    char *found = NULL;
    int count = 0;
    for (struct dirent *e; d && count < 2 && (e = readdir(d));) {
        char *form = look_alike(sv_of(e->d_name));
        if (form && strcmp(form, wanted) == 0) {
            count++;
            free(found);
            found = strdup(e->d_name);
        }
        free(form);
    }
    if (d) {
        closedir(d);
    }
    free(wanted);
    if (count != 1) {
        free(found);
        return NULL;
    }
    return found;
}

// Goes down path and takes, where a component is missing, the one that looks like it.
static char *find_variant(const char *path)
{
    struct buf b = {0};
    struct sv rest = sv_of(path), component;
    buf_addc(&b, '/');
    while (buf_ok(&b) && next_component(&rest, &component)) {
        size_t parent = b.len;
        fold_component(&b, component, true);
        if (exists(buf_cstr(&b))) {
            continue;
        }
        buf_truncate(&b, parent);
        char *name = find_look_alike(buf_cstr(&b), component);
        if (!name) {
            buf_finish(&b);
            return NULL;
        }
        fold_component(&b, sv_of(name), true);
        free(name);
    }
    return buf_take(&b);
}

/* ------------------------------------------------------------------------- resolve -- */

static enum pi_status check_path(const char *path, struct pi_error *err)
{
    struct sv rest = sv_of(path), component;
    if (rest.n > MAX_PATH) {
        return error_set(err, PI_INVALID,
                         "the path is too long: %zu bytes, the limit is %d", rest.n,
                         MAX_PATH);
    }
    if (!utf8_valid(rest)) {
        return error_set(err, PI_INVALID, "the path is not valid UTF-8");
    }
    while (next_component(&rest, &component)) {
        if (component.n > MAX_COMPONENT) {
            return error_set(err, PI_INVALID,
                             "a name in the path is too long: %zu bytes, the limit is %d",
                             component.n, MAX_COMPONENT);
        }
    }
    return PI_OK;
}

// Makes argument absolute: "~" expanded, relative to cwd.
static enum pi_status absolute_form(char **out, const char *argument,
                                    const struct path_request *request,
                                    struct pi_error *err)
{
    const char *dir = request->cwd, *name = argument;
    if (argument[0] == '~' && (argument[1] == '\0' || argument[1] == '/')) {
        if (!request->home || request->home[0] != '/') {
            return error_set(err, PI_INVALID,
                             "\"%s\": the home directory is not known (HOME is not set); "
                             "use an absolute path",
                             argument);
        }
        dir = request->home;
        name = argument + 1 + strspn(argument + 1, "/");
    }
    *out = path_join(dir, name);
    return *out ? check_path(*out, err) : error_nomem(err);
}

// The candidates in their order: as given, and without a leading "@".
struct candidates {
    char *given;
    char *bare; // NULL when the argument has no "@"
};

static bool take(char **out, char **candidate)
{
    *out = *candidate;
    *candidate = NULL;
    return true;
}

static bool take_existing(char **out, struct candidates *c)
{
    if (exists(c->given)) {
        return take(out, &c->given);
    }
    return c->bare && exists(c->bare) && take(out, &c->bare);
}

static char *try_variant(const char *path, bool for_reading)
{
    if (for_reading) {
        return find_variant(path);
    }
    char *plain = plain_blanks(path);
    if (plain && exists(plain)) {
        return plain;
    }
    free(plain);
    return NULL;
}

static bool take_variant(char **out, const struct candidates *c, bool for_reading)
{
    char *a = try_variant(c->given, for_reading);
    char *b = c->bare ? try_variant(c->bare, for_reading) : NULL;
    if (a && b && strcmp(a, b) != 0) {
        free(a);
        free(b);
        return false;
    }
    *out = a ? a : b;
    if (a) {
        free(b);
    }
    return *out != NULL;
}

// Of a new file: without "@", unless it goes into an existing folder named "@...".
static void take_new(char **out, struct candidates *c, const char *argument)
{
    char *dir = c->bare && strchr(argument, '/') ? path_dir(c->given) : NULL;
    bool keep = !c->bare || (dir && exists(dir));
    free(dir);
    take(out, keep ? &c->given : &c->bare);
}

enum pi_status path_resolve(char **out, bool *folded, const struct path_request *request,
                            struct pi_error *err)
{
    const char *argument = request->argument;
    struct candidates c = {0};
    char *path = NULL;
    bool variant = false;
    enum pi_status status = check_path(argument, err);
    if (status == PI_OK) {
        status = absolute_form(&c.given, argument, request, err);
    }
    if (status == PI_OK && argument[0] == '@' && argument[1] != '\0') {
        status = absolute_form(&c.bare, argument + 1, request, err);
    }
    if (status != PI_OK) {
        goto out;
    }
    if (!take_existing(&path, &c)) {
        const char *tail = argument[0] == '@' ? argument + 1 : argument;
        variant = take_variant(&path, &c, request->for_reading);
        if (!variant && tail[0] == '~' && tail[1] != '\0' && tail[1] != '/') {
            status =
                error_set(err, PI_INVALID,
                          "\"%s\": only ~ and ~/ are expanded; use an absolute path, "
                          "or ./%s for a file of that name",
                          tail, tail);
            goto out;
        }
        if (!variant) {
            take_new(&path, &c, argument);
        }
    }
    *out = path;
    if (folded) {
        *folded = variant;
    }
out:
    free(c.given);
    free(c.bare);
    return status;
}
