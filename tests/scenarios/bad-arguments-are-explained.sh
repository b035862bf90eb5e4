#!/bin/bash
# Empty, wrong and torn arguments each give a short error of their own, and nothing is run.
. "$(dirname "$0")/lib.sh"
printf 'a\n' >a.txt
torn='{"path":"a.txt","edits":[{"oldText":"a'
mock model <<END
{"turns":[
    {"blocks":[{"call":{"name":"edit","arguments":{}}}]},
    {"check":{"/messages/-1/content/0/is_error":true},"expect":["path","edits"],"blocks":[
        {"call":{"name":"edit","argumentsText":$(json_string "$torn")}}]},
    {"check":{"/messages/-1/content/0/is_error":true},"expect":["JSON","${#torn} bytes"],"blocks":[
        {"call":{"name":"edit","argumentsText":"edit a.txt"}}]},
    {"check":{"/messages/-1/content/0/is_error":true},"expect":["JSON","edit a.txt"],"blocks":[
        {"call":{"name":"write","argumentsText":"{\"path\":\"a.txt\",\"content\":\"half"}}],
     "stopReason":"length"},
    {"check":{"/messages/-1/content/0/is_error":true},"expect":"cut off","blocks":[{"text":"done"}]}
]}
END
use anthropic-messages
run explained ask x
code_is 0
is out 'done'
is a.txt a
good model 5
done_testing
