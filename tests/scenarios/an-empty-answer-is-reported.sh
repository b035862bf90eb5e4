#!/bin/bash
# The model ends without a word after a result: the user is told, and the session goes on.
. "$(dirname "$0")/lib.sh"
for api in $both; do
    rm -f s.jsonl
    mock model <<'END'
{"turns":[
    {"blocks":[{"call":{"name":"bash","arguments":{"command":"echo 1"}}}]},
    {"blocks":[]},
    {"expect":"well?","blocks":[{"text":"yes"}]}
]}
END
    use $api
    run "$api" ask --session ./s.jsonl x
    holds err 'empty answer'
    good model 2
    run "$api, again" ask --session ./s.jsonl 'well?'
    code_is 0
    is out yes
    good model 3
done
done_testing
