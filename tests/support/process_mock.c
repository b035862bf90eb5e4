#include "process_mock.h"

#include <errno.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

extern char **environ;

static void path_of(char *out, size_t n, const struct process_mock *m, const char *name)
{
    snprintf(out, n, "%s/%s", m->dir, name);
}

static unsigned read_port(const char *path)
{
    unsigned port = 0;
    FILE *f = fopen(path, "re");
    if (f) {
        char line[16] = "";
        port = fgets(line, sizeof line, f) ? (unsigned)strtoul(line, NULL, 10) : 0;
        fclose(f);
    }
    return port;
}

bool process_mock_start(struct process_mock *m, const char *script)
{
    char script_path[96], port_path[96], log_path[96];
    const char *program = getenv("PI_MOCK");
    *m = (struct process_mock){.dir = "/tmp/pi-mock-XXXXXX"};
    if (!program || !mkdtemp(m->dir)) {
        return false;
    }
    path_of(script_path, sizeof script_path, m, "script");
    path_of(port_path, sizeof port_path, m, "port");
    path_of(log_path, sizeof log_path, m, "log");
    FILE *f = fopen(script_path, "we");
    if (!f || fputs(script, f) < 0 || fclose(f)) {
        return false;
    }
    char *const words[] = {
        strdup(program),   strdup("--script"), strdup(script_path), strdup("--port-file"),
        strdup(port_path), strdup("--log"),    strdup(log_path),    NULL};
    int failed = posix_spawn(&m->pid, program, NULL, NULL, words, environ);
    for (size_t i = 0; words[i]; i++) {
        free(words[i]);
    }
    for (int i = 0; !failed && m->port == 0 && i < 1000; i++) {
        nanosleep(&(struct timespec){.tv_nsec = 10 * 1000 * 1000}, NULL);
        m->port = read_port(port_path);
    }
    return m->port != 0;
}

size_t process_mock_logged(const struct process_mock *m, const char *text)
{
    char path[96];
    path_of(path, sizeof path, m, "log");
    FILE *f = fopen(path, "re");
    char *line = NULL;
    size_t room = 0, n = 0;
    while (f && getline(&line, &room, f) > 0) {
        n += strstr(line, text) != NULL;
    }
    free(line);
    if (f) {
        fclose(f);
    }
    return n;
}

bool process_mock_stop(struct process_mock *m)
{
    static const char *const names[] = {"script", "port", "log"};
    int status = 1;
    if (m->pid > 0) {
        kill(m->pid, SIGTERM);
        while (waitpid(m->pid, &status, 0) < 0 && errno == EINTR) {
        }
    }
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        char path[96];
        path_of(path, sizeof path, m, names[i]);
        unlink(path);
    }
    rmdir(m->dir);
    return status == 0;
}
