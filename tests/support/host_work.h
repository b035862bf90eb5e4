#pragma once

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <dirent.h>
#include <sys/wait.h>

#include "host/host.h"
#include "scratch.h"

/** Looking at and changing files of a scratch folder through the disk host. */

static char *dir;

static inline int work_setup(void **state)
{
    (void)state;
    dir = scratch_make();
    return 0;
}

static inline int work_teardown(void **state)
{
    (void)state;
    scratch_remove(dir);
    return 0;
}

// A file that is looked at and changed.
struct work {
    struct host_target target;
    struct host_snapshot snapshot;
    struct host_applied applied;
    struct pi_error err;
};

static inline void work_finish(struct work *w)
{
    host_target_finish(&w->target);
    host_snapshot_finish(&w->snapshot);
    host_applied_finish(&w->applied);
}

static inline void work_resolve(struct work *w, const char *name)
{
    *w = (struct work){0};
    assert_int_equal(host_resolve(&w->target, scratch_path(dir, name), name, &w->err),
                     PI_OK);
}

static inline enum pi_status work_snapshot(struct work *w, const char *name)
{
    struct host *h = host_posix();
    work_resolve(w, name);
    return h->ops->snapshot(h, &w->target, &w->snapshot, NULL, &w->err);
}

static inline enum pi_status work_apply(struct work *w, const struct host_change *changes,
                                        size_t len)
{
    struct host *h = host_posix();
    return h->ops->apply(h, &w->target, &w->snapshot, changes, len, NULL, &w->applied,
                         NULL, &w->err);
}

// Replaces the first `from` in the text by `to`.
static inline enum pi_status work_replace(struct work *w, const char *from,
                                          const char *to)
{
    const char *text = buf_cstr(&w->snapshot.text);
    const char *at = strstr(text, from);
    assert_non_null(at);
    struct host_change c = {(size_t)(at - text), strlen(from), sv_of(to)};
    return work_apply(w, &c, 1);
}

// Replaces the first `from` in the file by `to`.
static inline enum pi_status edit(const char *name, const char *from, const char *to,
                                  struct pi_error *err)
{
    struct work w;
    enum pi_status status = work_snapshot(&w, name);
    if (status == PI_OK) {
        status = work_replace(&w, from, to);
        assert_int_equal(w.applied.saved, status == PI_OK);
    }
    if (err) {
        *err = w.err;
    }
    work_finish(&w);
    return status;
}

// Number of entries of the folder, hidden ones too.
static inline int entries(void)
{
    DIR *d = opendir(dir);
    int n = 0;
    for (struct dirent *e; (e = readdir(d));) {
        n += e->d_name[0] != '.' || strlen(e->d_name) > 2;
    }
    closedir(d);
    return n;
}

// A folder that is open to all; the test's own temporary folder is not.
static inline int work_setup_open(void **state)
{
    (void)state;
    dir = scratch_make_in("/tmp");
    scratch_check(chmod(dir, 0777) == 0, dir);
    return 0;
}

// Runs in a child as an ordinary user; the result of body is its exit status.
static inline int work_as_nobody(int (*body)(void))
{
    fflush(NULL);
    pid_t pid = fork();
    if (pid == 0) {
        if (geteuid() == 0 && (setgid(65534) != 0 || setuid(65534) != 0)) {
            _exit(90);
        }
        _exit(body());
    }
    int status = 0;
    waitpid(pid, &status, 0);
    return WIFEXITED(status) ? WEXITSTATUS(status) : 91;
}
