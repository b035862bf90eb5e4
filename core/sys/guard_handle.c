#include "sys/guard_handle.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/pidfd.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

enum {
    PIPE_BYTES = 1024 * 1024, // so that a fast writer need not wait for each chunk
    REAP_MS = 500,
    FIRST_FREE_FD = 10,       // above the numbers that the guard's descriptors get
    EDITOR_FILE_LIMIT = 1024, // FD_SETSIZE, to which Emacs lowers its own limit
};

static void close_fd(int *fd)
{
    if (*fd >= 0) {
        close(*fd);
        *fd = -1;
    }
}

struct channels {
    int control[2]; // agent, guard
    int output[2];  // read, write
    int request;
};

/** Moves a descriptor out of the way of the numbers that the guard expects. */
static bool move_up(int *fd)
{
    if (*fd >= FIRST_FREE_FD) {
        return true;
    }
    int moved = fcntl(*fd, F_DUPFD_CLOEXEC, FIRST_FREE_FD);
    if (moved < 0) {
        return false;
    }
    close(*fd);
    *fd = moved;
    return true;
}

static void channels_close(struct channels *c)
{
    close_fd(&c->control[0]);
    close_fd(&c->control[1]);
    close_fd(&c->output[0]);
    close_fd(&c->output[1]);
    close_fd(&c->request);
}

static bool channels_open(struct channels *c)
{
    *c = (struct channels){.control = {-1, -1}, .output = {-1, -1}, .request = -1};
    if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, c->control) != 0 ||
        pipe2(c->output, O_CLOEXEC) != 0) {
        return false;
    }
    c->request = memfd_create("pi-command", MFD_CLOEXEC);
    if (c->request < 0 || !move_up(&c->control[1]) || !move_up(&c->output[0]) ||
        !move_up(&c->output[1]) || !move_up(&c->request)) {
        return false;
    }
    // Refused when the user has many large pipes; the usual size will do then.
    (void)fcntl(c->output[0], F_SETPIPE_SZ, PIPE_BYTES);
    return fcntl(c->output[0], F_SETFL, O_NONBLOCK) == 0;
}

static bool write_all(int fd, const char *bytes, size_t n)
{
    while (n > 0) {
        ssize_t written = write(fd, bytes, n);
        if (written < 0 && errno == EINTR) {
            continue;
        }
        if (written < 0) {
            return false;
        }
        bytes += written;
        n -= (size_t)written;
    }
    return true;
}

/**
 * The limit of open files for the command: an editor that lowered its own to what
 * select() can take got a higher one from its parent. 0 = leave it.
 */
static rlim_t file_limit(void)
{
    struct rlimit own;
    struct rlimit parent;
    if (getrlimit(RLIMIT_NOFILE, &own) == 0 && own.rlim_cur == EDITOR_FILE_LIMIT &&
        prlimit(getppid(), RLIMIT_NOFILE, NULL, &parent) == 0 &&
        parent.rlim_cur != RLIM_INFINITY && parent.rlim_cur > own.rlim_cur) {
        return parent.rlim_cur;
    }
    return 0;
}

static bool write_request(int fd, const struct process_request *r)
{
    char limit[24];
    snprintf(limit, sizeof limit, "%llu", (unsigned long long)file_limit());
    const char *log = r->log_path ? r->log_path : "";
    return write_all(fd, limit, strlen(limit) + 1) &&
           write_all(fd, r->cwd, strlen(r->cwd) + 1) &&
           write_all(fd, log, strlen(log) + 1) &&
           write_all(fd, r->shell, strlen(r->shell) + 1) &&
           write_all(fd, r->command, strlen(r->command));
}

/** Returns an errno value. */
static int file_actions(posix_spawn_file_actions_t *actions, const struct channels *c)
{
    const int moves[][2] = {
        {c->output[1], STDOUT_FILENO},     {c->output[1], STDERR_FILENO},
        {c->control[1], GUARD_CONTROL_FD}, {c->output[0], GUARD_OUTPUT_FD},
        {c->request, GUARD_REQUEST_FD},
    };
    int rc =
        posix_spawn_file_actions_addopen(actions, STDIN_FILENO, "/dev/null", O_RDWR, 0);
    for (size_t i = 0; rc == 0 && i < sizeof moves / sizeof moves[0]; i++) {
        rc = posix_spawn_file_actions_adddup2(actions, moves[i][0], moves[i][1]);
    }
    return rc ? rc
              : posix_spawn_file_actions_addclosefrom_np(actions, GUARD_REQUEST_FD + 1);
}

/** Returns an errno value. */
static int attributes(posix_spawnattr_t *attr)
{
    sigset_t set;
    sigemptyset(&set);
    int rc = posix_spawnattr_setsigmask(attr, &set);
    sigfillset(&set);
    if (rc == 0) {
        rc = posix_spawnattr_setsigdefault(attr, &set);
    }
    if (rc == 0) {
        rc = posix_spawnattr_setflags(attr, POSIX_SPAWN_SETSID | POSIX_SPAWN_SETSIGMASK |
                                                POSIX_SPAWN_SETSIGDEF);
    }
    return rc;
}

/** Returns an errno value. */
static int spawn(pid_t *pid, const struct process_request *r, const struct channels *c)
{
    char name[] = "pi-guard";
    char version[] = GUARD_VERSION;
    char *argv[] = {name, version, NULL};
    char *no_vars[] = {NULL};
    posix_spawn_file_actions_t actions;
    posix_spawnattr_t attr;
    int rc = posix_spawn_file_actions_init(&actions);
    if (rc) {
        return rc;
    }
    rc = posix_spawnattr_init(&attr);
    if (rc == 0) {
        rc = file_actions(&actions, c);
        if (rc == 0) {
            rc = attributes(&attr);
        }
        if (rc == 0) {
            char **vars = r->environment->vars ? r->environment->vars : no_vars;
            rc = posix_spawn(pid, r->guard_path, &actions, &attr, argv, vars);
        }
        posix_spawnattr_destroy(&attr);
    }
    posix_spawn_file_actions_destroy(&actions);
    return rc;
}

enum pi_status guard_start(struct guard_handle *guard, int *output,
                           const struct process_request *request, struct pi_error *err)
{
    struct channels c;
    enum pi_status status = PI_OK;
    if (!channels_open(&c) || !write_request(c.request, request)) {
        status = error_errno(err, errno, "cannot prepare to run a command");
        goto out;
    }
    int rc = spawn(&guard->pid, request, &c);
    if (rc != 0) {
        status = error_errno(err, rc, "cannot start the helper program %s",
                             request->guard_path);
        goto out;
    }
    guard->pidfd = pidfd_open(guard->pid, 0);
    guard->control = c.control[0];
    *output = c.output[0];
    c.control[0] = c.output[0] = -1;
out:
    channels_close(&c);
    return status;
}

void guard_order(const struct guard_handle *guard, enum guard_order_type type,
                 int grace_ms)
{
    const struct guard_order order = {.type = (int32_t)type, .grace_ms = grace_ms};
    send(guard->control, &order, sizeof order, MSG_NOSIGNAL | MSG_DONTWAIT);
}

void guard_kill(const struct guard_handle *guard)
{
    if (guard->pidfd >= 0) {
        pidfd_send_signal(guard->pidfd, SIGKILL, NULL, 0);
    } else {
        kill(guard->pid, SIGKILL);
    }
}

void guard_reap(struct guard_handle *guard)
{
    siginfo_t info;
    if (guard->pidfd >= 0) {
        struct pollfd p = {.fd = guard->pidfd, .events = POLLIN};
        poll(&p, 1, REAP_MS);
        // ECHILD when the host ignores SIGCHLD: then there is nothing to reap.
        waitid(P_PIDFD, (id_t)guard->pidfd, &info, WEXITED | WNOHANG);
    } else {
        waitid(P_PID, (id_t)guard->pid, &info, WEXITED);
    }
    guard_let_go(guard);
}

bool guard_gone(const struct guard_handle *guard, int wait_ms)
{
    struct pollfd p = {.fd = guard->control, .events = 0};
    return poll(&p, 1, wait_ms) == 1;
}

void guard_let_go(struct guard_handle *guard)
{
    close_fd(&guard->pidfd);
    close_fd(&guard->control);
}
