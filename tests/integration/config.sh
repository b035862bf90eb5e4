#!/bin/bash
# Models, keys and settings as the user configured them, against servers that look closely.
. "$(dirname "$0")/lib.sh"
. "$(dirname "$0")/lib_mock.sh"

agent=$HOME/.pi/agent
mkdir -p "$agent"
# models: models.json comes on stdin.
models() { cat >"$agent/models.json"; }
# ask OPTION...: one prompt without a terminal.
ask() { alone "$pi" -p "$@" hello; }
# says TEXT: the last answer.
says() { code_is 0 && is out "$1"; }
turns_of() { printf '{"blocks":[{"text":"%s"}]},' "$@"; }

# -- nothing is configured
run 'no key' ask
code_is 1
is out ''
for way in ANTHROPIC_API_KEY --list-models "$agent/auth.json" Ollama 'replay:FILE'; do
    holds err "$way"
done
run 'no model of that name' ask --model nosuch
code_is 1
holds err 'no model "nosuch"'
run 'no key for the model' ask --model opus
code_is 1
holds err 'no key for anthropic: set ANTHROPIC_API_KEY'
run 'no such provider' ask --provider nosuch
code_is 1
holds err 'no provider "nosuch"; there are anthropic, openai'
run 'bad level' ask --thinking much
code_is 2
holds err 'no thinking level "much"; there are off, minimal, low, medium, high and xhigh'
run 'key for nobody' ask --api-key abc
code_is 2
holds err 'without a provider or a model'
run 'nothing to list' "$pi" --list-models
code_is 1
is out ''
holds err 'without a key: anthropic (ANTHROPIC_API_KEY), openai (OPENAI_API_KEY)'
holds err 'no model can be asked'

# -- a model server of the user
mock chat <<END
{"turns": [$(turns_of one two three four five six seven eight nine ten)
    {"status": 401, "body": {"error": {"message": "Bad key: sk-very-secret-key"}}},
    {"blocks": [{"call": {"name": "bash", "arguments": {"command": "env"}}}]},
    $(turns_of done) {"repeat": 1000, "blocks": [{"text": "more"}]}]}
END
models <<END
{   // a comment
    "providers": {
        "box": {
            "baseUrl": "http://127.0.0.1:$port/v1", "api": "openai-completions",
            "apiKey": "BOX_SECRET",
            "headers": {"X-Team": "red", "X-Made": "!echo made"},
            "models": [
                {"id": "wide:8b", "name": "Wide Model", "contextWindow": "much"},
                {"name": "without id"},
                {"id": "tiny", "contextWindow": 300},
            ],
        },
    },
}
END
export BOX_SECRET=sk-very-secret-key
run 'first that has a key, mistakes told' ask --model wide
says one
holds err "$agent/models.json: line 8: provider \"box\": model \"wide:8b\": contextWindow must be a number of tokens; it is ignored"
holds err "$agent/models.json: line 9: provider \"box\": \"id\" is missing"
holds chat.log 'Bearer sk-very-secret-key'
holds chat.log '"x-team":"red"'
holds chat.log '"x-made":"made"'
holds chat.log '"model":"wide:8b"'
sed -i -e 's/"much"/90000/' -e '/without id/d' "$agent/models.json"
run 'provider and id' ask --model box/wide:8b
says two
is err ''
run 'provider alone, level' ask --provider box --model 'wide model:high'
says three
run 'option before the file' ask --model wide --api-key sk-option-key
says four
holds chat.log 'Bearer sk-option-key'
printf '{"box": {"type": "api_key", "key": "!printf sk-from-; echo command"}}' >"$agent/auth.json"
chmod 644 "$agent/auth.json"
run 'auth.json before models.json' ask --model wide
says five
holds err 'auth.json can be read by others: protect it with chmod 600'
holds chat.log 'Bearer sk-from-command'
chmod 600 "$agent/auth.json"
run 'an id that nobody knows' ask --model box/strange
says six
holds err 'pi does not know the model strange of box'
holds chat.log '"model":"strange"'
rm "$agent/auth.json"

# -- settings and sessions
echo '{"defaultProvider": "box", "defaultModel": "wide", "defaultThinkingLevel": "loud"}' >"$agent/settings.json"
run 'default of the settings' ask
says seven
holds err 'settings.json: line 1: defaultThinkingLevel must be "off", "minimal", "low"'
echo '{"defaultProvider": "anthropic", "defaultModel": "opus"}' >"$agent/settings.json"
run 'default without a key' ask
says eight
holds err 'box/wide:8b is used instead'
rm "$agent/settings.json"
run 'session keeps its model' ask --continue --model wide:8b
says nine
run 'session goes on with it' ask --continue
says ten
lacks err 'instead'
[ "$(grep -c 'wide:8b' chat.log)" -ge 6 ] || fail "$name: the model was not restored"

# -- secrets
export PI_LOG=$PWD/pi.log
run 'a server that repeats the key' ask --model wide
code_is 1
holds err 'Bad key: [key]'
lacks err sk-very-secret-key
run 'a command looks around' ask --model wide
says done
for file in out err pi.log; do
    lacks "$file" sk-very-secret-key
done
! grep -rqF sk-very-secret-key "$agent/sessions" || fail "$name: the key is in a session"
run 'pi tool looks around' "$pi" tool bash '{"command": "env"}'
lacks out sk-very-secret-key
unset PI_LOG
before=$(requests chat)
BOX_SECRET=$'sk-two\nlines' run 'a key of two lines' ask --model wide
code_is 1
holds err 'the apiKey of provider "box" in models.json holds a line break'
lacks err sk-two
BOX_SECRET= run 'a variable that is empty' ask --model wide
code_is 1
holds err 'is the variable BOX_SECRET, which is not set or empty'
OPENAI_API_KEY=$'sk-abc\r' run 'a key with a control character' ask --model gpt-5.5
code_is 1
holds err 'the variable OPENAI_API_KEY holds a line break'
sed -i 's/"BOX_SECRET"/"!sleep 60"/' "$agent/models.json"
start setsid -w "$pi" -p --model wide hello
sleep 0.5
kill -INT "$(pgrep -P "$program" -x pi || echo "$program")"
ends 'abort while the command for the key runs'
code_is 130
sed -i 's/"!sleep 60"/"!echo secret; exit 3"/' "$agent/models.json"
run 'a command that fails' ask --model wide
code_is 1
holds err 'the command for the apiKey of provider "box" in models.json failed with exit code 3'
sed -i 's/"!echo secret; exit 3"/"BOX_SECRET"/' "$agent/models.json"

# -- the window
run 'a prompt that does not fit' ask --model tiny
code_is 1
holds err 'does not fit into the context window of tiny: it takes at least'
holds err 'the window holds 300'
holds err 'Nothing was sent'
[ "$(requests chat)" -eq "$before" ] || fail "$name: something was sent"

# -- the list
run list "$pi" --list-models
code_is 0
holds out 'provider  model    context  max-out  thinking  images'
holds out 'box       wide:8b  90K      16K      no        no'
holds out 'box       tiny     300      16K      no        no'
lacks out claude
run 'list with a query' env ANTHROPIC_API_KEY=k "$pi" --list-models haiku 4
code_is 0
holds out 'claude-haiku-4-5'
lacks out opus
is err ''
run 'list as JSON' "$pi" --mode json --list-models tiny
code_is 0
holds out '{"type":"model_list","models":[{"id":"tiny","name":"tiny","api":"openai-completions","provider":"box"'
holds out '"available":true'
lacks out X-Team
lacks out secret

# -- servers on this machine
mock local <<END
{"keyless": true, "turns": [$(turns_of found again other)],
 "routes": {
    "GET /v1/models": {"data": [{"id": "embed"}, {"id": "cold"}, {"id": "warm"}]},
    "GET /api/ps": {"models": [{"name": "warm", "context_length": 20000}]},
    "POST /api/show": {"capabilities": ["completion", "thinking"], "model_info": {"x.context_length": 40000}}}}
END
models <<END
{"providers": {
    "ollama": {"baseUrl": "http://127.0.0.1:$port/v1"},
    "llama.cpp": {"baseUrl": "http://127.0.0.1:9/v1"},
    "lmstudio": {"baseUrl": "http://127.0.0.1:9/v1"},
    "vllm": {"baseUrl": "http://127.0.0.1:9/v1"}}}
END
export PI_OFFLINE=
run 'list of a local server' "$pi" --list-models
code_is 0
holds out 'ollama    warm   20K      5K       yes       no'
holds out 'ollama    cold   40K      10K      yes       no'
run 'nothing but a local server' ask
says found
holds local.log '"model":"warm"'
run 'a model of a local server' ask --model cold
says again
run 'a provider that is a local server' ask --provider ollama --model embed
says other
run 'a model that it lacks' ask --model ollama/nosuch
code_is 1
holds err 'Ollama has no model "nosuch"; it has warm, embed, cold'
run 'a server that is not there' ask --provider vllm
code_is 1
holds err 'vLLM does not answer at http://127.0.0.1:9/v1; start it'
export PI_OFFLINE=1

# -- files that are no files of models
rm "$agent/models.json" && mkdir "$agent/models.json"
run 'models.json is a folder' env OPENAI_API_KEY=k "$pi" --list-models gpt
code_is 0
holds out gpt-5.5
holds err directory
rmdir "$agent/models.json"
echo '{"providers": {"box": {"baseUrl": "http://127.0.0.1/" "api": 1}}}' >"$agent/models.json"
run 'models.json with a typing error' env OPENAI_API_KEY=k "$pi" --list-models gpt
code_is 0
holds out gpt-5.5
holds err 'models.json: line 1, column 55: '
{
    printf '{"providers":{"box":{"baseUrl":"http://127.0.0.1:9/v1","api":"openai-completions","apiKey":"k","models":['
    seq 10000 | sed 's/.*/{"id":"model-&","reasoning":true,"cost":{"input":1}},/'
    printf ']}}}'
} >"$agent/models.json"
run 'ten thousand models' timeout 10 "$pi" --list-models model-99
code_is 0
[ "$(wc -l <out)" -eq 112 ] || fail "$name: $(wc -l <out) lines"

# -- what needs no models does not read them
if command -v strace >/dev/null; then
    for args in --version --help; do
        strace -f -e trace=openat -o trace "$pi" $args >out 2>err
        lacks trace models.json
    done
fi
done_testing
