#include "net/url.h"

#include <arpa/inet.h>
#include <stdint.h>
#include <string.h>
#include <strings.h>

static struct sv until(struct sv text, const char *stops)
{
    size_t n = 0;
    while (n < text.n && !strchr(stops, text.p[n])) {
        n++;
    }
    return sv_make(text.p, n);
}

// The part before the path may hold user:password@.
static struct sv without_user(struct sv authority)
{
    const char *at = memrchr(authority.p, '@', authority.n);
    return at ? sv_from(authority, (size_t)(at + 1 - authority.p)) : authority;
}

static bool split_port(struct url *out, struct sv place)
{
    bool bracket = place.n > 0 && place.p[0] == '[';
    if (bracket) {
        place = sv_from(place, 1);
    }
    out->host = until(place, bracket ? "]" : ":");
    struct sv rest = sv_from(place, out->host.n);
    if (bracket) {
        if (rest.n == 0) {
            return false;
        }
        rest = sv_from(rest, 1);
    }
    out->port = rest.n > 0 && rest.p[0] == ':' ? sv_from(rest, 1) : (struct sv){0};
    return out->host.n > 0;
}

bool url_parse(struct url *out, struct sv text)
{
    *out = (struct url){0};
    if (!text.p) {
        return false;
    }
    const char *colon = memmem(text.p, text.n, "://", 3);
    if (!colon || colon == text.p) {
        return false;
    }
    out->scheme = sv_make(text.p, (size_t)(colon - text.p));
    struct sv rest = sv_from(text, out->scheme.n + 3);
    struct sv authority = until(rest, "/?#\\");
    out->path = until(sv_from(rest, authority.n), "?#");
    return authority.n > 0 && split_port(out, without_user(authority));
}

void url_show(struct buf *out, struct sv text)
{
    struct url u;
    if (!url_parse(&u, text)) {
        buf_adds(out, "(not a URL)");
        return;
    }
    bool bracket = u.host.p && memchr(u.host.p, ':', u.host.n);
    buf_addsv(out, u.scheme);
    buf_adds(out, bracket ? "://[" : "://");
    buf_addsv(out, u.host);
    buf_adds(out, bracket ? "]" : "");
    if (u.port.n > 0) {
        buf_addc(out, ':');
        buf_addsv(out, u.port);
    }
    buf_addsv(out, u.path);
}

static bool ends_with(struct sv host, const char *end)
{
    size_t n = strlen(end);
    return host.n >= n && strncasecmp(host.p + host.n - n, end, n) == 0;
}

static enum url_reach reach_v4(uint32_t ip)
{
    static const struct {
        uint32_t net;
        unsigned bits;
        enum url_reach reach;
    } nets[] = {
        {0x7F000000, 8, URL_LOOPBACK},  // 127/8
        {0x00000000, 32, URL_LOOPBACK}, // 0.0.0.0 reaches this machine
        {0x0A000000, 8, URL_PRIVATE},   // 10/8
        {0xAC100000, 12, URL_PRIVATE},  // 172.16/12
        {0xC0A80000, 16, URL_PRIVATE},  // 192.168/16
        {0xA9FE0000, 16, URL_PRIVATE},  // 169.254/16, link-local
        {0x64400000, 10, URL_PRIVATE},  // 100.64/10, overlay networks
    };
    for (size_t i = 0; i < sizeof nets / sizeof *nets; i++) {
        if ((ip ^ nets[i].net) >> (32 - nets[i].bits) == 0) {
            return nets[i].reach;
        }
    }
    return URL_PUBLIC;
}

static enum url_reach reach_v6(const struct in6_addr *ip)
{
    if (IN6_IS_ADDR_V4MAPPED(ip)) {
        uint32_t v4;
        memcpy(&v4, ip->s6_addr + 12, sizeof v4);
        return reach_v4(ntohl(v4));
    }
    if (IN6_IS_ADDR_LOOPBACK(ip) || IN6_IS_ADDR_UNSPECIFIED(ip)) {
        return URL_LOOPBACK;
    }
    bool unique_local = (ip->s6_addr[0] & 0xFE) == 0xFC;
    return unique_local || IN6_IS_ADDR_LINKLOCAL(ip) ? URL_PRIVATE : URL_PUBLIC;
}

enum url_reach url_reach(struct sv host)
{
    char text[INET6_ADDRSTRLEN];
    struct sv address = until(host, "%"); // without the zone
    if (address.n < sizeof text) {
        struct in_addr v4;
        struct in6_addr v6;
        memcpy(text, address.p, address.n);
        text[address.n] = '\0';
        if (inet_pton(AF_INET, text, &v4) == 1) {
            return reach_v4(ntohl(v4.s_addr));
        }
        if (inet_pton(AF_INET6, text, &v6) == 1) {
            return reach_v6(&v6);
        }
    }
    if (host.n > 0 && host.p[host.n - 1] == '.') {
        host.n--;
    }
    bool is_local = host.n == strlen("localhost") && ends_with(host, "localhost");
    if (is_local || ends_with(host, ".localhost")) {
        return URL_LOOPBACK;
    }
    bool single = host.n == 0 || !memchr(host.p, '.', host.n);
    bool named = ends_with(host, ".local") || ends_with(host, ".lan") ||
                 ends_with(host, ".internal") || ends_with(host, ".home.arpa");
    return single || named ? URL_PRIVATE : URL_PUBLIC;
}
