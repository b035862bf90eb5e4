#!/bin/bash
# A refusal is not tried again: the program fails with the server's words on stderr and no
# answer on stdout.
. "$(dirname "$0")/lib.sh"
for api in $both; do
    mock model <<'END'
{"turns":[{"status":400,"body":{"type":"error","error":{"type":"invalid_request_error","message":"bad thing"}}}]}
END
    use $api
    run "$api" ask x
    code_is 1
    is out ''
    holds err 'bad thing'
    good model 1
done
done_testing
