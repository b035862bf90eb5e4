#!/bin/bash
# On a terminal: live text, questions, Ctrl-C.
. "$(dirname "$0")/lib.sh"
: "${PI_PTY:?}"
export TERM=xterm
pty() { "$PI_PTY" "$@"; }

# The screen without the live line's escapes.
screen() { sed 's/\r//g; s/\x1b\[[0-9;]*[mK]//g' out; }

turns "$(text 'first words'),$(tool bash '{"command":"sleep 0.3; echo hi"}')" "$(text "$(printf 'last \033]0;words')")"
run live pty -- "$pi" -p --permissions yolo --model replay:turns.json x
code_is 0
holds out 'first words'
holds out $'\033[32m●\033[0m bash'
holds out '○ bash'
holds out 'last \x1b]0;words'
lacks out $'\033]0;words'

run 'no colour' env NO_COLOR=1 "$PI_PTY" -- "$pi" -p --permissions yolo --model replay:turns.json x
code_is 0
holds out '●'
lacks out $'\033[32m'
run 'dumb terminal' env TERM=dumb "$PI_PTY" -- "$pi" -p --permissions yolo --model replay:turns.json x
code_is 0
lacks out $'\033['

run 'one line' pty wait '> ' send 'hello\n' -- "$pi" --permissions yolo --model replay:turns.json
code_is 0
holds out 'first words'

run 'no line' pty wait '> ' send '\4' -- "$pi" --model replay:turns.json
code_is 2
screen | grep -q '^pi: there is no prompt' || fail "no line: $(screen)"

# Questions. Each command leaves a file.
turns "$(tool bash '{"command":"touch one"}')" "$(tool bash '{"command":"touch two"}')" "$(text done)"
ask() { pty "$@" -- "$pi" -p --model replay:turns.json x; }
run once ask wait 'touch one' wait 'o: ' send 'y\n' wait 'touch two' wait 'o: ' send 'n not now\n'
code_is 0
[ -e one ] || fail 'what was allowed did not run'
[ ! -e two ] || fail 'what was denied did run'
holds out 'not now'
holds out 'done'

rm -f one two
run 'unclear answers' ask wait 'o: ' send 'maybe\n' wait 'y = yes' wait 'o: ' send '\n' wait 'o: ' \
    send 'YES\n' wait 'touch two' wait 'o: ' send '\4'
[ -e one ] && [ ! -e two ] || fail "unclear answers: $(ls)"
# What follows Ctrl-D begins a line of its own.
screen | grep -qF 'o: ●' && fail 'unclear answers: a call on the line of a question'

rm -f one two
turns "$(tool bash '{"command":"touch one"}')" "$(tool bash '{"command":"touch one"}')" \
    "$(tool bash '{"command":"touch two"}')" "$(text done)"
run session ask wait 'o: ' send 's\n' wait 'touch two' wait 'o: ' send 'n\n'
code_is 0
[ "$(screen | grep -c '^? May')" -eq 2 ] || fail 'session: asked again'
[ -e one ] && [ ! -e two ] || fail "session: $(ls)"

# What was typed ahead is no answer.
rm -f one two
turns "$(tool bash '{"command":"touch one"}')" "$(text done)"
run 'typed ahead' ask send 'y\ny\n' wait 'o: ' sleep 300 send 'n\n'
[ ! -e one ] || fail 'typed ahead: it ran'

# Reads and changes inside the directory are not asked about, others are.
mkdir work
outside=$(mktemp -d /var/tmp/pi-test.XXXXXX)
turns "$(tool write '{"path":"in","content":"x"}')" "$(tool read "{\"path\":\"$PWD/turns.json\"}")" \
    "$(tool write "{\"path\":\"$outside/f\",\"content\":\"x\"}")" "$(text done)"
cd work || exit 1
run outside pty wait "$outside/f" wait 'o: ' send 'n\n' -- "$pi" -p --model replay:../turns.json x
[ "$(screen | grep -c '^? May')" -eq 1 ] || fail 'outside: number of questions'
[ -e in ] && [ ! -e "$outside/f" ] || fail 'outside: wrong files'
cd .. && rm -r "$outside"

# Ctrl-C at a question and while a command runs.
turns "$(tool bash '{"command":"touch one"}')" "$(text never)"
run 'Ctrl-C at a question' ask wait 'o: ' send '\3'
code_is 130
screen | grep -qE '^(.C)?pi: aborting' || fail "$name: $(screen | grep aborting)"
[ ! -e one ] || fail 'Ctrl-C at a question: it ran'
lacks out never
turns "$(tool bash '{"command":"echo $$ >pid; sleep 300"}')" "$(text never)"
run Ctrl-C pty wait '○ bash' sleep 300 send '\3' -- "$pi" -p --permissions yolo --model replay:turns.json x
code_is 130
soon gone "$(cat pid)" || fail 'Ctrl-C: the command lives on'

# A question whose text tries to hide something.
turns "$(tool bash '{"command":"echo \u001b[2Khidden\u202e"}')" "$(text done)"
run 'hidden text' ask wait 'o: ' send 'n\n'
holds out '\x1b[2Khidden\u202e'
turns "$(tool bash '{"command":"echo 1\n? May bash look\n  [y]es"}')" "$(text done)"
run 'text that looks like a question' ask wait 'o: ' send 'n\n'
[ "$(screen | grep -c '^? May')" -eq 1 ] || fail 'a command can forge a question'
[ "$(screen | grep -c '^  \[y\]es')" -eq 1 ] || fail 'a command can forge the answers'

# The question appears although stdout is a pipe and stdin a file.
turns "$(tool bash '{"command":"touch three"}')" "$(text done)"
run 'stdout is a pipe' pty wait 'o: ' send 'y\n' -- sh -c '"$1" -p --model replay:turns.json x </dev/null | cat' - "$pi"
[ -e three ] || fail 'stdout is a pipe: not allowed'
rm -f three

# Without a terminal: yolo, and denial when asking was asked for.
run 'no terminal' alone "$pi" -p --model replay:turns.json x </dev/null
code_is 0
[ -e three ] || fail 'no terminal: it did not run'
rm -f three
run 'no terminal but ask' alone "$pi" -p --permissions ask --model replay:turns.json x </dev/null
code_is 0
[ ! -e three ] || fail 'no terminal but ask: it ran'
holds err 'no terminal'
done_testing
