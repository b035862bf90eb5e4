#!/bin/bash
# Going on with sessions: which one, where, and what the model gets to see.
. "$(dirname "$0")/lib.sh"
: "${PI_PTY:?}"
sessions=$HOME/.pi/agent/sessions

answer() { "$pi" -p --permissions yolo --model "replay:$OLDTURNS" "$@" </dev/null; }
folder_of() { printf '%s/--%s--' "$sessions" "$(printf %s "${1#/}" | tr '/:\\' '---')"; }
count() { find "$sessions" -name '*.jsonl' | wc -l; }

mkdir a b
cd a || exit 1
printf 'only in a\n' >own.txt
turns "$(text 'one')" "$(text 'two')" "$(text 'three')" "$(text 'four')" "$(text 'five')"
OLDTURNS=$PWD/turns.json

# -- a new one, and the newest --

run 'nothing to go on with' answer -c first
code_is 0
is out one
holds err 'this is a new one'
file=$(echo "$(folder_of "$PWD")"/*.jsonl)
[ -f "$file" ] || fail "there is no session in $(folder_of "$PWD")"
[ "$(stat -c %a "$file")" = 600 ] || fail "the session's mode is $(stat -c %a "$file")"
[ "$(stat -c %a "$sessions")" = 700 ] || fail 'the folder of sessions is open to others'
id=${file##*_}
id=${id%.jsonl}

run 'go on' answer --continue second
code_is 0
is out two
is err ''
[ "$(count)" -eq 1 ] || fail 'a second session was begun'

run new answer other
is out one
[ "$(count)" -eq 2 ] || fail 'there is no second session'
touch -d '1 hour ago' "$file"
run 'the newest one' answer -c again
is out two
touch -d '1 minute' "$file"
run 'the one that is newest now' answer -c again
is out three

# -- by id and path --

run 'by id' answer --session "$id" x
is out four
run 'by path' answer --session "$file" x
is out five
run 'unknown id' answer --session nosuch x
code_is 1
holds err 'no session has an id that begins with nosuch'
run 'ambiguous id' answer --session "${id%%-*}" x
[ "$code" -eq 0 ] || holds err 'several sessions'
run 'a path that is not there' answer --session ./mine.jsonl x
code_is 0
is out one
run 'and then is' answer --session mine.jsonl x
is out two
run 'two ways' answer -c --session "$id" x
code_is 2
holds err 'exclude each other'

# -- names and the list --

run name answer --session "$id" --name 'the first' --mode json x
code_is 1
grep -qF "\"id\":\"$id\"" <(head -1 out) || fail "header: $(head -1 out)"
run 'no terminal' alone "$pi" -p --resume --model "replay:$OLDTURNS" x
code_is 1
holds err --continue
holds err 'the first'
[ "$(grep -cF -- "$id" err)" -eq 1 ] || fail "list: $(cat err)"
turns "$(text one)" "$(text two)" "$(text three)" "$(text four)" "$(text five)" "$(text six)" "$(text seven)"
number=$(grep -F -e '(' err | grep -nF 'the first' | cut -d: -f1)
export TERM=xterm
run picker "$PI_PTY" wait 'Number' send '99\n' wait 'from 1 to' send "$number\n" -- \
    "$pi" -p --resume --permissions yolo --model replay:turns.json x
code_is 0
holds out seven
holds out 'the first'
run 'picker left' "$PI_PTY" wait 'Number' send '\n' -- "$pi" -p -r --model replay:turns.json x
code_is 1

# -- the session's directory --

turns "$(text one),$(tool bash '{"command":"pwd"}'),$(tool read '{"path":"own.txt"}')" "$(text ready)" \
    "$(text three)" "$(text four)" "$(text five)" "$(text six)"
run 'in a' answer --session ./where.jsonl x
mv turns.json "$OLDTURNS.2" && OLDTURNS=$OLDTURNS.2
rm where.jsonl
cd ../b || exit 1
cat >../a/where.jsonl <<END
{"type":"session","version":3,"id":"0197","timestamp":"2026-01-31T12:00:00.000Z","cwd":"${PWD%/b}/a"}
END
run 'from b' answer --session ../a/where.jsonl --mode json x
code_is 0
holds out "${PWD%/b}/a\\n"
holds out 'only in a'
holds out 'belongs to'
mv ../a ../gone
run 'directory gone' answer --session ../gone/where.jsonl x
code_is 1
holds err "${PWD%/b}/a is not there any more"
ln -s gone ../a
run 'a link to where it went' answer --session ../a/where.jsonl x
code_is 0

# -- nothing is kept --

before=$(count)
run 'no session' answer --no-session x
code_is 0
"$pi" tool bash '{"command":"true"}' >out 2>err
"$pi" --show-prompt >out
[ "$(count)" -eq "$before" ] || fail 'a session was begun'
run 'another folder' answer --session-dir ../flat x
code_is 0
run 'and found there' answer --session-dir ../flat -c x
code_is 0
[ "$(find ../flat -name '*.jsonl' | wc -l)" -eq 1 ] || fail "flat: $(ls ../flat)"
[ "$(count)" -eq "$before" ] || fail 'a session was begun in the usual place'
PI_CODING_AGENT_SESSION_DIR=$PWD/env run 'folder of the environment' answer x
[ "$(find env -name '*.jsonl' | wc -l)" -eq 1 ] || fail 'no session in the folder of the environment'
mkdir -p "$HOME/.pi/agent"
printf '{"sessionDir":"setting"}' >"$HOME/.pi/agent/settings.json"
run 'folder of the settings' answer x
[ "$(find setting -name '*.jsonl' | wc -l)" -eq 1 ] || fail 'no session in the folder of the settings'
rm "$HOME/.pi/agent/settings.json"
done_testing
