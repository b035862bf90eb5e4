#pragma once

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <dirent.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/buf.h"
#include "sys/clock.h"
#include "sys/process.h"

/** A run with its output. */
struct fixture {
    char dir[64];
    struct env env;
    struct process_request request;
    struct buf output;
    struct process_result result;
    struct pi_error err;
    struct cancel *cancel;
    const char *log_path; // written by handover
    int again;            // what feed returns
    int empty_calls;
    int64_t ms;
};

static inline int feed(void *data, struct sv bytes)
{
    struct fixture *f = data;
    f->empty_calls += bytes.n == 0;
    buf_addsv(&f->output, bytes);
    return f->again;
}

static inline void handover(void *data)
{
    struct fixture *f = data;
    FILE *log = f->log_path ? fopen(f->log_path, "w") : NULL;
    if (log) {
        fwrite(f->output.data, 1, f->output.len, log);
        fclose(log);
    }
}

static inline int setup(void **state)
{
    struct fixture *f = calloc(1, sizeof *f);
    snprintf(f->dir, sizeof f->dir, "/tmp/pi-test-process-XXXXXX");
    if (!f || !mkdtemp(f->dir) || env_copy(&f->env, NULL, NULL) != PI_OK) {
        return -1;
    }
    f->again = -1;
    f->request = (struct process_request){
        .guard_path = getenv("PI_GUARD"),
        .shell = "/bin/bash",
        .cwd = f->dir,
        .environment = &f->env,
    };
    *state = f;
    return cancel_create(&f->cancel, NULL, NULL) == PI_OK ? 0 : -1;
}

static inline int teardown(void **state)
{
    struct fixture *f = *state;
    char command[128];
    snprintf(command, sizeof command, "rm -rf '%s'", f->dir);
    int rc = system(command);
    env_finish(&f->env);
    buf_finish(&f->output);
    cancel_unref(f->cancel);
    free(f);
    return rc;
}

static inline enum pi_status run(struct fixture *f, const char *command)
{
    const struct process_sink sink = {.feed = feed, .handover = handover, .data = f};
    f->request.command = command;
    buf_clear(&f->output);
    int64_t start = clock_mono_ms();
    enum pi_status status =
        process_run(&f->request, &sink, f->cancel, &f->result, &f->err);
    f->ms = clock_mono_ms() - start;
    return status;
}

/** Runs and expects this end. */
static inline void expect(struct fixture *f, const char *command, enum process_end end,
                          int code)
{
    enum pi_status status = run(f, command);
    if (status != PI_OK) {
        fail_msg("%s: %s", command, f->err.message);
    }
    assert_int_equal(f->result.end, end);
    assert_int_equal(f->result.code, code);
}

static inline const char *text(const struct fixture *f)
{
    return buf_cstr(&f->output);
}

static inline bool alive(pid_t pid)
{
    char path[64];
    char line[256] = "";
    snprintf(path, sizeof path, "/proc/%d/stat", (int)pid);
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0) {
        return false;
    }
    ssize_t n = read(fd, line, sizeof line - 1);
    close(fd);
    const char *paren = n > 0 ? strrchr(line, ')') : NULL;
    return paren && paren[2] != 'Z' && paren[2] != 'X';
}

static inline bool dies(pid_t pid, int wait_ms)
{
    int64_t until = clock_mono_ms() + wait_ms;
    while (alive(pid) && clock_mono_ms() < until) {
        usleep(5000);
    }
    return !alive(pid);
}

/** The number that a command left in a file of the fixture. */
static inline pid_t pid_in(const struct fixture *f, const char *name)
{
    char path[128];
    int pid = 0;
    snprintf(path, sizeof path, "%s/%s", f->dir, name);
    for (int i = 0; i < 400 && pid == 0; i++) {
        FILE *file = fopen(path, "r");
        if (file) {
            char line[32] = "";
            pid = fgets(line, sizeof line, file) ? (int)strtol(line, NULL, 10) : 0;
            fclose(file);
        }
        if (pid == 0) {
            usleep(5000);
        }
    }
    assert_true(pid > 0);
    return pid;
}

static inline int open_files(void)
{
    int count = 0;
    DIR *dir = opendir("/proc/self/fd");
    while (readdir(dir)) {
        count++;
    }
    closedir(dir);
    return count;
}

#define PROCESS_TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)
