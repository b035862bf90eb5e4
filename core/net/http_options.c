// What the environment says of proxies and certificates. curl would ask the environment
// of the process, which in an editor belongs to somebody else.

#include "net/http.h"

#include <stddef.h>

// Small letters count first, as with curl. An empty value means "none".
static const char *first_of(const struct env *e, const char *const *names)
{
    for (size_t i = 0; names[i]; i++) {
        const char *value = env_get(e, names[i]);
        if (value) {
            return value[0] ? value : NULL;
        }
    }
    return NULL;
}

struct http_options http_options_of(const struct env *e)
{
    static const char *const https[] = {"https_proxy", "HTTPS_PROXY", "all_proxy",
                                        "ALL_PROXY", NULL};
    static const char *const http[] = {"http_proxy", "HTTP_PROXY", "all_proxy",
                                       "ALL_PROXY", NULL};
    // Under a web server HTTP_PROXY is a header of its client.
    static const char *const http_in_cgi[] = {"http_proxy", "all_proxy", "ALL_PROXY",
                                              NULL};
    static const char *const none[] = {"no_proxy", "NO_PROXY", NULL};
    static const char *const ca[] = {"SSL_CERT_FILE", "CURL_CA_BUNDLE", NULL};
    return (struct http_options){
        .https_proxy = first_of(e, https),
        .http_proxy = first_of(e, env_get(e, "REQUEST_METHOD") ? http_in_cgi : http),
        .no_proxy = first_of(e, none),
        .ca_file = first_of(e, ca),
    };
}
