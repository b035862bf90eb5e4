// usage: typist CLOCK KEYS PER_SECOND COMMAND...
// Runs an editor on a terminal of its own (40 x 120), types KEYS letters at an even pace,
// and prints how long they took from the key to the editor's having handled it, in
// milliseconds: median, 95th percentile, largest. All the while it reads what the editor
// shows, as a terminal would.
//
// The editor learns from the environment: TYPIST, a pipe to write lines to, and
// TYPIST_KEYS. Lines that count:
//   ready           it waits for keys
//   handled N TIME  N letters were there at TIME, seconds of CLOCK: monotonic or realtime
//   say TEXT        TEXT is printed, too
// Having written all of them, which it does at the end, the editor quits.
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "../support/terminal.h"

enum { KEYS_MAX = 10000, PATIENCE_S = 60, LINE_MAX_BYTES = 4096 };

static struct {
    clockid_t clock;
    int keys, typed, handled;
    double pace_s, next_s; // of CLOCK_MONOTONIC
    double sent[KEYS_MAX], took_ms[KEYS_MAX];
    bool ready;
} typing;

static double now(clockid_t clock)
{
    struct timespec t;
    clock_gettime(clock, &t);
    return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

static void die(const char *what)
{
    perror(what);
    exit(2);
}

// The pipe is held open for writing, too, so that it has no end.
static int make_pipe(char *path, size_t size)
{
    snprintf(path, size, "%s/typist.%d", getenv("TMPDIR") ? getenv("TMPDIR") : "/tmp",
             (int)getpid());
    int fd = mkfifo(path, 0600) ? -1 : open(path, O_RDWR | O_NONBLOCK | O_CLOEXEC);
    if (fd < 0 || setenv("TYPIST", path, 1)) {
        die(path);
    }
    return fd;
}

static void take_line(const char *line)
{
    int n;
    double time;
    if (strcmp(line, "ready") == 0) {
        typing.ready = true;
        typing.next_s = now(CLOCK_MONOTONIC);
    } else if (strncmp(line, "say ", 4) == 0) {
        printf("%s\n", line + 4);
    } else if (sscanf(line, "handled %d %lf", &n, &time) == 2) {
        for (; typing.handled < n && typing.handled < typing.typed; typing.handled++) {
            typing.took_ms[typing.handled] = (time - typing.sent[typing.handled]) * 1e3;
        }
    }
}

static void read_lines(int fd)
{
    static char line[LINE_MAX_BYTES];
    static size_t len;
    char bytes[4096];
    ssize_t n;
    while ((n = read(fd, bytes, sizeof bytes)) > 0) {
        for (ssize_t i = 0; i < n; i++) {
            if (bytes[i] != '\n' && len + 1 < sizeof line) {
                line[len++] = bytes[i];
                continue;
            }
            line[len] = '\0';
            len = 0;
            take_line(line);
        }
    }
}

static void type_key(int terminal)
{
    char key = (char)('a' + typing.typed % 26);
    typing.sent[typing.typed++] = now(typing.clock);
    if (write(terminal, &key, 1) != 1) {
        die("typing");
    }
    typing.next_s += typing.pace_s;
}

static int wait_ms(void)
{
    if (!typing.ready || typing.typed == typing.keys) {
        return 100;
    }
    double left = (typing.next_s - now(CLOCK_MONOTONIC)) * 1e3;
    return left > 0 ? (int)left + 1 : 0;
}

// False when the editor has closed the terminal.
static bool step(int terminal, int pipe, int log)
{
    char shown[65536];
    struct pollfd fds[] = {{.fd = terminal, .events = POLLIN},
                           {.fd = pipe, .events = POLLIN}};
    if (poll(fds, 2, wait_ms()) < 0 && errno != EINTR) {
        die("poll");
    }
    read_lines(pipe);
    bool due = typing.ready && typing.typed < typing.keys;
    if (due && now(CLOCK_MONOTONIC) >= typing.next_s) {
        type_key(terminal);
    }
    if (!fds[0].revents) {
        return true;
    }
    ssize_t n = read(terminal, shown, sizeof shown);
    if (n > 0 && log >= 0 && write(log, shown, (size_t)n) != n) {
        die("log");
    }
    return n > 0 || (n < 0 && errno == EINTR);
}

static int compare(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

static int report(void)
{
    if (typing.handled < typing.keys) {
        fprintf(stderr, "typist: of %d keys %d were typed and %d handled\n", typing.keys,
                typing.typed, typing.handled);
        return 1;
    }
    qsort(typing.took_ms, (size_t)typing.keys, sizeof *typing.took_ms, compare);
    printf("keys %.2f %.2f %.2f\n", typing.took_ms[typing.keys / 2],
           typing.took_ms[typing.keys * 95 / 100], typing.took_ms[typing.keys - 1]);
    return 0;
}

int main(int argc, char **argv)
{
    char path[256];
    int terminal;
    int per_second = argc > 4 ? (int)strtol(argv[3], NULL, 10) : 0;
    typing.keys = argc > 4 ? (int)strtol(argv[2], NULL, 10) : 0;
    if (typing.keys < 1 || typing.keys > KEYS_MAX || per_second < 1) {
        fprintf(stderr, "usage: typist monotonic|realtime KEYS PER_SECOND COMMAND...\n");
        return 2;
    }
    typing.clock = strcmp(argv[1], "realtime") ? CLOCK_MONOTONIC : CLOCK_REALTIME;
    typing.pace_s = 1.0 / per_second;
    setenv("TYPIST_KEYS", argv[2], 1);
    int pipe = make_pipe(path, sizeof path);
    const char *log = getenv("TYPIST_LOG"); // what was shown, to find out what went wrong
    int log_fd = log ? open(log, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600) : -1;
    pid_t pid = terminal_start(&terminal, argv + 4,
                               (struct winsize){.ws_row = 40, .ws_col = 120});
    double end = now(CLOCK_MONOTONIC) + PATIENCE_S;
    while (step(terminal, pipe, log_fd)) {
        if (now(CLOCK_MONOTONIC) > end) {
            fprintf(stderr, "typist: the editor did not come to an end\n");
            kill(pid, SIGKILL);
            break;
        }
    }
    waitpid(pid, NULL, 0);
    read_lines(pipe);
    unlink(path);
    return report();
}
