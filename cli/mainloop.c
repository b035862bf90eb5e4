#include "mainloop.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdint.h>
#include <sys/eventfd.h>
#include <sys/signalfd.h>
#include <unistd.h>

#include "exit.h"
#include "sys/file.h"

// One dispatch is kept short, so that a signal is served while events pour in.
static const struct pi_budget budget = {.bytes = 1 << 20, .time_ms = 50};

// Those that are ignored already (nohup, jobs in the background of a script) stay so.
static sigset_t wanted_signals(void)
{
    static const int signals[] = {SIGINT, SIGTERM, SIGHUP};
    sigset_t set;
    sigemptyset(&set);
    for (size_t i = 0; i < sizeof signals / sizeof *signals; i++) {
        struct sigaction before;
        if (sigaction(signals[i], NULL, &before) == 0 && before.sa_handler != SIG_IGN) {
            sigaddset(&set, signals[i]);
        }
    }
    return set;
}

enum pi_status mainloop_init(struct mainloop *l, struct pi_error *err)
{
    *l = (struct mainloop){
        .wake_fd = -1, .signal_fd = -1, .input_fd = -1, .exit_code = -1};
    struct sigaction ignore = {.sa_handler = SIG_IGN};
    sigaction(SIGPIPE, &ignore, NULL);
    sigset_t set = wanted_signals();
    pthread_sigmask(SIG_BLOCK, &set, NULL);
    l->wake_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    l->signal_fd = signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK);
    if (l->wake_fd < 0 || l->signal_fd < 0) {
        return error_errno(err, errno, "cannot set up the event loop");
    }
    return PI_OK;
}

// Called by the agent from any thread.
static void wake(void *data)
{
    const struct mainloop *l = data;
    uint64_t one = 1;
    ssize_t n = write(l->wake_fd, &one, sizeof one);
    (void)n; // a full counter is readable already
}

enum pi_status mainloop_start(struct mainloop *l, const struct pi_agent_options *options,
                              struct pi_error *err)
{
    struct pi_agent_options mine = *options;
    mine.wake = wake;
    mine.wake_data = l;
    return pi_agent_create(&l->agent, &mine, err);
}

void mainloop_leave(struct mainloop *l, int exit_code)
{
    if (l->exit_code < 0) {
        l->exit_code = exit_code;
    }
}

static void interrupted(struct mainloop *l)
{
    if (++l->interrupts > 1) {
        mainloop_leave(l, EXIT_INTERRUPTED);
        return;
    }
    pi_agent_abort(l->agent);
    if (l->on_interrupt) {
        l->on_interrupt(l->data);
    }
}

static void take_signals(struct mainloop *l)
{
    struct signalfd_siginfo info;
    while (read(l->signal_fd, &info, sizeof info) == (ssize_t)sizeof info) {
        switch (info.ssi_signo) {
        case SIGINT:
            interrupted(l);
            break;
        case SIGHUP:
            mainloop_leave(l, EXIT_HANGUP);
            break;
        default:
            mainloop_leave(l, EXIT_TERMINATED);
            break;
        }
    }
}

bool mainloop_wait_writable(struct mainloop *l, int fd)
{
    while (l->exit_code < 0) {
        struct pollfd p[] = {
            {.fd = fd, .events = POLLOUT},
            {.fd = l->signal_fd, .events = POLLIN},
        };
        if (poll(p, 2, -1) < 0 && errno != EINTR) {
            return false;
        }
        if (p[1].revents) {
            take_signals(l);
        } else if (p[0].revents) {
            return true;
        }
    }
    // The last words of a program that leaves are written if that needs no waiting.
    struct pollfd p = {.fd = fd, .events = POLLOUT};
    return poll(&p, 1, 0) == 1 && (p.revents & POLLOUT);
}

static void dispatch(struct mainloop *l, bool *more)
{
    enum pi_status status = pi_agent_dispatch(l->agent, &budget, l->on_event, l->data);
    *more = status == PI_MORE;
    if (status == PI_CLOSED) {
        mainloop_leave(l, EXIT_FAILED);
    }
}

static void clear_bell(struct mainloop *l)
{
    uint64_t count;
    ssize_t n = read(l->wake_fd, &count, sizeof count);
    (void)n; // the bell may have been cleared already
}

int mainloop_run(struct mainloop *l)
{
    enum { BELL, SIGNALS, INPUT, STDOUT };
    bool more = true; // what happened before the first wait
    while (l->exit_code < 0) {
        int timeout = l->on_tick ? l->on_tick(l->data) : -1;
        if (l->exit_code >= 0) {
            break;
        }
        struct pollfd p[] = {
            [BELL] = {.fd = l->wake_fd, .events = POLLIN},
            [SIGNALS] = {.fd = l->signal_fd, .events = POLLIN},
            [INPUT] = {.fd = l->input_fd, .events = POLLIN},
            // Without a wanted event, only the loss of the reader is reported.
            [STDOUT] = {.fd = l->watch_stdout ? STDOUT_FILENO : -1},
        };
        if (poll(p, sizeof p / sizeof *p, more ? 0 : timeout) < 0 && errno != EINTR) {
            mainloop_leave(l, EXIT_FAILED);
        }
        if (p[SIGNALS].revents) {
            take_signals(l);
        }
        if (p[BELL].revents) {
            clear_bell(l);
        }
        if (l->exit_code < 0 && (more || p[BELL].revents)) {
            dispatch(l, &more);
        }
        if (l->exit_code < 0 && p[INPUT].revents && l->input_fd == p[INPUT].fd) {
            l->on_input(l->input_data);
        }
        if (p[STDOUT].revents & POLLERR) {
            mainloop_leave(l, EXIT_STDOUT_CLOSED);
        }
    }
    return l->exit_code;
}

void mainloop_finish(struct mainloop *l)
{
    pi_agent_destroy(l->agent);
    l->agent = NULL;
    file_close(&l->wake_fd);
    file_close(&l->signal_fd);
}
