#!/bin/bash
# A conversation with read, edit and bash in both wire formats; the ways there.
. "$(dirname "$0")/lib.sh"
. "$(dirname "$0")/lib_mock.sh"
. "$(dirname "$0")/lib_nginx.sh"

conversation() {
    cat <<'END'
{"turns": [
    {"expect": "correct the file", "blocks": [
        {"thinking": "Let me see.", "signature": "SIG"},
        {"text": "I look."},
        {"call": {"name": "read", "arguments": {"path": "a.txt"}}}]},
    {"expect": "teh end", "blocks": [
        {"call": {"name": "edit", "arguments": {"path": "a.txt", "edits": [{"oldText": "teh", "newText": "the"}]}}}]},
    {"expect": "Successfully", "blocks": [
        {"call": {"name": "bash", "arguments": {"command": "cat a.txt; echo $((6 * 7))"}}},
        {"call": {"name": "read", "arguments": {"path": "a.txt"}}}]},
    {"expect": ["the end", "42"], "blocks": [{"text": "Done: žlutý kůň."}],
     "usage": {"input": 7, "output": 5, "cacheRead": 100}}
]}
END
}
converse() {
    echo 'teh end' >a.txt
    run "$1" ask --no-session 'correct the file' "${@:2}"
    code_is 0
    is out 'Done: žlutý kůň.'
    is a.txt 'the end'
    holds err 'read a.txt'
    holds err 'edit a.txt'
    holds err 'bash $ cat a.txt'
}
connections() { grep -o '"event":"request","connection":[0-9]*' "$1.log" | sort -u | wc -l; }

for api in anthropic-messages openai-completions; do
    conversation >$api.json
    serve $api --script $api.json
    use $api '' '"reasoning":true'
    converse $api --thinking low
    good $api 4
    [ "$(connections $api)" -eq 1 ] || fail "$name: $(connections $api) connections"
    grep -q 'SIG' $api.log || [ $api = openai-completions ] || fail "$name: no thinking was sent back"

    # The same number of tokens in both.
    conversation >$api.json
    serve $api --script $api.json
    use $api
    echo 'teh end' >a.txt
    run "$api usage" ask --no-session --mode json 'correct the file'
    holds out '"input":7,"output":5,"cacheRead":100'

    # With every habit of a stream.
    for habit in '"split":1' '"split":3' '"lineEnd":"crlf"' '"lineEnd":"cr","split":7' \
        '"comments":true,"pings":true,"keepAlives":50' '"multiline":true' '"finalBlank":false' \
        '"ascii":true,"split":5' '"framing":"close"' '"stream":false' '"chunk":0' '"chunk":1' \
        '"headers":{"content-type":"text/plain"}' '"headerBytes":100000'; do
        conversation | sed "s|\"expect\"|$habit, \"expect\"|" >habit.json
        serve habit --script habit.json
        use $api
        converse "$api, $habit"
        good habit 4
    done
done

# Through nginx.
certify || fail "no certificate: $(cat openssl.log)"
export SSL_CERT_FILE=$PWD/ca.pem
for api in anthropic-messages openai-completions; do
    conversation >far.json
    serve far --script far.json
    nginx_before "$port"
    use $api "https://127.0.0.1:$tls_port"
    converse "$api by TLS"
    good far 4
    [ "$(grep -c "^$tls_port HTTP/2.0 127.0.0.1 200" access.log)" -eq 4 ] ||
        fail "$name: $(cat access.log)"

    conversation >far.json
    serve far --script far.json
    nginx_before "$port"
    use $api http://model.test
    export HTTP_PROXY=http://127.0.0.1:$plain_port http_proxy=http://127.0.0.1:$plain_port
    converse "$api by a proxy"
    unset HTTP_PROXY http_proxy
    good far 4
    [ "$(grep -c "^$plain_port HTTP/1.1 model.test 200" access.log)" -eq 4 ] ||
        fail "$name: $(cat access.log)"

    conversation >far.json
    serve far --script far.json
    nginx_before "$port"
    serve tunnel --proxy "$tls_port"
    use $api https://model.test
    export HTTPS_PROXY=http://127.0.0.1:$port
    converse "$api by TLS through a proxy"
    unset HTTPS_PROXY
    good far 4
    holds tunnel.log '"target":"model.test:443"'
    rm -f access.log
done

# A proxy is not for servers on this machine, nor for those that NO_PROXY names.
conversation >near.json
serve near --script near.json
use anthropic-messages
export HTTP_PROXY=http://127.0.0.1:9 HTTPS_PROXY=http://127.0.0.1:9
converse 'no proxy on loopback'
unset HTTP_PROXY HTTPS_PROXY

# An authority that is not known.
unset SSL_CERT_FILE
conversation >far.json
serve far --script far.json
nginx_before "$port"
use anthropic-messages "https://127.0.0.1:$tls_port"
run 'unknown authority' ask x
code_is 1
holds err 'certificate'
holds err 'SSL_CERT_FILE'
good far 0
done_testing
