#!/bin/bash
# A server that asks for a pause of three seconds is not asked before; the user sees the wait
# and can end it.
. "$(dirname "$0")/lib.sh"
pause() { # between the two requests, in ms
    sed -n 's/.*"violations".*"t":\([0-9]*\)}$/\1/p' model.log | paste -sd' ' |
        awk '{ print $2 - $1 }'
}
for api in $both; do
    for header in '"retry-after":"3"' '"retry-after-ms":"3000"' '"retry-after":"DATE"'; do
        date=$(TZ=GMT LC_ALL=C date -d '+5 seconds' '+%a, %d %b %Y %H:%M:%S GMT')
        header=${header/DATE/$date}
        # One way is enough for the second format.
        [ "$api $header" != 'openai-completions "retry-after":"3"' ] || continue
        [ "$api $header" != 'openai-completions "retry-after-ms":"3000"' ] || continue
        mock model <<END
{"turns":[
    {"status":429,"headers":{$header},"body":{"type":"error","error":{"type":"rate_limit_error","message":"slow"}}},
    {"blocks":[{"text":"ok"}]}
]}
END
        use $api
        run "$api, $header" ask --no-session --mode json x
        code_is 0
        holds out '"text":"ok"'
        holds out '"type":"auto_retry_start"'
        good model 2
        [ "$(pause)" -ge 2900 ] || fail "$name: asked again after $(pause) ms"
        [ "$(pause)" -le 9000 ] || fail "$name: asked again after $(pause) ms"
    done
done

mock model <<<'{"turns":[{"status":429,"headers":{"retry-after":"30"}}]}'
use anthropic-messages
start "$pi" -p --model "$model" --no-session x </dev/null
soon grep -q '"answered"' model.log
soon grep -q '30 s' err || fail "the wait is not shown: $(cat err)"
begin=$(date +%s%N)
kill -INT $program
ends 'abort of the wait'
code_is 130
[ $((($(date +%s%N) - begin) / 1000000)) -lt 1000 ] || fail "$name took too long"
good model 1
done_testing
