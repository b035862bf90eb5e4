#!/bin/bash
# What is piped in and the prompt both reach the model; no input is fine; bytes that are not
# UTF-8 are replaced.
. "$(dirname "$0")/lib.sh"
mock model <<'END'
{"turns":[
    {"expect":["data\ufffd","sum up"],"blocks":[{"text":"one"}]},
    {"check":{"/messages/0/content/0/text":"hi","/messages/1":null},"blocks":[{"text":"two"}]}
]}
END
use anthropic-messages
printf 'data\xff' >input
run piped sh -c '"$0" -p --no-session --model "$1" "sum up" <input' "$pi" "$model"
code_is 0
is out one
run 'nothing piped' sh -c '"$0" -p --no-session --model "$1" hi </dev/null' "$pi" "$model"
code_is 0
is out two
good model 2
done_testing
