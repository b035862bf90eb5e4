#!/bin/bash
# The model server of the tests does what it says; asked by curl.
. "$(dirname "$0")/lib.sh"
. "$(dirname "$0")/lib_mock.sh"
command -v curl >/dev/null || {
    echo 'curl is not installed'
    exit 77
}

# ask PATH BODY [OPTION...]: the answer in out, its head in head, what curl says in err.
ask() {
    curl -sS --noproxy '*' -m 10 -D head -H 'content-type: application/json' \
        -H 'anthropic-version: 2023-06-01' -H 'authorization: Bearer k' \
        --data-binary "$2" "${@:3}" "http://127.0.0.1:$port$1"
}
hi='"messages":[{"role":"user","content":"hi"}]'
messages() { ask /v1/messages "{\"model\":\"m\",\"max_tokens\":9,\"stream\":true,$hi}" "$@"; }
chat() { ask /v1/chat/completions "{\"model\":\"m\",\"stream\":true,$hi}" "$@"; }
# text: the deltas of out joined.
deltas() { sed -n "s/.*\"$1\":\"\([^\"]*\)\".*/\1/p" out | tr -d '\n'; }

mock plain <<'END'
{"turns": [
    {"blocks": [{"text": "žlutý kůň, hello"}], "chunk": 3},
    {"blocks": [{"text": "žlutý kůň"}], "chunk": 3},
    {"blocks": [{"thinking": "hm", "signature": "S"}, {"call": {"name": "read", "arguments": {"path": "a"}}}]},
    {"blocks": [{"call": {"name": "read", "argumentsText": "{\"pa"}}], "stopReason": "length"},
    {"blocks": [{"text": "whole"}], "stream": false},
    {"status": 429, "headers": {"retry-after": "3"}},
    {"blocks": [{"text": "so far"}], "error": "Overloaded"},
    {"status": 200, "body": "<html>", "headers": {"content-type": "text/html"}},
    {"blocks": [{"text": "👍"}], "ascii": true, "lineEnd": "crlf", "comments": true, "pings": true, "multiline": true, "finalBlank": false},
    {"blocks": [{"text": "packed"}], "gzip": true},
    {"raw": ["data: 1\n\n", "data: 2\n\n"]}
]}
END
run anthropic messages
is head "$(printf 'HTTP/1.1 200 Status\r\ncontent-type: text/event-stream; charset=utf-8\r\nTransfer-Encoding: chunked\r\n\r')"
[ "$(deltas text)" = 'žlutý kůň, hello' ] || fail "text: $(cat out)"
for event in message_start content_block_start content_block_delta content_block_stop \
    message_delta message_stop; do
    holds out "event: $event"
done
run chat chat
[ "$(deltas content)" = 'žlutý kůň' ] || fail "text: $(cat out)"
holds out '"finish_reason":"stop"'
holds out 'data: [DONE]'
run call messages
holds out '"partial_json":"{\"path\":\"a\"}"'
holds out '"stop_reason":"tool_use"'
holds out '"signature_delta","signature":"S"'
run cut-call chat
holds out '"arguments":"{\"pa"'
holds out '"finish_reason":"length"'
run whole messages
holds out '"content":[{"type":"text","text":"whole"}]'
run status messages
holds head 'HTTP/1.1 429'
holds head 'retry-after: 3'
holds out '"type":"rate_limit_error"'
run error messages
holds out '"overloaded_error"'
lacks out message_stop
run html chat
holds head 'content-type: text/html'
is out '<html>'
run habits messages
holds out '\ud83d\udc4d'
holds out $'event: ping\r'
holds out $': still here\r'
holds out $'data: {"type":"message_stop"}\r'
[ "$(tail -c 4 out | od -An -tx1)" = ' 22 7d 0d 0a' ] || fail "the last event is closed"
run gzip chat --compressed
holds head 'Content-Encoding: gzip'
[ "$(deltas content)" = packed ] || fail "gzip: $(cat out err)"
run raw chat
is out "$(printf 'data: 1\n\ndata: 2')"
name=requests
good plain 11
run none-left chat
holds out 'no more turns'
holds plain.log no-more-turns

# Answers that do not arrive: curl knows the ways.
mock broken <<'END'
{"turns": [
    {"blocks": [{"text": "abc"}], "cut": {"how": "clean", "events": -1}},
    {"blocks": [{"text": "abc"}], "cut": {"how": "fin", "bytes": 30}},
    {"blocks": [{"text": "abc"}], "cut": {"how": "reset", "events": 2}},
    {"drop": "fin"},
    {"blocks": [{"text": "abc"}], "framing": "close", "cut": {"how": "fin", "events": 2}},
    {"blocks": [{"text": "abc"}], "framing": "length", "cut": {"how": "fin", "bytes": 9}},
    {"blocks": [{"text": "abc"}], "stallAfter": 2, "stallMs": 20000},
    {"blocks": [{"text": "abc"}], "delayMs": 20000},
    {"blocks": [{"text": "ů"}], "split": 1},
    {"headerBytes": 2000000, "blocks": []}
]}
END
for row in clean:0 fin:18 reset:56 nothing:52 close:0 length:18; do
    run "${row%:*}" messages
    code_is "${row#*:}"
    lacks out message_stop
done
run stall messages -m 1
code_is 28
holds out message_start
lacks out text_delta
run silence messages -m 1
code_is 28
is out ''
run split messages
[ "$(deltas text)" = ů ] || fail "split: $(cat out)"
run head messages
code_is 56
grep -q '"event":"gone"' broken.log || fail 'who went away is not in the log'

# Connections that are not made.
mock full <<<'{"accept":"full"}'
run full chat --connect-timeout 1
code_is 28
mock silent <<<'{"accept":"silent"}'
run silent chat -m 1
code_is 28

# Requests are checked, also against what the script expects.
mock strict <<'END'
{"server": "mistral", "routes": {"GET /v1/models": {"data": [{"id": "m"}]}}, "turns": [
    {"expect": "hi", "absent": "no", "check": {"/messages/-1/role": "user", "/tools": null}, "blocks": []},
    {"expect": "bye", "blocks": []},
    {"check": {"/messages/0/content": "bye"}, "blocks": []}
]}
END
run expected chat
holds out '[DONE]'
run unexpected chat
holds head 'HTTP/1.1 400'
holds out "lacks 'bye'"
run checked chat
holds out '/messages/0/content is not \"bye\" but \"hi\"'
run refused ask /v1/chat/completions "{\"model\":\"m\",\"store\":false,$hi}"
holds head 'HTTP/1.1 422'
holds out extra_forbidden
run models curl -sS --noproxy '*' -m 10 "http://127.0.0.1:$port/v1/models"
is out '{"data":[{"id":"m"}]}'

# A script with a slip of the pen is refused.
echo '{"turns":[{"blocks":[],"splitt":1}]}' >slip.json
run slip "$PI_MOCK" --script slip.json
code_is 1
holds err splitt

# Its proxy leads where it is told.
mock far <<<'{"turns":[{"blocks":[{"text":"far away"}]}]}'
serve proxy --proxy "$port"
run proxy curl -sS -m 10 --proxytunnel -x "http://127.0.0.1:$port" -H 'authorization: Bearer k' \
    -H 'content-type: application/json' --data-binary "{\"model\":\"m\",$hi}" \
    http://model.test/v1/chat/completions
holds out 'far away'
holds proxy.log '"target":"model.test:80"'
done_testing
