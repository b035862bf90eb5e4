#!/bin/bash
# Calls that a model gets wrong, and answers that end in odd ways, in both formats.
. "$(dirname "$0")/lib.sh"
. "$(dirname "$0")/lib_mock.sh"
quick_retries

# row NAME REQUESTS TEXT TURN...: these turns, then one that says "good" and expects TEXT.
row() {
    printf '{"turns":[%s{"expect":%s,"blocks":[{"text":"good"}]}]}\n' "$(printf '%s,' "${@:4}")" \
        "$(json_string "$3")" >row.json
    serve row --script row.json
    use $api
    run "$api, $1" ask --no-session 'do it'
    code_is 0
    is out good
    good row "$2"
}
# call NAME ARGUMENTS [MORE]: a turn with this call, the arguments being any text.
call() { printf '{"blocks":[{"call":{"name":"%s","argumentsText":%s}}]%s}' "$1" "$(json_string "$2")" "$3"; }

for api in anthropic-messages openai-completions; do
    echo a >a.txt
    row 'no end' 2 'JSON' "$(call edit '{"path":"a.txt","edits":[{"oldText":"a')"
    row 'an end by the limit' 2 'cut off' "$(call write '{"path":"a.txt","content":"half of' ',"stopReason":"length"')"
    row 'no JSON' 2 'JSON' "$(call bash 'touch ran')"
    row 'two values' 2 'JSON' "$(call bash '{"command":"touch ran"}{"command":"touch ran"}')"
    row 'a list' 2 'object' "$(call bash '["touch ran"]')"
    [ ! -e ran ] || fail "$api: a broken call was run"
    is a.txt a
    row 'a raw line end' 2 $'one\ntwo' "$(call bash $'{"command":"echo one\necho two"}')"
    row 'a lone backslash' 2 'a\d' "$(call bash '{"command":"echo '"'a\\d'"'"}')"
    row 'a fence' 2 fenced "$(call bash $'```json\n{"command":"echo fenced"}\n```')"
    row 'nothing' 2 command "$(call bash '')"
    row 'no such tool' 2 'write' "$(call nosuch '{}')"
    row 'no name' 2 '' "$(call '' '{}')"

    two='{"blocks":[{"call":{"id":"x","name":"bash","arguments":{"command":"echo o""ne"}}},{"call":{"id":"x","name":"bash","arguments":{"command":"echo t""wo"}}}]}'
    two=${two//\"\"/\'\'}
    row 'one id for two' 2 one "$two"
    row 'ids that come again' 4 two "$two" "$two" "$two"
    row 'strange ids' 2 one "${two//\"id\":\"x\"/\"id\":\"functions.bash:0|fc_0123456789012345678901234567890123456789\"}"

    row 'a NUL and half a character' 2 'x' "$(call bash '{"command":"printf %s \u0000x\ud83d"}')"

    # 4 MB of arguments, and of text that is a result.
    head -c 4000000 /dev/zero | tr '\0' x >big
    printf '{"turns":[{"blocks":[{"call":{"name":"write","arguments":{"path":"new.txt","content":"%s"}}}],"chunk":2000},{"blocks":[{"text":"good"}]}]}' \
        "$(cat big)" >giant.json
    serve giant --script giant.json
    use $api '' '"contextWindow":10000000'
    run "$api, 4 MB of arguments" ask --no-session x
    code_is 0
    is out good
    cmp -s big new.txt || fail "$name: new.txt is wrong"
    rm -f new.txt big
    good giant 2
done

# -- ends of Anthropic --
api=anthropic-messages
row 'a pause' 2 '' '{"blocks":[{"text":"I think"}],"stopReason":"pause_turn"}'
mock ends <<'END'
{"turns":[
    {"blocks":[{"text":"I"}],"stopReason":"refusal"},
    {"blocks":[{"text":"cut"}],"stopReason":"length"},
    {"blocks":[{"text":"full"}],"stopReason":"model_context_window_exceeded"},
    {"blocks":[{"text":"odd"}],"stopReason":"something_new"}
]}
END
use $api
run refusal ask --no-session x
code_is 1
holds err refus
run length ask --no-session x
is out cut
holds err limit
run window ask --no-session x
code_is 1
holds err context
run 'unknown reason' ask --no-session x
code_is 1
holds err something_new
good ends 4

# -- ends and habits of Chat Completions --
api=openai-completions
row 'stop with a call' 2 one '{"blocks":[{"call":{"name":"bash","arguments":{"command":"echo one"}}}],"stopReason":"stop"}'
two=${two/\"id\":\"x\"/\"id\":\"y\"}
row 'one index for all' 2 two "${two%\}},\"callIndex\":\"same\",\"chunk\":0}"
row 'no index' 2 two "${two%\}},\"callIndex\":\"none\"}"
for field in reasoning_content reasoning reasoning_text; do
    row "thinking in $field" 2 one "{\"blocks\":[{\"thinking\":\"hm\"},{\"call\":{\"name\":\"bash\",\"arguments\":{\"command\":\"echo one\"}}}],\"reasoningField\":\"$field\"}"
done
mock ends <<'END'
{"turns":[
    {"blocks":[{"text":"I"}],"stopReason":"content_filter"},
    {"blocks":[{"text":"cut"}],"stopReason":"length"},
    {"blocks":[{"text":"odd"}],"stopReason":"something_new"}
]}
END
use $api
run filter ask --no-session x
code_is 1
holds err filter
run length ask --no-session x
is out cut
holds err limit
run 'unknown reason' ask --no-session x
code_is 1
holds err something_new
good ends 3

# -- other servers get what they need; what they refuse is learnt, once for each run --
for server in openai:5 mistral:3 deepseek:3; do
    count=${server#*:} server=${server%:*}
    mock "$server" <<END
{"server":"$server","turns":[
    {"blocks":[{"thinking":"hm"},{"call":{"name":"bash","arguments":{"command":"echo one"}}}]},
    {"expect":"one","blocks":[{"text":"good"}]},
    {"expect":"again","blocks":[{"text":"good"}]}
]}
END
    use $api '' '"reasoning":true' $server
    run "as $server" ask 'first'
    code_is 0
    is out good
    run "as $server again" ask -c 'again'
    code_is 0
    is out good
    [ "$(requests $server)" -eq "$count" ] || fail "$name: $(requests $server) requests"
    [ "$(grep -c '"violations":\[{' $server.log)" -eq $((count - 3)) ] || good $server "$count"
done
done_testing
