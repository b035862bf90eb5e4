# Servers that fail in all their ways, in the format $api: what is tried again, what ends the
# run and with which words, and that nothing half is shown, run or sent back.
. "$(dirname "$0")/lib.sh"
. "$(dirname "$0")/lib_mock.sh"
: "${api:?}"
quick_retries

# row NAME CODE REQUESTS TEXT TURN...: these turns, then one that says "good". Code 0 means
# that "good" is all that is printed, else TEXT is in the message.
row() {
    printf '{"turns":[%s{"blocks":[{"text":"good"}],"repeat":9}]}\n' "$(printf '%s,' "${@:5}")" >row.json
    serve row --script row.json
    use $api
    run "$api, $1" ask --no-session 'do it'
    code_is "$2"
    good row "$3"
    if [ "$2" -eq 0 ]; then
        is out good
    else
        is out ''
    fi
    [ -z "$4" ] || holds err "$4"
    lacks err k-123
    kill "${started[-1]}" && wait "${started[-1]}"
    unset 'started[-1]'
}
# wrong TEXT: the error of a server that says so.
wrong() { printf '"body":{"error":{"type":"invalid_request_error","message":"%s"}}' "$1"; }

# -- statuses --
for status in 408 409 425 429 500 502 503 504 520 529; do
    row "status $status" 0 2 '' "{\"status\":$status}"
done
for status in 400 401 402 403 404 413 422; do
    row "status $status" 1 1 'so it is' "{\"status\":$status,$(wrong 'so it is')}"
done
row 'quota' 1 1 'no more money' '{"status":429,"body":{"error":{"message":"no more money","type":"insufficient_quota","code":"insufficient_quota"}}}'
row 'told not to' 1 1 'so it is' "{\"status\":500,\"headers\":{\"x-should-retry\":\"false\"},$(wrong 'so it is')}"
row 'told to' 0 2 '' "{\"status\":400,\"headers\":{\"x-should-retry\":\"true\"},$(wrong 'so it is')}"
row 'again and again' 1 4 'scripted failure' '{"status":500,"repeat":9}'
row 'too long a pause' 1 1 'pause of 3600 seconds' '{"status":429,"headers":{"retry-after":"3600"}}'
row 'a redirection' 1 1 'elsewhere.test' '{"status":302,"headers":{"location":"http://elsewhere.test/x"},"body":""}'
row 'a loop of redirections' 1 1 '307' '{"status":307,"headers":{"location":"/v1/messages"},"body":"","repeat":50}'

# -- bodies --
row 'HTML' 1 4 'HTML' '{"body":"<html><title>Login</title></html>","headers":{"content-type":"text/html"},"repeat":9}'
row 'HTML with an error' 1 1 'HTML' '{"status":403,"body":"<html><title>Login</title></html>","headers":{"content-type":"text/html"}}'
row 'nothing' 0 2 '' '{"body":""}'
row 'a word' 1 4 'out of luck' '{"body":{"error":"out of luck"},"repeat":9}'
row 'a detail' 1 1 'out of luck' '{"status":422,"body":{"detail":"out of luck"}}'
row 'an empty error' 1 1 '404' '{"status":404,"body":""}'
row 'a late error' 0 2 '' '{"blocks":[{"text":"so far"}],"error":"Overloaded"}'
row 'a late error of ours' 1 1 'so it is' '{"blocks":[{"text":"so far"}],"error":"so it is","errorType":"invalid_request_error"}'

# -- ends --
row 'no answer' 0 2 '' '{"drop":"fin"}'
row 'a reset' 0 2 '' '{"drop":"reset"}'
row 'a connection that was closed' 0 2 '' '{"blocks":[{"call":{"name":"bash","arguments":{"command":"true"}}}],"hangUp":true}'
half='"blocks":[{"text":"half"},{"call":{"name":"bash","arguments":{"command":"touch ran"}}}]'
# In Chat Completions the answer is whole before its last two events.
inside=-90
[ $api = anthropic-messages ] || inside=-450
for how in clean fin reset; do
    for events in 0 1 3 5 -3 -2; do
        [ "$api $events" != 'openai-completions -2' ] || continue # what follows is usage
        row "cut: $how, $events events" 0 2 '' "{$half,\"cut\":{\"how\":\"$how\",\"events\":$events}}"
    done
    row "cut: $how, in an event" 0 2 '' "{$half,\"cut\":{\"how\":\"$how\",\"bytes\":$inside}}"
done
row 'cut without a length' 0 2 '' "{$half,\"framing\":\"close\",\"cut\":{\"how\":\"fin\",\"events\":5}}"
[ ! -e ran ] || fail 'a call of an answer that was cut was run'

# -- silence --
echo '{"retry":{"baseDelayMs":10,"provider":{"timeoutMs":400}}}' >"$HOME/.pi/agent/settings.json"
row 'silence' 0 2 '' '{"delayMs":60000}'
row 'silence in an event' 0 2 '' '{"blocks":[{"text":"half"}],"stallBytes":40,"stallMs":60000}'
row 'slow but alive' 0 1 '' '{"blocks":[{"text":"good"}],"keepAlives":10,"chunkDelayMs":100}'
quick_retries

# -- much --
row 'a huge head' 1 1 'header' '{"headerBytes":1000000000,"blocks":[]}'
mock large <<<'{"turns":[{"blocks":[{"repeatText":{"s":"0123456789","n":5000000}}],"chunk":0}]}'
use $api
run "$api, an event of 50 MB" ask --no-session x
code_is 0
[ "$(wc -c <out)" -eq 50000001 ] || fail "$name: $(wc -c <out) bytes"
row '100 000 comments' 0 1 '' '{"keepAlives":100000,"blocks":[{"text":"good"}]}'
done_testing
