// pi-nvim: the agent as a process that Neovim talks to over msgpack-RPC, on standard
// input and output or at a Unix socket.

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/signalfd.h>
#include <unistd.h>

#include "base/error.h"
#include "pi.h"
#include "server.h"
#include "socket.h"

enum { IN, OUT, WAKE, SIGNALS, FDS };

// Takes the standard input and output for the channel; what somebody prints goes to
// standard error, where it does no harm.
static bool take_channel(int *in, int *out)
{
    *in = fcntl(STDIN_FILENO, F_DUPFD_CLOEXEC, 3);
    *out = fcntl(STDOUT_FILENO, F_DUPFD_CLOEXEC, 3);
    int null = open("/dev/null", O_RDONLY | O_CLOEXEC);
    bool ok = *in >= 0 && *out >= 0 && null >= 0 && dup2(null, STDIN_FILENO) >= 0 &&
              dup2(STDERR_FILENO, STDOUT_FILENO) >= 0 &&
              fcntl(*in, F_SETFL, fcntl(*in, F_GETFL) | O_NONBLOCK) >= 0 &&
              fcntl(*out, F_SETFL, fcntl(*out, F_GETFL) | O_NONBLOCK) >= 0;
    if (null >= 0) {
        close(null);
    }
    return ok;
}

// Neovim sends SIGTERM when it exits; then what the agent started must end, too. Signals
// are read as messages, so that no handler has to be careful.
static int take_signals(void)
{
    sigset_t set;
    sigemptyset(&set);
    sigaddset(&set, SIGTERM);
    sigaddset(&set, SIGHUP);
    sigaddset(&set, SIGINT);
    struct sigaction ignore = {.sa_handler = SIG_IGN};
    if (sigaction(SIGPIPE, &ignore, NULL) || sigprocmask(SIG_BLOCK, &set, NULL)) {
        return -1;
    }
    return signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK);
}

static enum pi_status serve(struct server *s, const struct pollfd *fds,
                            struct pi_error *err)
{
    enum pi_status status = PI_OK;
    if (fds[WAKE].revents) {
        server_woken(s);
    }
    if (fds[SIGNALS].revents || (fds[OUT].revents & (POLLERR | POLLHUP))) {
        return PI_CLOSED;
    }
    if (fds[IN].revents) {
        status = channel_read(&s->channel, server_message, s, err);
    }
    if (status == PI_OK) {
        server_step(s);
        status = channel_write(&s->channel, err);
    }
    return status;
}

// Until Neovim closes the channel, says shutdown, sends a signal, or makes no sense.
static enum pi_status loop(struct server *s, int signals, struct pi_error *err)
{
    enum pi_status status = PI_OK;
    while (status == PI_OK && !s->over) {
        struct pollfd fds[FDS] = {
            [IN] = {.fd = s->channel.in, .events = POLLIN},
            [OUT] = {.fd = s->channel.out,
                     .events = channel_wants_write(&s->channel) ? POLLOUT : 0},
            [WAKE] = {.fd = s->wake_fd, .events = POLLIN},
            [SIGNALS] = {.fd = signals, .events = POLLIN},
        };
        if (poll(fds, FDS, server_timeout_ms(s)) < 0 && errno != EINTR) {
            return error_errno(err, errno, "waiting for Neovim");
        }
        status = serve(s, fds, err);
    }
    return status == PI_CLOSED ? PI_OK : status;
}

// The channel: the standard descriptors, or one connection to the socket at `path`.
static enum pi_status open_channel(const char *path, int signals, int *in, int *out,
                                   struct pi_error *err)
{
    enum pi_status status = PI_OK;
    if (path) {
        status = socket_await(path, signals, in, err);
        *out = status == PI_OK ? fcntl(*in, F_DUPFD_CLOEXEC, 3) : -1;
        if (status == PI_OK && *out < 0) {
            status = error_errno(err, errno, "no descriptor to talk to Neovim");
        }
    } else if (!take_channel(in, out)) {
        status = error_errno(err, errno, "no descriptors to talk to Neovim");
    }
    return status;
}

static int run(const char *path, struct pi_error *err)
{
    int in;
    int out;
    struct server s;
    int signals = take_signals();
    if (signals < 0) {
        return (int)error_errno(err, errno, "no descriptor for signals");
    }
    enum pi_status status = open_channel(path, signals, &in, &out, err);
    if (status == PI_OK) {
        status = server_init(&s, in, out, err);
    }
    if (status != PI_OK) {
        return status == PI_ABORTED ? PI_OK : (int)status;
    }
    status = loop(&s, signals, err);
    if (status == PI_OK && s.failed) {
        status = error_set(err, PI_INVALID, "Neovim sent what is no msgpack-RPC");
    }
    server_finish(&s);
    return (int)status;
}

int main(int argc, char **argv)
{
    struct pi_error err = {0};
    bool listens = argc == 3 && strcmp(argv[1], "--listen") == 0;
    if (argc == 2 && strcmp(argv[1], "--version") == 0) {
        printf("pi-nvim %s\n", pi_version());
        return EXIT_SUCCESS;
    }
    if (argc > 1 && !listens) {
        fprintf(stderr, "usage: pi-nvim [--listen SOCKET]; Neovim starts it\n");
        return 2;
    }
    if (run(listens ? argv[2] : NULL, &err) != PI_OK) {
        fprintf(stderr, "pi-nvim: %s\n", err.message);
        return EXIT_FAILURE;
    }
    return EXIT_SUCCESS;
}
