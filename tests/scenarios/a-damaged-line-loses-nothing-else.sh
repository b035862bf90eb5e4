#!/bin/bash
# NUL bytes in the place of an entry: those before and behind it still count, the user is
# told, and a long session with a bad line loads quickly.
. "$(dirname "$0")/lib.sh"
mock model <<'END'
{"turns":[
    {"blocks":[{"text":"answer"}],"repeat":6},
    {"expect":"seventh","holds":["first","second","third","fourth","fifth","sixth"],"blocks":[{"text":"ok"}]},
    {"expect":"eighth","holds":["begin","seventy"],"blocks":[{"text":"ok"}]}
]}
END
use anthropic-messages
for prompt in first second third fourth fifth sixth; do
    run $prompt ask --session ./s.jsonl $prompt
    code_is 0
done
# The answer to the second prompt.
line=$(grep -n '"text":"answer"' s.jsonl | sed -n '2s/:.*//p')
head -c 400 /dev/zero >nul
echo >>nul
sed -i -e "${line}r nul" -e "${line}d" s.jsonl
run resumed ask --session ./s.jsonl seventh
code_is 0
is out ok
holds err "line $line is damaged"

{
    header
    message 00000001 '' "$(user begin)"
    message 00000002 00000001 "$(assistant '{"type":"text","text":"yes"}' stop)"
    awk 'BEGIN {
        pad = sprintf("%1000s", ""); gsub(/ /, "x", pad)
        parent = "00000002"
        for (i = 3; i < 50000; i++) {
            id = sprintf("%08x", i)
            if (i == 25000) { print "damaged" }
            else printf "{\"type\":\"custom\",\"customType\":\"pad\",\"data\":\"%s\",\"id\":\"%s\",\"parentId\":\"%s\",\"timestamp\":\"2026-01-31T12:00:00.000Z\"}\n", pad, id, parent
            parent = id
        }
    }'
    message 0000ffff 0000c34f "$(user seventy)"
    message 0001ffff 0000ffff "$(assistant '{"type":"text","text":"yes"}' stop)"
} >large.jsonl
run large ask --session ./large.jsonl eighth
code_is 0
is out ok
holds err 'line 25001 is damaged'
good model 8
done_testing
