#include "mock_proxy.h"

#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <poll.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

static struct sockaddr_in loopback(unsigned short port)
{
    return (struct sockaddr_in){.sin_family = AF_INET,
                                .sin_port = htons(port),
                                .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
}

int listen_on(unsigned short *port, int backlog)
{
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    struct sockaddr_in address = loopback(*port);
    socklen_t n = sizeof address;
    int yes = 1;
    if (fd < 0 || setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &yes, sizeof yes) ||
        bind(fd, (struct sockaddr *)&address, n) || listen(fd, backlog) ||
        getsockname(fd, (struct sockaddr *)&address, &n)) {
        if (fd >= 0) {
            close(fd);
        }
        return -1;
    }
    *port = ntohs(address.sin_port);
    return fd;
}

int connect_to(unsigned short port)
{
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    struct sockaddr_in address = loopback(port);
    if (fd >= 0 && connect(fd, (struct sockaddr *)&address, sizeof address) &&
        errno != EINPROGRESS) {
        close(fd);
        return -1;
    }
    return fd;
}

// Copies what there is from one side to the other; false at its end.
static bool copy(struct peer *from, struct peer *to)
{
    char piece[65536];
    ssize_t n = recv(from->fd, piece, sizeof piece, MSG_DONTWAIT);
    if (n < 0 && (errno == EAGAIN || errno == EINTR)) {
        return true;
    }
    return n > 0 && peer_send(to, piece, (size_t)n);
}

void proxy_tunnel(struct peer *p, const struct http_message *request, unsigned short port)
{
    static const char yes[] = "HTTP/1.1 200 Connection established\r\n\r\n";
    static const char no[] = "HTTP/1.1 405 Only CONNECT\r\nContent-Length: 0\r\n\r\n";
    if (strcmp(request->method, "CONNECT") != 0) {
        peer_send(p, no, sizeof no - 1);
        return;
    }
    struct peer far = {.fd = connect_to(port), .stop_fd = p->stop_fd};
    if (far.fd < 0 || !peer_send(p, yes, sizeof yes - 1)) {
        return;
    }
    bool open = peer_send(&far, p->in.data, p->in.len);
    while (open) {
        struct pollfd fds[3] = {{.fd = p->fd, .events = POLLIN},
                                {.fd = far.fd, .events = POLLIN},
                                {.fd = p->stop_fd, .events = POLLIN}};
        open = poll(fds, 3, -1) >= 0 && !fds[2].revents &&
               (!fds[0].revents || copy(p, &far)) && (!fds[1].revents || copy(&far, p));
    }
    peer_finish(&far);
}
