/**
 * pi-guard: the process between the agent and a command.
 *
 * It starts the shell in a session of its own, reports how the shell ended, and stays
 * while descendants of the command live. As their subreaper it inherits the orphans among
 * them, so it can find and end them all, those that called setsid included. It ends them
 * when the agent orders so or when the agent's end of the control channel closes. See
 * sys/guard.h.
 *
 * All signals are blocked here: one that was meant for the command must not end its
 * guard.
 */

#include "sys/guard.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum {
    COMMAND_ARG_MAX = 100 * 1024, // the kernel refuses one argument of 128 KiB
    KILL_PAUSE_MS = 10,
    KILL_SLOW_PAUSE_MS = 1000, // for processes that do not die even of KILL
    KILL_FAST_ROUNDS = 100,
};

/** A longer command comes by the request's descriptor, placed at its start. */
static const char feed_command[] = "eval \"$(cat <&5)\" 5<&-";

struct request {
    rlim_t file_limit;
    const char *cwd, *log_path, *shell, *command;
    off_t command_at;
};

struct guard {
    struct request request;
    int signals; // readable when a child ended
    int control; // -1 once the agent is gone
    int output;  // -1 once closed
    int log;     // -1: what is read is thrown away
    int64_t log_size, log_room;
    bool taken; // reads the output pipe instead of the agent
    pid_t shell;
    bool alone; // no child is left
    bool ending;
    int64_t kill_at;
    int kill_rounds;
};

/** A process as /proc shows it. */
struct process {
    pid_t pid, parent, group;
    char state;
    char name[16];
    bool ours;
};

struct processes {
    struct process *items; // descendants first, parents before their children
    size_t len, cap;
    size_t ours;
};

static int64_t now_ms(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (int64_t)now.tv_sec * 1000 + now.tv_nsec / 1000000;
}

static void report(int type, int value, bool more, const char *text)
{
    struct guard_report r = {.type = type, .value = value, .more = more};
    snprintf(r.text, sizeof r.text, "%s", text);
    send(GUARD_CONTROL_FD, &r, sizeof r, MSG_NOSIGNAL);
}

// ------------------------------------------------------------------------ descendants --

/** Reads /proc/PID/stat: "PID (NAME) STATE PARENT GROUP ..."; a name may hold ")". */
static bool read_process(struct process *p, const char *pid)
{
    char path[64];
    char line[512];
    snprintf(path, sizeof path, "/proc/%s/stat", pid);
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0) {
        return false;
    }
    ssize_t n = read(fd, line, sizeof line - 1);
    close(fd);
    if (n <= 0) {
        return false;
    }
    line[n] = 0;
    const char *open_paren = strchr(line, '(');
    const char *close_paren = strrchr(line, ')');
    if (!open_paren || !close_paren || strlen(close_paren) < 4) {
        return false;
    }
    *p = (struct process){.pid = (pid_t)strtol(pid, NULL, 10), .state = close_paren[2]};
    char *rest = NULL;
    p->parent = (pid_t)strtol(close_paren + 3, &rest, 10);
    p->group = (pid_t)strtol(rest, NULL, 10);
    size_t name_len = (size_t)(close_paren - open_paren - 1);
    name_len = name_len < sizeof p->name ? name_len : sizeof p->name - 1;
    memcpy(p->name, open_paren + 1, name_len);
    return true;
}

static bool read_all(struct processes *all)
{
    DIR *dir = opendir("/proc");
    if (!dir) {
        return false;
    }
    struct dirent *entry;
    while ((entry = readdir(dir)) != NULL) {
        struct process p;
        if (entry->d_name[0] < '1' || entry->d_name[0] > '9' ||
            !read_process(&p, entry->d_name)) {
            continue;
        }
        if (all->len == all->cap) {
            size_t cap = all->cap ? all->cap * 2 : 256;
            struct process *grown = realloc(all->items, cap * sizeof *grown);
            if (!grown) {
                break;
            }
            all->items = grown;
            all->cap = cap;
        }
        all->items[all->len++] = p;
    }
    closedir(dir);
    return true;
}

static bool is_ours(const struct processes *all, pid_t parent)
{
    for (size_t i = 0; i < all->ours; i++) {
        if (all->items[i].pid == parent) {
            return true;
        }
    }
    return parent == getpid();
}

/** Finds all descendants that are not dead yet. False without /proc. */
static bool find_descendants(struct processes *all)
{
    if (!read_all(all)) {
        return false;
    }
    bool found = true;
    while (found) {
        found = false;
        for (size_t i = all->ours; i < all->len; i++) {
            struct process p = all->items[i];
            if (is_ours(all, p.parent)) {
                all->items[i] = all->items[all->ours];
                all->items[all->ours++] = p;
                found = true;
            }
        }
    }
    return true;
}

/**
 * Signals the command's group in one call, so that the shell does not go on with its next
 * command because the present one died first; then whatever left the group.
 */
static void signal_all(const struct guard *g, int sig)
{
    struct processes all = {0};
    kill(-g->shell, sig);
    find_descendants(&all);
    for (size_t i = 0; i < all.ours; i++) {
        if (all.items[i].group != g->shell) {
            kill(all.items[i].pid, sig);
        }
    }
    free(all.items);
}

static void end_all(struct guard *g, int grace_ms)
{
    int64_t at = now_ms() + grace_ms;
    if (!g->ending) {
        g->ending = true;
        g->kill_at = at;
        signal_all(g, SIGTERM);
        signal_all(g, SIGCONT);
    } else if (at < g->kill_at) {
        g->kill_at = at;
    }
}

static void report_left(void)
{
    struct processes all = {0};
    char text[sizeof((struct guard_report *)0)->text] = "";
    size_t len = 0;
    int count = 0;
    find_descendants(&all);
    for (size_t i = 0; i < all.ours; i++) {
        struct process *p = &all.items[i];
        if (p->state == 'Z' || p->state == 'X') {
            continue;
        }
        for (char *c = p->name; *c; c++) {
            *c = *c > ' ' && *c < 127 ? *c : '?';
        }
        count++;
        char one[48];
        int n =
            snprintf(one, sizeof one, "%s%d %s", len ? ", " : "", (int)p->pid, p->name);
        if (len + (size_t)n + sizeof ", ..." <= sizeof text) {
            memcpy(text + len, one, (size_t)n + 1);
            len += (size_t)n;
        } else if (text[len - 1] != '.') {
            memcpy(text + len, ", ...", sizeof ", ...");
            len += sizeof ", ..." - 1;
        }
    }
    free(all.items);
    report(GUARD_LEFT, count, count > 0, text);
}

// --------------------------------------------------------------------- the output pipe
// --

static void open_log(struct guard *g)
{
    struct stat st;
    g->log = -1;
    if (g->request.log_path[0]) {
        g->log = open(g->request.log_path, O_WRONLY | O_APPEND | O_NOFOLLOW | O_CLOEXEC);
    }
    if (g->log >= 0 && fstat(g->log, &st) == 0) {
        g->log_size = st.st_size;
    }
}

static void log_bytes(struct guard *g, const char *bytes, size_t n)
{
    while (n > 0 && g->log >= 0) {
        if (g->log_room == 0) {
            g->log_room = log_room(g->log, g->log_size);
        }
        size_t part = n < (size_t)g->log_room ? n : (size_t)g->log_room;
        ssize_t written = part > 0 ? write(g->log, bytes, part) : 0;
        if (part == 0) {
            dprintf(g->log,
                    "\n[The log ends here: it is large or the disk nearly full]\n");
        }
        if (written <= 0) {
            close(g->log);
            g->log = -1;
            return;
        }
        bytes += written;
        n -= (size_t)written;
        g->log_size += written;
        g->log_room -= written;
    }
}

/** False when nothing could be read. */
static bool read_output(struct guard *g)
{
    static char chunk[64 * 1024];
    ssize_t n = read(g->output, chunk, sizeof chunk);
    if (n == 0 || (n < 0 && errno != EAGAIN && errno != EINTR)) {
        close(g->output);
        g->output = -1;
    }
    if (n > 0 && g->log >= 0) {
        log_bytes(g, chunk, (size_t)n);
    }
    return n > 0;
}

// ----------------------------------------------------------------------- the command --

static bool next_field(const char **at, const char *end, const char **field)
{
    *field = *at;
    const char *nul = memchr(*at, 0, (size_t)(end - *at));
    if (!nul) {
        return false;
    }
    *at = nul + 1;
    return true;
}

/** The bytes stay allocated as long as the guard runs. */
static bool read_request(struct request *r)
{
    struct stat st;
    if (fstat(GUARD_REQUEST_FD, &st) != 0) {
        return false;
    }
    size_t size = (size_t)st.st_size;
    char *bytes = malloc(size + 1);
    if (!bytes) {
        return false;
    }
    for (size_t got = 0; got < size;) {
        ssize_t n = pread(GUARD_REQUEST_FD, bytes + got, size - got, (off_t)got);
        if (n <= 0) {
            free(bytes);
            return false;
        }
        got += (size_t)n;
    }
    bytes[size] = 0;
    const char *at = bytes;
    const char *limit = NULL;
    if (!next_field(&at, bytes + size, &limit) ||
        !next_field(&at, bytes + size, &r->cwd) ||
        !next_field(&at, bytes + size, &r->log_path) ||
        !next_field(&at, bytes + size, &r->shell)) {
        free(bytes);
        return false;
    }
    r->file_limit = (rlim_t)strtoull(limit, NULL, 10);
    r->command = at;
    r->command_at = at - bytes;
    return true;
}

static void restore_file_limit(rlim_t wanted)
{
    struct rlimit limit;
    if (wanted > 0 && getrlimit(RLIMIT_NOFILE, &limit) == 0) {
        limit.rlim_cur = wanted < limit.rlim_max ? wanted : limit.rlim_max;
        setrlimit(RLIMIT_NOFILE, &limit);
    }
}

/** The child: becomes the shell or reports why not. */
static void run_shell(const struct request *r)
{
    sigset_t none;
    sigemptyset(&none);
    setsid();
    restore_file_limit(r->file_limit);
    if (chdir(r->cwd) != 0) {
        report(GUARD_NO_CHDIR, errno, false, "");
        _exit(127);
    }
    const char *command = r->command;
    if (strlen(command) > COMMAND_ARG_MAX) {
        lseek(GUARD_REQUEST_FD, r->command_at, SEEK_SET);
        fcntl(GUARD_REQUEST_FD, F_SETFD, 0);
        command = feed_command;
    }
    const char *slash = strrchr(r->shell, '/');
    const char *name = slash ? slash + 1 : r->shell;
    sigprocmask(SIG_SETMASK, &none, NULL);
    execl(r->shell, name, "-c", command, (char *)NULL);
    report(GUARD_NO_EXEC, errno, false, "");
    _exit(127);
}

static bool start_shell(struct guard *g)
{
    for (int fd = GUARD_CONTROL_FD; fd <= GUARD_REQUEST_FD; fd++) {
        fcntl(fd, F_SETFD, FD_CLOEXEC);
    }
    g->shell = fork();
    if (g->shell < 0) {
        report(GUARD_NO_EXEC, errno, false, "");
        return false;
    }
    if (g->shell == 0) {
        run_shell(&g->request);
    }
    report(GUARD_STARTED, g->shell, false, "");
    // The command alone holds the write end, so that its end is seen.
    dup2(STDIN_FILENO, STDOUT_FILENO);
    dup2(STDIN_FILENO, STDERR_FILENO);
    close(GUARD_REQUEST_FD);
    return true;
}

static void reap(struct guard *g)
{
    struct signalfd_siginfo info;
    bool ended = false;
    int shell_status = 0;
    int status = 0;
    pid_t pid;
    while (read(g->signals, &info, sizeof info) > 0) {
    }
    while ((pid = waitpid(-1, &status, WNOHANG)) > 0) {
        if (pid == g->shell) {
            ended = true;
            shell_status = status;
        }
    }
    g->alone = pid < 0;
    if (ended) {
        report(GUARD_EXITED, shell_status, !g->alone, "");
    }
}

static void take_order(struct guard *g)
{
    struct guard_order order;
    ssize_t n = recv(g->control, &order, sizeof order, MSG_DONTWAIT);
    if (n < 0 && (errno == EAGAIN || errno == EINTR)) {
        return;
    }
    if (n != sizeof order) {
        // The agent is gone. Nobody else reads the output of those that still end.
        g->control = -1;
        g->taken = true;
        end_all(g, GUARD_GRACE_MS);
        return;
    }
    switch (order.type) {
    case GUARD_END:
        end_all(g, order.grace_ms);
        break;
    case GUARD_LIST:
        report_left();
        break;
    case GUARD_TAKE:
        g->taken = true;
        open_log(g);
        break;
    default:
        break;
    }
}

/** How long to wait for an event; kills when it is time. */
static int kill_late(struct guard *g)
{
    if (!g->ending) {
        return -1;
    }
    int64_t wait = g->kill_at - now_ms();
    if (wait > 0) {
        return (int)wait;
    }
    signal_all(g, SIGKILL);
    g->kill_rounds++;
    return g->kill_rounds < KILL_FAST_ROUNDS ? KILL_PAUSE_MS : KILL_SLOW_PAUSE_MS;
}

static void watch(struct guard *g)
{
    reap(g);
    while (!g->alone) {
        struct pollfd polls[] = {
            {.fd = g->signals, .events = POLLIN},
            {.fd = g->control, .events = POLLIN},
            {.fd = g->taken ? g->output : -1, .events = POLLIN},
        };
        poll(polls, 3, kill_late(g));
        if (polls[1].revents) {
            take_order(g);
        }
        if (polls[2].revents) {
            read_output(g);
        }
        reap(g);
    }
    while (g->taken && g->output >= 0 && read_output(g)) {
    }
}

int main(int argc, char **argv)
{
    struct guard g = {.control = GUARD_CONTROL_FD, .output = GUARD_OUTPUT_FD, .log = -1};
    sigset_t set;
    if (argc != 2 || strcmp(argv[1], GUARD_VERSION) != 0 || !read_request(&g.request)) {
        fputs("pi-guard is started by pi and of no use by hand.\n", stderr);
        return 2;
    }
    sigfillset(&set);
    sigprocmask(SIG_SETMASK, &set, NULL);
    sigemptyset(&set);
    sigaddset(&set, SIGCHLD);
    g.signals = signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK);
    if (g.signals < 0 || prctl(PR_SET_CHILD_SUBREAPER, 1) != 0 || !start_shell(&g)) {
        return 1;
    }
    if (chdir("/") != 0) {
        return 1;
    }
    watch(&g);
    return 0;
}
