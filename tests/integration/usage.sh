#!/bin/bash
# Options, their mistakes, and what needs no model.
. "$(dirname "$0")/lib.sh"

run version "$pi" --version
code_is 0
is out "pi $(sed -n 's/^#define PI_VERSION "\(.*\)"/\1/p' "$PI_SOURCE_DIR/core/include/pi.h")"
run help "$pi" -p --help
code_is 0
for word in --print --mode --model --tools --permissions --system-prompt \
    --append-system-prompt --no-context-files --show-prompt --help --version --jsonl \
    --restrict 'WITHOUT A TERMINAL IT IS YOLO' 'Exit codes'; do
    holds out "$word"
done

# mistake MESSAGE ARGUMENT...
mistake() {
    message=$1
    shift
    run "pi $*" "$pi" "$@" </dev/null
    code_is 2
    is out ''
    holds err "$message"
}
mistake "unknown option '--foo'" --foo
mistake "unknown option '-x'" -x
mistake "unknown option '--restrict'" --restrict . hello
mistake "value is missing after '--model'" --model
mistake "takes no value '--print=3'" --print=3
mistake "text or json, not 'xml'" --mode xml
mistake "ask or yolo, not 'maybe'" --permissions maybe
mistake "empty value was given to '--tools'" --tools=
mistake "nosuchtool" --show-prompt --tools read,nosuchtool
mistake "there is no prompt" -p --model replay:none
mistake "usage: pi tool" tool
mistake "usage: pi tool" tool read '{}' more
mistake "unknown option '--nope'" tool --nope
mistake "takes its calls from stdin" tool --jsonl read

run 'no model' "$pi" -p hello </dev/null
code_is 1
is out ''
holds err '--model replay:FILE'
run 'unknown model' "$pi" -p --model nosuch hello </dev/null
code_is 1
holds err 'nosuch'

run 'help into a full disk' sh -c '"$1" --help >/dev/full' - "$pi"
code_is 1
run 'version with stdout closed' sh -c '"$1" --version >&-' - "$pi"
code_is 1

echo 'be terse' >own.md
run show-prompt "$pi" --show-prompt --append-system-prompt own.md \
    --append-system-prompt 'and kind' </dev/null
code_is 0
holds out 'be terse'
holds out 'and kind'
holds out "$PWD"
run 'show-prompt with a prompt of its own' "$pi" --show-prompt --system-prompt own.md
holds out 'be terse'
lacks out 'kind'

mkdir -p "$HOME/.pi/agent"
echo '{"steeringMode": 3}' >"$HOME/.pi/agent/settings.json"
run 'a mistake in the settings' "$pi" --show-prompt
code_is 0
holds err steeringMode
run 'a mistake in the settings, tool' "$pi" tool read '{"path":"own.md"}'
code_is 0
holds err steeringMode
rm "$HOME/.pi/agent/settings.json"

run 'a directory that was removed' sh -c 'mkdir gone && cd gone && rmdir ../gone && exec "$1" --show-prompt' - "$pi"
code_is 1
holds err 'the current directory cannot be found'
run 'a directory that cannot be read' sh -c 'mkdir dark && chmod 100 dark && cd dark && exec "$1" --show-prompt' - "$pi"
code_is 0
run 'a log that cannot be written' env PI_LOG=/nowhere/log "$pi" --show-prompt
code_is 1
holds err /nowhere/log
done_testing
