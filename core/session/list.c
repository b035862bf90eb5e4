#include "session/list.h"

#include <dirent.h>
#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/vec.h"
#include "session/entry_head.h"
#include "session/entry_message.h"
#include "session/session_inside.h"
#include "sys/clock.h"
#include "sys/file.h"
#include "sys/path.h"

enum { NAME_MAX_BYTES = 255, PLAIN_MAX = 200, FIRST_MESSAGE_BYTES = 200 };

/* -- the folder -- */

char *session_dir(const char *agent_dir, const char *cwd)
{
    struct buf name = {0};
    uint64_t hash = 14695981039346656037U; // FNV-1a
    const char *rest = cwd + (cwd[0] == '/');
    buf_adds(&name, "sessions/--");
    size_t start = name.len - 2;
    for (const char *p = rest; *p; p++) {
        buf_addc(&name, strchr("/\\:", *p) ? '-' : *p);
        hash = (hash ^ (unsigned char)*p) * 1099511628211U;
    }
    // The file system would refuse a longer name.
    if (name.len - start + 2 > NAME_MAX_BYTES) {
        buf_truncate(&name, start + PLAIN_MAX);
        buf_addf(&name, "-%016llx", (unsigned long long)hash);
    }
    buf_adds(&name, "--");
    char *path = buf_ok(&name) ? path_join(agent_dir, buf_cstr(&name)) : NULL;
    buf_finish(&name);
    return path;
}

/* -- its files -- */

struct found {
    char *path;
    int64_t mtime_ns;
};
struct files {
    struct found *items;
    size_t len, cap;
};

static void files_finish(struct files *f)
{
    for (size_t i = 0; i < f->len; i++) {
        free(f->items[i].path);
    }
    free(f->items);
    *f = (struct files){0};
}

static int newer_first(const void *a, const void *b)
{
    const struct found *x = a;
    const struct found *y = b;
    if (x->mtime_ns != y->mtime_ns) {
        return x->mtime_ns > y->mtime_ns ? -1 : 1;
    }
    return strcmp(y->path, x->path);
}

static enum pi_status add_file(struct files *out, const char *dir, const char *name)
{
    struct stat st;
    char *path = path_join(dir, name);
    if (!path) {
        return PI_NOMEM;
    }
    if (stat(path, &st) != 0) {
        free(path);
        return PI_OK;
    }
    struct found *grown = vec_grow(out->items, &out->cap, out->len + 1, sizeof *grown);
    if (!grown) {
        free(path);
        return PI_NOMEM;
    }
    out->items = grown;
    out->items[out->len++] =
        (struct found){.path = path, .mtime_ns = file_stamp_of(&st).mtime_ns};
    return PI_OK;
}

// The entries of a folder whose names end so, newest first; none when it cannot be read.
static enum pi_status find_files(struct files *out, const char *dir, const char *suffix,
                                 struct pi_error *err)
{
    DIR *d = opendir(dir);
    enum pi_status status = d || errno != ENOMEM ? PI_OK : PI_NOMEM;
    const struct dirent *e;
    // NOLINTNEXTLINE(concurrency-mt-unsafe): the stream is ours alone
    while (d && !status && (e = readdir(d))) {
        if (e->d_name[0] != '.' && sv_ends(sv_of(e->d_name), sv_of(suffix))) {
            status = add_file(out, dir, e->d_name);
        }
    }
    if (d) {
        closedir(d);
    }
    if (status) {
        files_finish(out);
        return error_nomem(err);
    }
    if (out->len > 0) {
        qsort(out->items, out->len, sizeof *out->items, newer_first);
    }
    return PI_OK;
}

/* -- a file -- */

// Reads the header into *s, which the caller finishes with finish_peek. False: it is no
// session, or *status is PI_NOMEM.
static bool peek(struct session *s, const char *path, enum pi_status *status)
{
    int fd = -1;
    size_t got = 0;
    bool ok = false;
    *s = (struct session){0};
    char *head = malloc(JOURNAL_HEAD_BYTES);
    *status = head && session_set(&s->path, path) ? PI_OK : PI_NOMEM;
    if (!*status && file_open_regular(&fd, path, NULL, NULL) == PI_OK &&
        file_read(fd, head, JOURNAL_HEAD_BYTES, &got, NULL) == PI_OK) {
        struct sv rest = sv_make(head, got);
        struct sv line = {0};
        while (sv_next_line(&rest, &line) && (line.n == 0 || sv_eqs(line, "\r"))) {
        }
        enum pi_status found = session_read_header(s, line, NULL);
        *status = found == PI_NOMEM ? found : PI_OK;
        ok = found == PI_OK;
    }
    file_close(&fd);
    free(head);
    return ok;
}

static void finish_peek(struct session *s)
{
    free(s->path);
    free(s->id);
    free(s->cwd);
    buf_finish(&s->header);
}

static bool belongs(const struct session *s, const char *cwd)
{
    return !cwd || !s->cwd || strcmp(s->cwd, cwd) == 0;
}

enum pi_status session_newest(char **path, const char *dir, const char *cwd,
                              struct pi_error *err)
{
    struct files files = {0};
    enum pi_status status = find_files(&files, dir, ".jsonl", err);
    bool found = false;
    for (size_t i = 0; i < files.len && !status && !found; i++) {
        struct session s;
        if (peek(&s, files.items[i].path, &status) && belongs(&s, cwd)) {
            found = true;
            *path = files.items[i].path;
            files.items[i].path = NULL;
        }
        finish_peek(&s);
    }
    files_finish(&files);
    if (status) {
        return error_nomem(err);
    }
    return found ? PI_OK : error_set(err, PI_NOT_FOUND, "there is no session in %s", dir);
}

/* -- by id -- */

struct search {
    const char *id; // its beginning
    char *path;
    bool several;
};

static enum pi_status search_dir(struct search *s, const char *dir)
{
    struct files files = {0};
    enum pi_status status = find_files(&files, dir, ".jsonl", NULL);
    for (size_t i = 0; i < files.len && !status; i++) {
        struct session peeked;
        if (peek(&peeked, files.items[i].path, &status) &&
            sv_starts(sv_of(peeked.id), sv_of(s->id))) {
            s->several = s->path != NULL;
            if (!session_set(&s->path, files.items[i].path)) {
                status = PI_NOMEM;
            }
        }
        finish_peek(&peeked);
    }
    files_finish(&files);
    return status;
}

enum pi_status session_find(char **path, const char *id, const char *dir,
                            const char *root, struct pi_error *err)
{
    struct search s = {.id = id};
    struct files folders = {0};
    enum pi_status status = search_dir(&s, dir);
    if (!status && !s.path && root) {
        status = find_files(&folders, root, "", NULL);
    }
    for (size_t i = 0; i < folders.len && !status; i++) {
        if (strcmp(folders.items[i].path, dir) != 0) {
            status = search_dir(&s, folders.items[i].path);
        }
    }
    files_finish(&folders);
    if (status) {
        status = error_nomem(err);
    } else if (!s.path) {
        status =
            error_set(err, PI_NOT_FOUND, "no session has an id that begins with %s", id);
    } else if (s.several) {
        status = error_set(err, PI_INVALID,
                           "several sessions have an id that begins with %s; give more "
                           "of it",
                           id);
    }
    if (status) {
        free(s.path);
    } else {
        *path = s.path;
    }
    return status;
}

/* -- all of a folder -- */

struct summary {
    struct session_info *info;
    struct journal *journal;
    enum pi_status status;
};

static struct json *parse_line(struct summary *s, uint64_t offset)
{
    struct buf text = {0};
    struct json *entry = NULL;
    enum pi_status status = journal_read(s->journal, offset, &text, NULL);
    if (!status) {
        status = json_parse(&entry, buf_sv(&text), NULL, NULL);
    }
    s->status = status == PI_NOMEM ? status : s->status;
    buf_finish(&text);
    return entry;
}

// The beginning of a text on one line.
static char *shorten(struct sv text)
{
    struct buf b = {0};
    bool blank = false;
    for (size_t i = 0; i < text.n; i++) {
        unsigned char c = (unsigned char)text.p[i];
        bool starts_character = (c & 0xC0) != 0x80;
        if (b.len >= FIRST_MESSAGE_BYTES && starts_character) {
            buf_adds(&b, "...");
            break;
        }
        if (c <= ' ') {
            blank = b.len > 0;
            continue;
        }
        if (blank) {
            buf_addc(&b, ' ');
            blank = false;
        }
        buf_addc(&b, (char)c);
    }
    return buf_take(&b);
}

static void take_message(struct summary *s, const struct journal_line *line)
{
    s->info->messages++;
    if (s->info->first_message) {
        return;
    }
    struct message *m = NULL;
    struct json *entry = parse_line(s, line->offset);
    if (entry && entry_message(&m, entry, NULL) == PI_OK && m && m->role == ROLE_USER) {
        struct buf text = {0};
        content_text(&m->content, &text);
        s->info->first_message = buf_ok(&text) ? shorten(buf_sv(&text)) : NULL;
        s->status = s->info->first_message ? s->status : PI_NOMEM;
        buf_finish(&text);
    }
    message_destroy(m);
    json_destroy(entry);
}

static void take_name(struct summary *s, const struct journal_line *line)
{
    struct json *entry = parse_line(s, line->offset);
    const char *name = json_get_str(entry, "name");
    if (name && !session_set(&s->info->name, *name ? name : NULL)) {
        s->status = PI_NOMEM;
    }
    json_destroy(entry);
}

static bool take_line(void *data, const struct journal_line *line)
{
    struct summary *s = data;
    struct entry_head head;
    if (line->number == 1 ||
        entry_head_read(&head, line->head, line->length > line->head.n) ==
            ENTRY_HEAD_BAD) {
        return true;
    }
    enum entry_type type = head.type.p ? entry_type_of(head.type) : ENTRY_OTHER;
    char time[32] = "";
    int64_t ms;
    if (type == ENTRY_MESSAGE) {
        take_message(s, line);
        if (head.timestamp.n > 0 && head.timestamp.n < sizeof time) {
            memcpy(time, head.timestamp.p, head.timestamp.n);
        }
        if (clock_parse_iso(&ms, time) && ms > s->info->modified_ms) {
            s->info->modified_ms = ms;
        }
    } else if (type == ENTRY_SESSION_INFO) {
        take_name(s, line);
    }
    return s->status == PI_OK;
}

static void info_finish(struct session_info *info)
{
    free(info->path);
    free(info->id);
    free(info->name);
    free(info->cwd);
    free(info->first_message);
}

void session_list_finish(struct session_list *l)
{
    if (!l) {
        return;
    }
    for (size_t i = 0; i < l->len; i++) {
        info_finish(&l->items[i]);
    }
    free(l->items);
    *l = (struct session_list){0};
}

static enum pi_status summarise(struct session_info *info, const struct found *file)
{
    struct summary s = {.info = info};
    enum pi_status status = journal_open(&s.journal, NULL, file->path, NULL);
    if (!status) {
        status = journal_scan(s.journal, take_line, &s, NULL);
    }
    journal_close(s.journal);
    if (info->modified_ms == 0) {
        info->modified_ms = file->mtime_ns / 1000000;
    }
    return s.status ? s.status : status;
}

static enum pi_status list_file(struct session_list *out, const struct found *file,
                                const char *cwd)
{
    enum pi_status status;
    struct session s;
    struct session_info info = {0};
    bool wanted = peek(&s, file->path, &status) && belongs(&s, cwd);
    if (wanted) {
        info = (struct session_info){.path = s.path, .id = s.id, .cwd = s.cwd};
        s.path = s.id = s.cwd = NULL;
        status = summarise(&info, file);
    }
    finish_peek(&s);
    if (wanted && !status) {
        struct session_info *grown =
            vec_grow(out->items, &out->cap, out->len + 1, sizeof *grown);
        if (grown) {
            out->items = grown;
            out->items[out->len++] = info;
            return PI_OK;
        }
        status = PI_NOMEM;
    }
    info_finish(&info);
    return status == PI_NOMEM ? status : PI_OK;
}

static int modified_last(const void *a, const void *b)
{
    const struct session_info *x = a;
    const struct session_info *y = b;
    return (x->modified_ms < y->modified_ms) - (x->modified_ms > y->modified_ms);
}

enum pi_status session_list(struct session_list *out, const char *dir, const char *cwd,
                            struct pi_error *err)
{
    struct files files = {0};
    enum pi_status status = find_files(&files, dir, ".jsonl", err);
    for (size_t i = 0; i < files.len && !status; i++) {
        status = list_file(out, &files.items[i], cwd);
    }
    files_finish(&files);
    if (status) {
        return error_nomem(err);
    }
    if (out->len > 0) {
        qsort(out->items, out->len, sizeof *out->items, modified_last);
    }
    return PI_OK;
}
