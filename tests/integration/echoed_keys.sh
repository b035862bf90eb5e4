#!/bin/bash
# A server that repeats the key in its errors: nobody gets to see it.
. "$(dirname "$0")/lib.sh"
. "$(dirname "$0")/lib_mock.sh"
key=sk-0123456789abcdef
header=word-0123456789
mkdir -p "$HOME/.pi/agent"

for api in anthropic-messages openai-completions; do
    mock "$api" <<END
{"turns": [
    {"status": 401, "body": {"error": {"message": "Incorrect key $key, $header"}}},
    {"blocks": [{"text": "so"}], "error": "key $key, $header", "errorType": "authentication_error"},
    {"status": 302, "headers": {"location": "http://u:$key@elsewhere.test/a?key=$key"}, "body": ""}
]}
END
    [ $api = anthropic-messages ] && path='' || path=/v1
    cat >"$HOME/.pi/agent/models.json" <<END
{"providers": {"mock": {"baseUrl": "http://127.0.0.1:$port$path", "api": "$api", "apiKey": "$key",
    "headers": {"x-secret-token": "$header"}, "models": [{"id": "m"}]}}}
END
    for what in 'status' 'event' 'redirect'; do
        run "$api, $what" env PI_LOG="$PWD/log" "$pi" -p --mode json --model mock/m x </dev/null
        code_is 1
        holds out '"stopReason":"error"'
        cat out err log "$HOME"/.pi/agent/sessions/*/*.jsonl >all
        lacks all "$key"
        lacks all "$header"
        [ "$what" = redirect ] || holds out '[key]'
    done
    holds "$api.log" "$key"
done
done_testing
