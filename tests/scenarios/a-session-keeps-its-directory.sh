#!/bin/bash
# A session that is opened from another directory works in its own.
. "$(dirname "$0")/lib.sh"
mkdir a b
echo 'only in a' >a/own.txt
mock model <<END
{"turns":[
    {"blocks":[{"text":"begun"}]},
    {"holds":"$PWD/a","absent":"$PWD/b","blocks":[{"call":{"name":"bash","arguments":{"command":"pwd"}}},
        {"call":{"name":"read","arguments":{"path":"own.txt"}}}]},
    {"expect":["$PWD/a","only in a"],"absent":"$PWD/b","blocks":[{"text":"done"}]}
]}
END
use anthropic-messages
cd a || exit 1
run begun ask first
code_is 0
cd ../b || exit 1
run resumed ask --session "$(session)" second
code_is 0
is out 'done'
cd ..
good model 3
done_testing
