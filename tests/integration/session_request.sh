#!/bin/bash
# Whatever became of a session, the request after its resume is one that real servers
# take: cut between and inside all records, with each of them lost, with media that no
# server wants. In both wire formats.
. "$(dirname "$0")/lib.sh"
. "$(dirname "$0")/lib_mock.sh"
mkdir -p "$HOME/.pi/agent"

# use API: the model mock/m is the server at $port.
use() {
    [ "$1" = anthropic-messages ] && path='' || path=/v1
    cat >"$HOME/.pi/agent/models.json" <<END
{"providers": {"mock": {"baseUrl": "http://127.0.0.1:$port$path", "api": "$1", "apiKey": "key-of-mock",
    "models": [{"id": "m", "reasoning": true, "input": ["text", "image"]}]}}}
END
}
ask() { "$pi" -p --permissions yolo --model mock/m --session ./s.jsonl "$@" </dev/null; }
# resumed NAME: asks in the session and must get the answer.
resumed() {
    run "$1" ask 'go on'
    code_is 0
    is out resumed
    asked=$((asked + 1))
}

for api in anthropic-messages openai-completions; do
    calls='{"call": {"id": "c2", "name": "edit", "arguments": {"path": "a.txt", "edits": [{"oldText": "one", "newText": "1"}]}}},
        {"call": {"id": "c3", "name": "bash", "arguments": {"command": "cat a.txt"}}}'
    thought='{"thinking": "I should read.", "signature": "signed"}'
    mock "$api" <<END
{"turns": [
    {"blocks": [$thought, {"text": "I read."}, {"call": {"id": "c1", "name": "read", "arguments": {"path": "a.txt"}}}]},
    {"blocks": [$calls]},
    {"blocks": [{"text": "half an answ"}, {"call": {"id": "c4", "name": "bash", "arguments": {"command": "exit 3"}}}]},
    {"blocks": [{"text": "All done."}]},
    {"blocks": [{"text": "And this, too."}]}
]}
END
    use $api
    rm -f s.jsonl
    printf 'one\n' >a.txt
    run "$api, first prompt" ask hello
    code_is 0
    run "$api, second prompt" ask more
    code_is 0
    good "$api" 5
    records=$(wc -l <s.jsonl)
    [ "$records" -eq 14 ] || fail "$api: $records records"
    mv s.jsonl whole.jsonl

    asked=0
    mock "$api.resumed" <<END
{"turns": [{"blocks": [{"text": "resumed"}], "repeat": 1000}], "issued": [[{"type": "thinking", "thinking": "I should read.", "signature": "signed"}]]}
END
    use $api
    for n in $(seq "$records"); do
        head -n "$n" whole.jsonl >s.jsonl
        resumed "$api, the first $n records"
        head -n "$n" whole.jsonl >s.jsonl
        sed -n "$((n + 1))p" whole.jsonl | head -c 150 >>s.jsonl
        resumed "$api, the first $n records and a part"
        if [ "$n" -gt 1 ]; then
            sed "${n}d" whole.jsonl >s.jsonl
            resumed "$api, without record $n"
            sed "${n}s/.*/\x00\x00\x00/" whole.jsonl >s.jsonl
            resumed "$api, record $n overwritten"
            resumed "$api, record $n overwritten, once more"
        fi
    done

    # A PNG that calls itself JPEG, a PDF, a picture that is too large, rubbish, and blank
    # texts and twice the same id, as other programs left them.
    png=iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNkYPhfDwAChwGA60e6kgAAAABJRU5ErkJggg==
    large=iVBORw0KGgoAAAANSUhEUgAAIygAACMoCAYAAAAfFcSJAAAADUlEQVR42mNkYPhfDwAChwGA60e6kgAAAABJRU5ErkJggg==
    result() {
        printf '{"type":"message","id":"%s","parentId":"%s","timestamp":"2026-01-31T12:00:00.000Z","message":{"role":"toolResult","toolCallId":"c1","toolName":"read","content":[%s],"isError":false,"timestamp":1}}\n' \
            "$1" "$2" "$3"
    }
    image() { printf '{"type":"image","data":"%s","mimeType":"%s"}' "$1" "$2"; }
    sed '/"type":"toolCall"/q' whole.jsonl >s.jsonl
    last=$(tail -n 1 s.jsonl | sed 's/.*"id":"\([0-9a-f]*\)","parentId".*/\1/')
    {
        result 00000001 "$last" "$(image $png image/jpeg),$(image JVBERi0xLjQK application/pdf),$(image $large image/png)"
        result 00000002 00000001 "$(image '***' image/png)"
        result 00000003 00000002 '{"type":"text","text":" \n"},{"type":"image"}'
        printf '{"type":"message","id":"00000004","parentId":"00000003","timestamp":"t","message":{"role":"user","content":"","timestamp":1}}\n'
    } >>s.jsonl
    resumed "$api, poisoned media"
    run "$api, the model of the session" "$pi" -p --permissions yolo --session ./s.jsonl x </dev/null
    is out resumed
    good "$api.resumed" $((asked + 1))
    grep -q "data:image/png;base64,$png\|\"media_type\":\"image/png\",\"data\":\"$png" "$api.resumed.log" ||
        fail "$api: the picture with the wrong type was not sent with its own"
    ! grep -q "$large" "$api.resumed.log" || fail "$api: the picture that is too large was sent"
    ! grep -q 'application/pdf' "$api.resumed.log" || fail "$api: the PDF was sent as a picture"
done
done_testing
