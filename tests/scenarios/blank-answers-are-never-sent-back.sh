#!/bin/bash
# Answers without text, or with white space alone, do not come back to the server.
. "$(dirname "$0")/lib.sh"
for api in $both; do
    rm -f s.jsonl
    mock model <<'END'
{"turns":[
    {"blocks":[{"text":""}]},
    {"expect":"second","blocks":[{"text":" \n"}]},
    {"expect":"third","check":{"/messages/-1/role":"user"},"holds":["first","second"],"blocks":[{"text":"ok"}]}
]}
END
    use $api
    run "nothing, $api" ask --session ./s.jsonl first
    run "white space, $api" ask --session ./s.jsonl second
    run "text, $api" ask --session ./s.jsonl third
    code_is 0
    is out ok
    good model 3
done
done_testing
