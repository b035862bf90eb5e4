#include "resume.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "app.h"
#include "base/json.h"
#include "exit.h"
#include "show.h"
#include "sys/clock.h"

enum { SHOWN_MAX = 30, TITLE_COLUMNS = 60, ID_SHOWN = 36 };

static void add_age(struct buf *b, int64_t ms)
{
    static const struct {
        int64_t seconds;
        const char *one, *many;
    } units[] = {
        {86400, "day", "days"}, {3600, "hour", "hours"}, {60, "minute", "minutes"}};
    int64_t age = (clock_unix_ms() - ms) / 1000;
    for (size_t i = 0; i < sizeof units / sizeof units[0]; i++) {
        int64_t n = age / units[i].seconds;
        if (n > 0) {
            buf_addf(b, "%lld %s ago", (long long)n,
                     n == 1 ? units[i].one : units[i].many);
            return;
        }
    }
    buf_adds(b, "just now");
}

static void add_line(struct buf *b, const struct json *session)
{
    const char *name = json_get_str(session, "name");
    const char *first = json_get_str(session, "firstMessage");
    double messages = json_get_num(session, "messages", 0);
    if (name) {
        show_line(b, sv_of(name), TITLE_COLUMNS);
    } else {
        show_line(b, sv_of(first ? first : "(no message)"), TITLE_COLUMNS);
    }
    buf_adds(b, "  (");
    add_age(b, (int64_t)json_get_num(session, "modified", 0));
    buf_addf(b, ", %.0f message%s)", messages, messages == 1 ? "" : "s");
}

static const struct json *nth(const struct json *list, unsigned long n)
{
    const struct json *session = json_first(list);
    for (unsigned long i = 1; session && i < n; i++) {
        session = json_next(session);
    }
    return session;
}

static void show_list(FILE *out, const struct json *list, bool ids)
{
    size_t n = 0;
    size_t len = json_len(list);
    for (const struct json *s = json_first(list); s && n < SHOWN_MAX; s = json_next(s)) {
        struct buf line = {0};
        add_line(&line, s);
        if (ids) {
            fprintf(out, "  %s  %s\n", json_get_str(s, "id"), buf_cstr(&line));
        } else {
            fprintf(out, "%3zu  %s\n", n + 1, buf_cstr(&line));
        }
        buf_finish(&line);
        n++;
    }
    if (len > n) {
        fprintf(out, "and %zu older ones; they can be had by --session ID\n", len - n);
    }
}

// Asks until a number of the list comes; 0 = the user wants none.
static unsigned long ask_number(FILE *tty, size_t len)
{
    char *line = NULL;
    size_t cap = 0;
    unsigned long n = 0;
    for (;;) {
        fputs("Number (nothing: leave): ", tty);
        fflush(tty);
        if (getline(&line, &cap, tty) <= 0) {
            fputc('\n', tty);
            break;
        }
        char *end;
        n = strtoul(line, &end, 10);
        bool number = end != line && end[strspn(end, " \t\r\n")] == '\0';
        if (line[strspn(line, " \t\r\n")] == '\0') {
            break;
        }
        if (number && n >= 1 && n <= len) {
            free(line);
            return n;
        }
        fprintf(tty, "A number from 1 to %zu is wanted.\n", len);
    }
    free(line);
    return 0;
}

static int no_terminal(const struct json *list)
{
    fputs("pi: --resume asks on a terminal, and there is none; use --continue for the "
          "newest\nsession of this directory, or --session ID:\n",
          stderr);
    show_list(stderr, list, true);
    return EXIT_FAILED;
}

static int choose(char **path, const struct json *list)
{
    size_t len = json_len(list);
    if (len == 0) {
        fputs("pi: there is no session of this directory yet\n", stderr);
        return EXIT_FAILED;
    }
    int fd = open("/dev/tty", O_RDWR | O_CLOEXEC);
    FILE *tty = fd >= 0 ? fdopen(fd, "r+") : NULL;
    if (!tty) {
        if (fd >= 0) {
            close(fd);
        }
        return no_terminal(list);
    }
    show_list(tty, list, false);
    unsigned long n = ask_number(tty, len < SHOWN_MAX ? len : SHOWN_MAX);
    fclose(tty);
    const char *chosen = json_get_str(nth(list, n), "path");
    if (n == 0 || !chosen) {
        return EXIT_FAILED;
    }
    *path = strdup(chosen);
    return *path ? EXIT_OK : EXIT_FAILED;
}

static int pick(char **path, const struct pi_agent_options *options)
{
    struct pi_error err = {0};
    char *text = NULL;
    struct json *list = NULL;
    if (pi_sessions_json(&text, options, &err) != PI_OK ||
        json_parse(&list, sv_of(text), NULL, &err) != PI_OK) {
        pi_free(text);
        return app_fail(&err);
    }
    int code = choose(path, list);
    json_destroy(list);
    pi_free(text);
    return code;
}

int resume_find(char **path, const struct args *args,
                const struct pi_agent_options *options)
{
    struct pi_error err = {0};
    *path = NULL;
    if (args->resume) {
        return pick(path, options);
    }
    if (!args->go_on && !args->session) {
        return EXIT_OK;
    }
    enum pi_status status = pi_session_find(path, options, args->session, &err);
    if (status == PI_NOT_FOUND && args->go_on) {
        fputs("pi: there is no session of this directory yet; this is a new one\n",
              stderr);
        return EXIT_OK;
    }
    return status == PI_OK ? EXIT_OK : app_fail(&err);
}
