#!/bin/bash
# The stream ends in the middle of a call's arguments: the call is not run, and the answer is
# asked for again.
. "$(dirname "$0")/lib.sh"
quick_retries
for api in $both; do
    for how in clean fin reset; do
        for events in 4 5 6; do
            mock model <<END
{"turns":[
    {"blocks":[{"text":"let me"},{"call":{"name":"bash","arguments":{"command":"touch ran"}}}],
     "chunk":6,"cut":{"how":"$how","events":$events}},
    {"absent":"touch","blocks":[{"text":"recovered"}]}
]}
END
            use $api
            run "$api, $how, $events" ask --no-session x
            code_is 0
            is out recovered
            good model 2
            [ ! -e ran ] || fail "$name: the call was run"
        done
    done
done
done_testing
