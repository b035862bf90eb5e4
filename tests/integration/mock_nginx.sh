#!/bin/bash
# The model server behind nginx: TLS with a private authority, HTTP/2, a plain proxy, gzip.
. "$(dirname "$0")/lib.sh"
. "$(dirname "$0")/lib_mock.sh"
. "$(dirname "$0")/lib_nginx.sh"
command -v curl >/dev/null || {
    echo 'curl is not installed'
    exit 77
}
certify || fail "no certificate: $(cat openssl.log)"
mock model <<<'{"turns":[{"blocks":[{"text":"good day"}],"split":1,"repeat":9}]}'
nginx_before "$port"

ask() {
    curl -sS -m 10 -H 'content-type: application/json' -H 'authorization: Bearer k' \
        --data-binary '{"model":"m","stream":true,"messages":[{"role":"user","content":"hi"}]}' \
        "$@"
}
run 'unknown authority' ask "https://127.0.0.1:$tls_port/v1/chat/completions"
code_is 60
run TLS ask --cacert ca.pem --http1.1 "https://127.0.0.1:$tls_port/v1/chat/completions"
holds out 'good day'
run HTTP/2 ask --cacert ca.pem --http2 --compressed \
    "https://127.0.0.1:$tls_port/v1/chat/completions"
holds out 'good day'
run proxy ask -x "http://127.0.0.1:$plain_port" http://model.test/v1/chat/completions
holds out 'good day'
is access.log "$tls_port HTTP/1.1 127.0.0.1 200
$tls_port HTTP/2.0 127.0.0.1 200
$plain_port HTTP/1.1 model.test 200"
good model 3
done_testing
