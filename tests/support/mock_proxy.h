#pragma once

#include "mock_http.h"

/**
 * A proxy for CONNECT: whatever the client asks for, the tunnel leads to this port of the
 * loopback device. Returns when one side has closed.
 */
void proxy_tunnel(struct peer *p, const struct http_message *request,
                  unsigned short port);

/** A listening socket on 127.0.0.1; *port is chosen when 0. -1 on failure. */
int listen_on(unsigned short *port, int backlog);

/** A connection to a port of 127.0.0.1 that may still be in the making; -1 on failure. */
int connect_to(unsigned short port);
