#include "ask.h"

#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <termios.h>
#include <unistd.h>

#include "base/vec.h"
#include "show.h"
#include "sys/file.h"

struct ask_question {
    char *id;
    struct buf text;
};

static const char answers_help[] =
    "y = yes, once; s = yes, for this session; n = no; n REASON = no, and tell why\n";

bool ask_open(struct ask *a)
{
    a->fd = open("/dev/tty", O_RDWR | O_NOCTTY | O_CLOEXEC);
    return a->fd >= 0;
}

static void write_all(const struct ask *a, const struct buf *b)
{
    // A terminal that does not take a question cannot answer it either.
    (void)!file_write(a->fd, buf_cstr(b), b->len, NULL);
}

static void say(const struct ask *a, const char *text)
{
    struct buf b = {0};
    buf_adds(&b, text);
    write_all(a, &b);
    buf_finish(&b);
}

// Every line is indented, so that no line of a command looks like one of ours.
static void add_field(struct buf *b, const char *label, const char *value)
{
    struct sv rest = sv_of(value), line;
    while (sv_next_line(&rest, &line)) {
        buf_addf(b, "    %s", label);
        show_text(b, line);
        buf_addc(b, '\n');
    }
}

static void write_question(struct buf *b, const struct json *event)
{
    const char *name = json_get_str(event, "toolName");
    const char *effect = json_get_str(event, "effect");
    buf_adds(b, "\n? May ");
    show_text(b, sv_of(name ? name : "this tool"));
    if (effect && strcmp(effect, "exec") == 0) {
        buf_adds(b, " run this command?\n");
    } else if (effect && strcmp(effect, "change") == 0) {
        buf_adds(b, " change a file outside the current directory?\n");
    } else {
        buf_adds(b, " run?\n");
    }
    add_field(b, "", json_get_str(event, "command"));
    add_field(b, "", json_get_str(event, "path"));
    add_field(b, "s allows: ", json_get_str(event, "sessionMeans"));
}

static void remove_question(struct ask *a, size_t i)
{
    free(a->questions[i].id);
    buf_finish(&a->questions[i].text);
    a->len--;
    memmove(&a->questions[i], &a->questions[i + 1], (a->len - i) * sizeof *a->questions);
    a->shown = a->shown && i > 0;
}

void ask_add(struct ask *a, pi_agent *agent, const struct json *event)
{
    const char *id = json_get_str(event, "id");
    if (!id) {
        return;
    }
    void *grown = vec_grow(a->questions, &a->cap, a->len + 1, sizeof *a->questions);
    a->questions = grown ? grown : a->questions;
    struct ask_question q = {.id = strdup(id)};
    write_question(&q.text, event);
    if (a->fd < 0 || !grown || !q.id || !buf_ok(&q.text)) {
        pi_agent_answer_permission(
            agent, id, PI_PERMISSION_DENY,
            "there is no terminal on which the user could be asked");
        free(q.id);
        buf_finish(&q.text);
        return;
    }
    a->questions[a->len++] = q;
}

void ask_withdraw(struct ask *a, const struct json *event)
{
    const char *id = json_get_str(event, "id");
    for (size_t i = 0; id && i < a->len; i++) {
        if (strcmp(a->questions[i].id, id) == 0) {
            if (i == 0 && a->shown) {
                ask_break(a);
                say(a, "  (no longer asked)\n");
            }
            remove_question(a, i);
            return;
        }
    }
}

void ask_break(struct ask *a)
{
    if (a->open) {
        say(a, "\n");
        a->open = false;
    }
}

void ask_show(struct ask *a)
{
    if (a->shown || a->len == 0) {
        return;
    }
    tcflush(a->fd, TCIFLUSH);
    buf_clear(&a->typed);
    write_all(a, &a->questions[0].text);
    say(a, "  [y]es, for this [s]ession, [n]o: ");
    a->shown = true;
    a->open = true;
}

static void answer_first(struct ask *a, pi_agent *agent, enum pi_permission answer,
                         const char *reason)
{
    pi_agent_answer_permission(agent, a->questions[0].id, answer, reason);
    remove_question(a, 0);
}

// One line of the user. The whole word counts, so that a slip of the finger says nothing.
static bool take_line(struct ask *a, pi_agent *agent, char *line)
{
    char *word = line + strspn(line, " \t\r");
    size_t n = strcspn(word, " \t\r");
    char *rest = word + n + strspn(word + n, " \t\r");
    word[n] = '\0';
    if (strcasecmp(word, "y") == 0 || strcasecmp(word, "yes") == 0) {
        answer_first(a, agent, PI_PERMISSION_ONCE, NULL);
    } else if (strcasecmp(word, "s") == 0 || strcasecmp(word, "session") == 0) {
        answer_first(a, agent, PI_PERMISSION_SESSION, NULL);
    } else if (strcasecmp(word, "n") == 0 || strcasecmp(word, "no") == 0) {
        answer_first(a, agent, PI_PERMISSION_DENY, *rest ? rest : NULL);
    } else {
        return false;
    }
    return true;
}

void ask_read(struct ask *a, pi_agent *agent)
{
    char piece[4096];
    ssize_t n = read(a->fd, piece, sizeof piece);
    if (n < 0 && (errno == EINTR || errno == EAGAIN)) {
        return;
    }
    if (n <= 0) { // end of input or the terminal is gone
        ask_break(a);
        while (a->len > 0) {
            answer_first(a, agent, PI_PERMISSION_DENY, "the user gave no answer");
        }
        return;
    }
    if (a->len == 0) {
        return;
    }
    buf_add(&a->typed, piece, (size_t)n);
    char *lf = a->typed.data ? memchr(a->typed.data, '\n', a->typed.len) : NULL;
    if (!lf) {
        return;
    }
    *lf = '\0';
    a->open = false; // the terminal has shown the LF
    if (!take_line(a, agent, a->typed.data)) {
        say(a, "  ");
        say(a, answers_help);
        a->shown = false;
    }
    buf_clear(&a->typed);
}

bool ask_waits(const struct ask *a)
{
    return a->len > 0;
}

void ask_finish(struct ask *a)
{
    while (a->len > 0) {
        remove_question(a, a->len - 1);
    }
    free(a->questions);
    a->questions = NULL;
    buf_finish(&a->typed);
    file_close(&a->fd);
}
