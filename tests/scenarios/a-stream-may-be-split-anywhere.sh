#!/bin/bash
# However a stream is cut into packets and lines, no character is lost or doubled.
. "$(dirname "$0")/lib.sh"
for api in $both; do
    for habit in '"split":1' '"split":3' '"lineEnd":"crlf","split":1' '"lineEnd":"cr","split":2' \
        '"comments":true,"pings":true' '"multiline":true,"split":1' '"finalBlank":false' \
        '"ascii":true,"split":1' '"framing":"close","split":5'; do
        mock model <<END
{"turns":[
    {"blocks":[{"text":"největší žlutý kůň — dobře 👍"},{"call":{"name":"bash","arguments":{"command":"echo čeština"}}}],"chunk":5,$habit},
    {"expect":"čeština\n","holds":"největší žlutý kůň — dobře 👍","blocks":[{"text":"end"}],$habit}
]}
END
        use $api
        run "$api, $habit" ask --no-session x
        code_is 0
        is out end
        good model 2
    done
done
done_testing
