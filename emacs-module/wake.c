#include "wake.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <time.h>
#include <unistd.h>

#include "base/error.h"
#include "value.h"

// A new descriptor for the process; -1 with a signal in env.
static int open_channel(emacs_env *env, emacs_value process)
{
    int fd = env->open_channel(env, process);
    if (!value_ok(env)) {
        return -1;
    }
    int flags = fcntl(fd, F_GETFL);
    if (flags < 0 || fcntl(fd, F_SETFL, flags | O_NONBLOCK) < 0 ||
        fcntl(fd, F_SETFD, FD_CLOEXEC) < 0) {
        struct pi_error err;
        (void)error_errno(&err, errno, "the pipe to Emacs cannot be used");
        value_signal(env, &err);
        close(fd);
        return -1;
    }
    return fd;
}

bool wake_open(struct wake *w, emacs_env *env, emacs_value process)
{
    w->fd = open_channel(env, process);
    return w->fd >= 0;
}

// The number stays, as other threads may be about to write to it.
bool wake_reopen(struct wake *w, emacs_env *env, emacs_value process)
{
    int fd = open_channel(env, process);
    if (fd < 0) {
        return false;
    }
    bool ok = dup3(fd, w->fd, O_CLOEXEC) >= 0;
    if (!ok) {
        struct pi_error err;
        (void)error_errno(&err, errno, "the pipe to Emacs cannot be used");
        value_signal(env, &err);
    }
    close(fd);
    return ok;
}

void wake_close(struct wake *w)
{
    if (w->fd >= 0) {
        close(w->fd);
        w->fd = -1;
    }
}

// The pipe may have lost its reader (delete-process), and Emacs in batch mode would die
// of SIGPIPE when that happens on its own thread.
void wake_ring(void *data)
{
    struct wake *w = data;
    sigset_t pipe_only;
    sigset_t old;
    sigemptyset(&pipe_only);
    sigaddset(&pipe_only, SIGPIPE);
    pthread_sigmask(SIG_BLOCK, &pipe_only, &old);
    ssize_t n = write(w->fd, "", 1);
    if (n < 0 && errno == EPIPE && !sigismember(&old, SIGPIPE)) {
        sigtimedwait(&pipe_only, NULL, &(struct timespec){0});
    }
    pthread_sigmask(SIG_SETMASK, &old, NULL);
}
