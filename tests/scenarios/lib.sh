# What all scenarios need; source it first. See ../integration/lib*.sh.
library=$(dirname "$0")/../integration
. "$library/lib.sh"
. "$library/lib_mock.sh"

# session: the path of the newest session.
session() {
    find "$HOME/.pi/agent/sessions" -name '*.jsonl' -printf '%T@ %p\n' | sort -n |
        sed -n '$s/^[^ ]* //p'
}

# whole_lines FILE [N...]: every line is one object, these numbers excepted.
whole_lines() {
    awk -v bad=" ${*:2} " 'index(bad, " " NR " ") == 0 && !/^{"type":.*}$/ { exit 1 }' "$1" ||
        fail "$name: not a JSON object a line: $1"
    ! grep -q '}{"type"' "$1" || fail "$name: two objects on one line: $1"
}

# message ID PARENT MESSAGE: an entry of a session.
message() {
    local parent=null
    [ -z "$2" ] || parent="\"$2\""
    printf '{"type":"message","id":"%s","parentId":%s,"timestamp":"2026-01-31T12:00:00.000Z","message":%s}\n' \
        "$1" "$parent" "$3"
}
# header: the first line of a session in this folder.
header() {
    printf '{"type":"session","version":3,"id":"01890000-0000-7000-8000-000000000001","timestamp":"2026-01-31T12:00:00.000Z","cwd":"%s"}\n' "$PWD"
}
user() { printf '{"role":"user","content":[{"type":"text","text":"%s"}],"timestamp":1}' "$1"; }
# assistant BLOCKS [STOP]: an answer of the model mock/m.
assistant() {
    printf '{"role":"assistant","content":[%s],"api":"%s","provider":"mock","model":"m","usage":{"input":1,"output":1,"cacheRead":0,"cacheWrite":0,"totalTokens":2,"cost":{"input":0,"output":0,"cacheRead":0,"cacheWrite":0,"total":0}},"stopReason":"%s","timestamp":2}' \
        "$1" "${api:-anthropic-messages}" "${2:-toolUse}"
}
# result ID BLOCKS: what a call of read gave.
result() {
    printf '{"role":"toolResult","toolCallId":"%s","toolName":"read","content":[%s],"isError":false,"timestamp":3}' "$1" "$2"
}
both='anthropic-messages openai-completions'
