#!/bin/bash
# Images of an old session that no server takes: a false type is put right, what is no image
# or too large becomes a note, and what the server still refuses is left out once it says so.
. "$(dirname "$0")/lib.sh"
png() { # WIDTH as eight hexadecimal digits: the head of a picture, in base64
    printf '\x89PNG\r\n\x1a\n\0\0\0\rIHDR'"$(printf %s "$1" | sed 's/../\\x&/g')"'\0\0\0\1\x08\2\0\0\0\0\0\0\0' |
        base64 -w 0
}
image() { printf '{"type":"image","data":"%s","mimeType":"%s"}' "$1" "$2"; }
call() { printf '{"type":"toolCall","id":"%s","name":"read","arguments":{"path":"x"}}' "$1"; }
small=$(png 00000001)
for api in $both; do
    {
        header
        message 00000001 '' "$(user look)"
        message 00000002 00000001 "$(assistant "$(call t1),$(call t2),$(call t3)")"
        message 00000003 00000002 "$(result t1 "$(image "$small" image/jpeg)")"
        message 00000004 00000003 "$(result t2 "$(image JVBERi0xLjQK application/pdf)")"
        message 00000005 00000004 "$(result t3 "$(image "$(png 00002328)" image/png)")"
        message 00000006 00000005 "$(assistant '{"type":"text","text":"seen"}' stop)"
    } >s.jsonl
    cp s.jsonl t.jsonl
    mock model <<END
{"turns":[
    {"holds":["look","$small"],"absent":["JVBERi0xLjQK","$(png 00002328)"],"blocks":[{"text":"ok"}]},
    {"holds":"$small","status":400,"body":{"type":"error","error":{"type":"invalid_request_error","message":"messages.2.content.0.image: Could not process image"}}},
    {"holds":"look","absent":"$small","blocks":[{"text":"without"}]}
]}
END
    use $api
    run "$api" ask --session ./s.jsonl more
    code_is 0
    is out ok
    good model 1
    run "$api, refused" ask --session ./t.jsonl more
    code_is 0
    is out without
    good model 3
done
done_testing
