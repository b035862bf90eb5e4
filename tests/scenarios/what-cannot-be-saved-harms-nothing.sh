#!/bin/bash
# Settings are never replaced by a part of them, and a folder that cannot be written does not
# keep the agent from working: it says that the session is not saved.
. "$(dirname "$0")/lib.sh"
mock model <<<'{"turns":[{"blocks":[{"text":"ok"}],"repeat":9}]}'
use anthropic-messages
echo '{"defaultThinkingLevel":"low","sessionDir":"/proc/nowhere"}' >"$HOME/.pi/agent/settings.json"
cp "$HOME/.pi/agent/settings.json" before
run 'no folder for sessions' ask x
code_is 0
is out ok
holds err 'not saved'
run 'a model by hand' ask --thinking high x
code_is 0
cmp before "$HOME/.pi/agent/settings.json" || fail "$name: the settings were changed"

# A disk that is full from the first byte on.
echo '{"defaultThinkingLevel":"low"}' >"$HOME/.pi/agent/settings.json"
cp "$HOME/.pi/agent/settings.json" before
mkfifo out.pipe err.pipe
cat out.pipe >out &
copies=$!
cat err.pipe >err &
copies="$copies $!"
(
    trap '' XFSZ
    ulimit -f 0
    "$pi" -p --permissions yolo --model "$model" x </dev/null >out.pipe 2>err.pipe
)
code=$?
# shellcheck disable=SC2086
wait $copies
name='full disk'
code_is 0
is out ok
holds err 'session'
cmp before "$HOME/.pi/agent/settings.json" || fail "$name: the settings were changed"
done_testing
