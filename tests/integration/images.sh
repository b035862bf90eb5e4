#!/bin/bash
# Images on their way to a model: read by the tool or named with @, in both formats, scaled
# and upright; what must not be sent becomes a text.
. "$(dirname "$0")/lib.sh"
. "$(dirname "$0")/lib_mock.sh"
images=$PI_TEST_DATA/images

# arrived NAME: the images of the last request to NAME, as files arrived.0 and so on.
arrived() {
    local data n=0
    rm -f arrived.*
    for data in $(grep '"event":"request"' "$1.log" | tail -n 1 |
        grep -oE '"data":\s*"[^"]*"|base64,[A-Za-z0-9+/=]*' | sed -E 's/.*[",]([A-Za-z0-9+\/=]+)"?$/\1/'); do
        printf %s "$data" | base64 -d >arrived.$n
        n=$((n + 1))
    done
    [ $n -eq "$2" ] || fail "$name: $n images arrived, not $2"
}
# size_is FILE WIDTHxHEIGHT
size_is() {
    "$pi" tool read "{\"path\":\"$1\"}" 2>/dev/null | grep -qF "$2 pixels" ||
        fail "$name: $1 is not $2: $("$pi" tool read "{\"path\":\"$1\"}" 2>&1)"
}
# calls PATH...: a turn that reads these.
calls() {
    printf '{"blocks":['
    printf '{"call":{"name":"read","arguments":{"path":"%s"}}},' "$@"
    printf ']}'
}
upright() { # FILE: red, green and blue are where they should be
    "$UPRIGHT" "$1" || fail "$name: $1 is not upright"
}

cp "$images"/* .
for api in anthropic-messages openai-completions; do
    mock read <<END
{"turns":[
    $(calls photo.jpg 12-megapixels.png),
    {"holds":["photo.jpg: image/jpeg, 4000x3000 pixels","shown at 2000x1500: multiply coordinates by 2.00"],
     "blocks":[{"text":"seen"}]}
]}
END
    use $api
    run "$api, scaled and upright" ask --no-session 'look'
    code_is 0
    is out seen
    good read 2
    arrived read 2
    size_is arrived.0 2000x1500
    size_is arrived.1 2000x1500
    upright arrived.0
    upright arrived.1

    mock at <<END
{"turns":[{"holds":["what is this","12-megapixels.png","shown at 2000x1500"],"blocks":[{"text":"two"}]}]}
END
    use $api
    run "$api, with @" ask --no-session 'what is this' @12-megapixels.png @one.png
    code_is 0
    is out two
    good at 1
    arrived at 2
    size_is arrived.0 2000x1500
    cmp -s arrived.1 one.png || fail "$name: one.png was changed"

    mock bad <<END
{"turns":[{"holds":["look","left out"],"blocks":[{"text":"none"}]}]}
END
    use $api
    run "$api, a bomb with @" ask --no-session look @bomb-header.png
    code_is 0
    holds err 'bomb-header.png: The image is left out'
    good bad 1
    arrived bad 0

    mock blind <<END
{"turns":[$(calls one.png),{"holds":["one.png: image/png, 1x1","does not take images"],"blocks":[{"text":"blind"}]}]}
END
    use $api '' '"input":["text"]'
    sed -i 's/"input":\["text","image"\],//' "$HOME/.pi/agent/models.json"
    run "$api, a model without eyes" ask --no-session look
    code_is 0
    is out blind
    good blind 2
    arrived blind 0
done

api=anthropic-messages
mkdir -p "$HOME/.pi/agent"
echo '{"images":{"autoResize":false}}' >"$HOME/.pi/agent/settings.json"
mock raw <<END
{"turns":[$(calls photo.jpg),{"holds":"photo.jpg","blocks":[{"text":"ok"}]}]}
END
use $api
run 'as they are' ask --no-session look @turned-6.jpg
code_is 0
good raw 2
arrived raw 2
cmp -s arrived.0 turned-6.jpg || fail "$name: turned-6.jpg was changed"
cmp -s arrived.1 photo.jpg || fail "$name: photo.jpg was changed"

echo '{"images":{"blockImages":true}}' >"$HOME/.pi/agent/settings.json"
mock blocked <<END
{"turns":[$(calls one.png),{"holds":"blockImages","blocks":[{"text":"ok"}]}]}
END
use $api
run 'none at all' ask --no-session look @one.png
code_is 0
good blocked 2
arrived blocked 0
done_testing
