// usage: pty STEP... -- COMMAND...
// Runs a command on a terminal of its own (24 x 80) and copies what it shows to stdout.
// Steps, in order:
//   wait TEXT    until TEXT was shown, after what the last wait found
//   send TEXT    types TEXT; \n is Enter, \3 is Ctrl-C, \4 is Ctrl-D
//   sleep MS
// Ends with the exit code of the command; 128 + signal; 98 when a step was not reached
// in 20 s; 2 on wrong use.
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "terminal.h"

enum { PATIENCE_MS = 20000, SHOWN_MAX = 1024 * 1024 };

static char shown[SHOWN_MAX + 1];
static size_t shown_len, found_to;

static long now_ms(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return t.tv_sec * 1000 + t.tv_nsec / 1000000;
}

// Takes what is shown within the time; false when the terminal is closed.
static bool take(int master, int timeout_ms)
{
    struct pollfd p = {.fd = master, .events = POLLIN};
    if (poll(&p, 1, timeout_ms) <= 0) {
        return true;
    }
    char piece[4096];
    ssize_t n = read(master, piece, sizeof piece);
    if (n <= 0) {
        return n < 0 && errno == EINTR;
    }
    fwrite(piece, 1, (size_t)n, stdout);
    fflush(stdout);
    for (ssize_t i = 0; i < n && shown_len < SHOWN_MAX; i++) {
        shown[shown_len++] = piece[i] ? piece[i] : '?';
    }
    shown[shown_len] = '\0';
    return true;
}

static bool wait_for(int master, const char *text)
{
    long end = now_ms() + PATIENCE_MS;
    bool open = true;
    for (;;) {
        char *hit = strstr(shown + found_to, text);
        if (hit) {
            found_to = (size_t)(hit - shown) + strlen(text);
            return true;
        }
        if (!open || now_ms() > end) {
            return false;
        }
        open = take(master, 100);
    }
}

static void send_text(int master, const char *text)
{
    for (; *text; text++) {
        char c = *text;
        if (c == '\\' && text[1]) {
            c = *++text;
            c = c == 'n' ? '\n' : c == '3' ? 3 : c == '4' ? 4 : c;
        }
        if (write(master, &c, 1) != 1) {
            return;
        }
    }
}

static bool step(int master, const char *what, const char *value)
{
    if (strcmp(what, "wait") == 0) {
        return wait_for(master, value);
    }
    if (strcmp(what, "send") == 0) {
        send_text(master, value);
        return true;
    }
    if (strcmp(what, "sleep") == 0) {
        long end = now_ms() + strtol(value, NULL, 10);
        for (long left; (left = end - now_ms()) > 0;) {
            if (!take(master, (int)left)) {
                break;
            }
        }
        return true;
    }
    fprintf(stderr, "pty: unknown step %s\n", what);
    exit(2);
}

int main(int argc, char **argv)
{
    int split = 1;
    while (split < argc && strcmp(argv[split], "--") != 0) {
        split++;
    }
    if (split + 1 >= argc || split % 2 == 0) {
        fputs("usage: pty [wait TEXT | send TEXT | sleep MS]... -- COMMAND...\n", stderr);
        return 2;
    }
    int master;
    int status = 0;
    pid_t pid = terminal_start(&master, argv + split + 1,
                               (struct winsize){.ws_row = 24, .ws_col = 80});
    for (int i = 1; i < split; i += 2) {
        if (!step(master, argv[i], argv[i + 1])) {
            fprintf(stderr, "pty: '%s' was not shown\n", argv[i + 1]);
            kill(pid, SIGKILL);
            waitpid(pid, &status, 0);
            return 98;
        }
    }
    long end = now_ms() + PATIENCE_MS;
    while (take(master, 100)) {
        if (now_ms() > end) {
            fputs("pty: the command does not end\n", stderr);
            kill(pid, SIGKILL);
            waitpid(pid, &status, 0);
            return 98;
        }
    }
    waitpid(pid, &status, 0);
    return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}
