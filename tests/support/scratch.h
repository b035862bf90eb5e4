#pragma once

#include <fcntl.h>
#include <ftw.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/** A folder of its own for a test, and files in it. Failures end the test program. */

static inline void scratch_check(int ok, const char *what)
{
    if (!ok) {
        perror(what);
        exit(99);
    }
}

/** Real path of a new empty folder in base; removed by scratch_remove. */
static inline char *scratch_make_in(const char *base)
{
    char path[512];
    snprintf(path, sizeof path, "%s/scratch-XXXXXX", base);
    scratch_check(mkdtemp(path) != NULL, path);
    char *real = realpath(path, NULL);
    scratch_check(real != NULL, path);
    return real;
}

/** The same in the test's own temporary folder. */
static inline char *scratch_make(void)
{
    const char *base = getenv("TMPDIR");
    return scratch_make_in(base ? base : "/tmp");
}

static inline int scratch_remove_one(const char *path, const struct stat *st, int kind,
                                     struct FTW *at)
{
    (void)st;
    (void)kind;
    (void)at;
    return remove(path);
}

static inline void scratch_remove(char *dir)
{
    nftw(dir, scratch_remove_one, 8, FTW_DEPTH | FTW_PHYS);
    free(dir);
}

/** "DIR/NAME" in one of eight static buffers. */
static inline const char *scratch_path(const char *dir, const char *name)
{
    static char paths[8][8192];
    static unsigned next;
    char *path = paths[next++ % 8];
    snprintf(path, sizeof paths[0], "%s/%s", dir, name);
    return path;
}

static inline void scratch_write(const char *dir, const char *name, const void *bytes,
                                 size_t n)
{
    const char *path = scratch_path(dir, name);
    FILE *f = fopen(path, "wb");
    scratch_check(f && fwrite(bytes, 1, n, f) == n && fclose(f) == 0, path);
}

static inline void scratch_text(const char *dir, const char *name, const char *text)
{
    scratch_write(dir, name, text, strlen(text));
}

/** The content, NUL-terminated, freed by the caller; NULL when it cannot be read. */
static inline char *scratch_read(const char *dir, const char *name, size_t *n)
{
    FILE *f = fopen(scratch_path(dir, name), "rb");
    if (!f) {
        return NULL;
    }
    size_t len = 0, cap = 4096;
    char *text = malloc(cap);
    for (size_t got; (got = fread(text + len, 1, cap - len - 1, f)) > 0;) {
        len += got;
        if (cap - len < 2) {
            text = realloc(text, cap *= 2);
        }
    }
    fclose(f);
    text[len] = '\0';
    if (n) {
        *n = len;
    }
    return text;
}

/** Whether the file holds exactly this text. */
static inline int scratch_holds(const char *dir, const char *name, const char *text)
{
    size_t n = 0;
    char *got = scratch_read(dir, name, &n);
    int same = got && n == strlen(text) && memcmp(got, text, n) == 0;
    free(got);
    return same;
}
