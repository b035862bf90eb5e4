#!/bin/bash
# Two calls in one answer, an abort during the first: both have a result in the next request,
# the second was not run, and no request is made for the turn that was aborted.
. "$(dirname "$0")/lib.sh"
for api in $both; do
    mock model <<'END'
{"turns":[
    {"blocks":[{"call":{"name":"bash","arguments":{"command":"touch started; sleep 30"}}},
               {"call":{"name":"write","arguments":{"path":"never.txt","content":"x"}}}]},
    {"expect":"next","blocks":[{"text":"ok"}]}
]}
END
    use $api
    rm -f started
    start "$pi" -p --permissions yolo --model "$model" run </dev/null
    soon test -e started || fail 'the command did not start'
    sleep 0.5
    kill -INT $program
    ends "abort, $api"
    code_is 130
    good model 1
    [ ! -e never.txt ] || fail "$name: the second call was run"
    run "next prompt, $api" ask -c next
    code_is 0
    is out ok
    good model 2
done
done_testing
