#!/bin/bash
# A session that ends with a call and no result, as after a crash, goes on: with an error as
# the result.
. "$(dirname "$0")/lib.sh"
for api in $both; do
    {
        header
        message 00000001 '' "$(user 'read it')"
        message 00000002 00000001 \
            "$(assistant '{"type":"toolCall","id":"t9","name":"read","arguments":{"path":"a"}}')"
    } >s.jsonl
    mock model <<'END'
{"turns":[{"expect":"continue","holds":"read it","blocks":[{"text":"fine"}]}]}
END
    use $api
    run "resume, $api" ask --session ./s.jsonl continue
    code_is 0
    is out fine
    good model 1
    grep '"violations"' model.log | grep -q t9 || fail "$name: the call is not in the request"
    whole_lines s.jsonl

    # A real crash.
    rm -f started
    mock model <<'END'
{"turns":[
    {"blocks":[{"call":{"name":"bash","arguments":{"command":"touch started; sleep 30"}}}]},
    {"expect":"continue","holds":"interrupted","blocks":[{"text":"fine"}]}
]}
END
    use $api
    start "$pi" -p --permissions yolo --model "$model" --session ./crash.jsonl run </dev/null
    soon test -e started || fail 'the command did not start'
    kill -9 $program
    { wait $program; } 2>killed
    run "crash, $api" ask --session ./crash.jsonl continue
    code_is 0
    is out fine
    good model 2
    rm -f crash.jsonl
done
done_testing
