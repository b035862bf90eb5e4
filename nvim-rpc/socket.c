#include "socket.h"

#include <errno.h>
#include <poll.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include "base/error.h"

static enum pi_status make_address(struct sockaddr_un *address, const char *path,
                                   struct pi_error *err)
{
    *address = (struct sockaddr_un){.sun_family = AF_UNIX};
    if (strlen(path) >= sizeof address->sun_path) {
        return error_set(err, PI_INVALID, "%s is too long for a socket", path);
    }
    memcpy(address->sun_path, path, strlen(path) + 1);
    return PI_OK;
}

static enum pi_status wait_for(int listener, int signals, struct pi_error *err)
{
    struct pollfd fds[] = {
        {.fd = listener, .events = POLLIN},
        {.fd = signals, .events = POLLIN},
    };
    while (poll(fds, 2, -1) < 0) {
        if (errno != EINTR) {
            return error_errno(err, errno, "waiting for Neovim");
        }
    }
    return fds[1].revents ? PI_ABORTED : PI_OK;
}

static enum pi_status take(int listener, int *fd, struct pi_error *err)
{
    int peer = accept4(listener, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);
    if (peer < 0) {
        return error_errno(err, errno, "nobody connected");
    }
    struct ucred who;
    socklen_t len = sizeof who;
    if (getsockopt(peer, SOL_SOCKET, SO_PEERCRED, &who, &len) || who.uid != geteuid()) {
        close(peer);
        return error_set(err, PI_DENIED, "another user connected");
    }
    *fd = peer;
    return PI_OK;
}

enum pi_status socket_await(const char *path, int signals, int *fd, struct pi_error *err)
{
    struct sockaddr_un address;
    enum pi_status status = make_address(&address, path, err);
    if (status != PI_OK) {
        return status;
    }
    int listener = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    // Linux gives the file the mode that the socket has before.
    if (listener < 0 || fchmod(listener, 0600) ||
        bind(listener, (const struct sockaddr *)&address, sizeof address)) {
        status = error_errno(err, errno, "no socket at %s", path);
        if (listener >= 0) {
            close(listener);
        }
        return status;
    }
    if (listen(listener, 1)) {
        status = error_errno(err, errno, "no socket at %s", path);
    } else {
        status = wait_for(listener, signals, err);
    }
    if (status == PI_OK) {
        status = take(listener, fd, err);
    }
    close(listener);
    unlink(path);
    return status;
}
