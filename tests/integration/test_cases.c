// Runs the cases of tests/data/cases/*.jsonl against `pi tool --jsonl`: one case a line,
//   id, title    names
//   setup        shell commands run in the case's own directory first
//   steps        calls [{"tool","args","abortAfterMs"?}], one after the other
//   parallel     true: all calls at once
//   restrict     directory for --restrict, relative to the case's
//   check        shell commands run afterwards; a failing one fails the case
// In `check`, text N prints the text of result N (from 0); ok N and error N tell whether
// it was a success; says N TEXT and lacks N TEXT whether the text holds TEXT; holds FILE
// TEXT whether FILE is exactly what printf makes of TEXT; not COMMAND negates (the shell
// does not stop at a failing "!"). PI_CASE=ID runs one case only.
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/json.h"
#include "sys/clock.h"
#include "sys/file.h"
#include "sys/path.h"
#include "text/framer.h"

enum { ANSWER_MS = 20000, END_MS = 5000, LINE_MAX_BYTES = 64 * 1024 * 1024 };

static const char check_prelude[] =
    "text() { cat \"$RESULTS/$1.text\"; }\n"
    "ok() { [ \"$(cat \"$RESULTS/$1.error\")\" = false ]; }\n"
    "error() { [ \"$(cat \"$RESULTS/$1.error\")\" = true ]; }\n"
    "says() { text \"$1\" | grep -qF -e \"$2\"; }\n"
    "not() { if \"$@\"; then return 1; fi; }\n"
    "lacks() { not says \"$@\"; }\n"
    "holds() { printf \"$2\" | cmp - \"$1\"; }\n"
    "set -ex\n";

struct program {
    pid_t pid;
    int in, out;
    struct framer framer;
};

static void die(const char *what)
{
    perror(what);
    exit(1);
}

// Runs shell commands in dir, output to `log`; true when they succeed.
static bool shell(const char *dir, const char *prelude, const char *script,
                  const char *log)
{
    struct buf all = {0};
    buf_adds(&all, prelude);
    buf_adds(&all, script);
    pid_t pid = fork();
    if (pid == 0) {
        int fd = open(log, O_WRONLY | O_CREAT | O_TRUNC, 0600);
        if (fd < 0 || dup2(fd, 1) < 0 || dup2(fd, 2) < 0 || chdir(dir) != 0) {
            _exit(126);
        }
        execl("/bin/bash", "bash", "-c", buf_cstr(&all), (char *)NULL);
        _exit(127);
    }
    int status = 1;
    waitpid(pid, &status, 0);
    buf_finish(&all);
    return WIFEXITED(status) && WEXITSTATUS(status) == 0;
}

static void program_start(struct program *p, const char *pi, const char *restrict_dir)
{
    int to[2], from[2];
    if (pipe2(to, O_CLOEXEC) != 0 || pipe2(from, O_CLOEXEC) != 0) {
        die("pipe");
    }
    *p = (struct program){.in = to[1], .out = from[0], .framer = {LINE_MAX_BYTES}};
    p->pid = fork();
    if (p->pid == 0) {
        setsid();
        dup2(to[0], 0);
        dup2(from[1], 1);
        if (chdir("/") == 0) {
            execl(pi, "pi", "tool", "--jsonl", restrict_dir ? "--restrict" : NULL,
                  restrict_dir, (char *)NULL);
        }
        _exit(127);
    }
    close(to[0]);
    close(from[1]);
}

static void keep(const char *dir, size_t step, const char *kind, struct sv text)
{
    struct buf path = {0};
    buf_addf(&path, "%s/%zu.%s", dir, step, kind);
    int fd = open(buf_cstr(&path), O_WRONLY | O_CREAT | O_TRUNC, 0600);
    if (fd < 0 || file_write(fd, text.p, text.n, NULL) != PI_OK) {
        die(buf_cstr(&path));
    }
    close(fd);
    buf_finish(&path);
}

// Puts one answer into the files that `check` looks at; false when it is none.
static bool take_answer(struct sv line, const char *results)
{
    struct json *answer = NULL;
    struct pi_error err;
    if (json_parse(&answer, line, NULL, &err) != PI_OK) {
        printf("not JSON: %.200s\n", line.p);
        return false;
    }
    const char *id = json_get_str(answer, "id");
    const char *text = json_get_str(answer, "text");
    bool ok = id && text && json_type(json_get(answer, "isError")) == JSON_BOOL;
    if (ok) {
        size_t step = strtoul(id, NULL, 10);
        bool failed = json_get_bool(answer, "isError", false);
        keep(results, step, "text", sv_of(text));
        keep(results, step, "json", line);
        keep(results, step, "error", sv_of(failed ? "true" : "false"));
    }
    json_destroy(answer);
    return ok;
}

// Waits for `count` answers.
static bool take_answers(struct program *p, size_t count, const char *results)
{
    int64_t end = clock_mono_ms() + ANSWER_MS;
    static char bytes[64 * 1024];
    while (count > 0) {
        struct pollfd fd = {.fd = p->out, .events = POLLIN};
        int64_t left = end - clock_mono_ms();
        if (left <= 0 || poll(&fd, 1, (int)left) <= 0) {
            puts("no answer");
            return false;
        }
        ssize_t n = read(p->out, bytes, sizeof bytes);
        if (n <= 0) {
            puts("the program ended");
            return false;
        }
        struct sv piece = sv_make(bytes, (size_t)n), line;
        while (framer_next(&p->framer, &piece, &line) == FRAMER_LINE) {
            if (count == 0 || !take_answer(line, results)) {
                return false;
            }
            count--;
        }
    }
    return true;
}

static bool send_step(struct program *p, const struct json *step, size_t index,
                      const char *cwd)
{
    char id[24];
    snprintf(id, sizeof id, "%zu", index);
    struct json *call = json_copy(step);
    struct buf line = {0};
    bool ok = call && json_set_str(call, "id", id) && json_set_str(call, "cwd", cwd);
    if (ok) {
        json_write(&line, call);
        buf_addc(&line, '\n');
        ok = file_write(p->in, line.data, line.len, NULL) == PI_OK;
    }
    buf_finish(&line);
    json_destroy(call);
    return ok;
}

static bool run_steps(struct program *p, const struct json *scenario, const char *cwd,
                      const char *results)
{
    bool parallel = json_get_bool(scenario, "parallel", false);
    size_t index = 0;
    const struct json *steps = json_get(scenario, "steps");
    for (struct json *step = json_first(steps); step; step = json_next(step)) {
        if (!send_step(p, step, index++, cwd) ||
            (!parallel && !take_answers(p, 1, results))) {
            return false;
        }
    }
    return !parallel || take_answers(p, index, results);
}

// The end of input must end the program.
static bool program_end(struct program *p)
{
    close(p->in);
    int64_t end = clock_mono_ms() + END_MS;
    int status = -1;
    pid_t got = 0;
    while (got == 0 && clock_mono_ms() < end) {
        got = waitpid(p->pid, &status, WNOHANG);
        usleep(5000);
    }
    if (got == 0) {
        puts("the program does not end");
        kill(p->pid, SIGKILL);
        waitpid(p->pid, &status, 0);
    } else if (status != 0) {
        printf("the program ended with status %d\n", status);
    }
    close(p->out);
    framer_finish(&p->framer);
    return got != 0 && status == 0;
}

static void print_file(const char *path)
{
    struct buf text = {0};
    if (file_load(&text, path, 1024 * 1024, NULL) == PI_OK) {
        fwrite(text.data, 1, text.len, stdout);
    }
    buf_finish(&text);
}

static bool run_case(const struct json *scenario, const char *pi, const char *top)
{
    char *work = path_join(top, "work"), *results = path_join(top, "results");
    char *log = path_join(top, "log");
    const char *below = json_get_str(scenario, "restrict");
    const char *setup = json_get_str(scenario, "setup");
    const char *check = json_get_str(scenario, "check");
    char *restrict_dir = below ? path_join(work, below) : NULL;
    bool ok = mkdir(work, 0700) == 0 && mkdir(results, 0700) == 0;
    ok = ok && check && shell(work, "set -e\n", setup ? setup : ":", log);
    if (ok) {
        struct program program;
        setenv("RESULTS", results, 1);
        program_start(&program, pi, restrict_dir);
        ok = run_steps(&program, scenario, work, results);
        ok = program_end(&program) && ok;
        ok = ok && shell(work, check_prelude, check, log);
    }
    if (!ok) {
        print_file(log);
    }
    free(work);
    free(results);
    free(log);
    free(restrict_dir);
    return ok;
}

static bool run_line(struct sv line, const char *pi)
{
    struct json *scenario = NULL;
    struct pi_error err;
    if (json_parse(&scenario, line, NULL, &err) != PI_OK) {
        printf("a case is not JSON: %s\n", err.message);
        return false;
    }
    const char *id = json_get_str(scenario, "id");
    const char *only = getenv("PI_CASE");
    bool ok = true;
    if (id && (!only || strcmp(only, id) == 0)) {
        struct buf top = {0};
        buf_addf(&top, "%s/case.XXXXXX", getenv("TMPDIR"));
        ok = mkdtemp(top.data) && run_case(scenario, pi, top.data);
        printf("%s %s\n", ok ? "ok  " : "FAIL", id);
        buf_finish(&top);
    }
    json_destroy(scenario);
    return ok && id;
}

int main(void)
{
    const char *pi = getenv("PI"), *data = getenv("PI_TEST_DATA");
    char *dir = path_join(data, "cases");
    struct dirent **names = NULL;
    int n = scandir(dir, &names, NULL, alphasort);
    size_t failed = 0, count = 0;
    signal(SIGPIPE, SIG_IGN);
    for (int i = 0; i < n; i++) {
        struct buf text = {0};
        char *path = path_join(dir, names[i]->d_name);
        if (sv_ends(sv_of(path), sv_of(".jsonl")) &&
            file_load(&text, path, LINE_MAX_BYTES, NULL) == PI_OK) {
            struct sv rest = buf_sv(&text), line;
            while (sv_next_line(&rest, &line)) {
                count++;
                failed += !run_line(line, pi);
            }
        }
        free(path);
        free(names[i]);
        buf_finish(&text);
    }
    free(names);
    free(dir);
    printf("%zu cases, %zu failed\n", count, failed);
    return failed > 0 || count == 0;
}
