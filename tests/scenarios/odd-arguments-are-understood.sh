#!/bin/bash
# Keys that a tool does not know are passed over, numbers may be strings, and a tool that
# there is not gives an error that lists those that there are.
. "$(dirname "$0")/lib.sh"
printf 'l1\nl2\nl3\n' >a.txt
for api in $both; do
    mock model <<'END'
{"turns":[
    {"blocks":[{"call":{"name":"read","arguments":{"path":"a.txt","offset":"2","title":"frontmatter","limit":"1"}}}]},
    {"expect":"l2","absent":["l1","l3"],"blocks":[{"call":{"name":"Read_File","arguments":{"path":"a.txt"}}}]},
    {"expect":["Unknown tool","read, bash, edit, write"],"blocks":[{"text":"done"}]}
]}
END
    use $api
    run "$api" ask --no-session x
    code_is 0
    is out 'done'
    good model 3
done
done_testing
