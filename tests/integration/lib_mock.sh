# Model servers for scripts; source it after lib.sh. What is started here is ended here.
: "${PI_MOCK:?}"
started=()
end_started() {
    local code=$? pid
    for pid in "${started[@]}"; do
        kill "$pid" 2>/dev/null
        wait "$pid" || { echo "FAIL a server ended with $?" && code=1; }
    done
    exit $code
}
trap end_started EXIT

# serve NAME OPTION...: starts pi-mock, which logs to NAME.log; its port goes to $port.
serve() {
    rm -f "$1.port" "$1.log"
    "$PI_MOCK" "${@:2}" --port-file "$1.port" --log "$1.log" &
    started+=($!)
    soon test -s "$1.port" || fail "the server $1 did not start"
    port=$(cat "$1.port")
}

# mock NAME: a model server with the script that comes on stdin (tests/support/mock.md).
mock() {
    cat >"$1.json"
    serve "$1" --script "$1.json"
}

# requests NAME: how many requests for an answer it got.
requests() { grep -c '"event":"request".*"violations"' "$1.log"; }

# good NAME COUNT: it got so many, and refused none.
good() {
    [ "$(requests "$1")" -eq "$2" ] || fail "$name: $1 got $(requests "$1") requests, not $2"
    ! grep -q '"violations":\[{' "$1.log" ||
        fail "$name: $1 refused: $(grep -o '"violations":\[{.*' "$1.log" | head -c 600)"
}

# use API [BASE [MORE [PROVIDER]]]: the model mock/m is a model of the last server, or at BASE;
# MORE are members of the model.
use() {
    local base=${2:-http://127.0.0.1:$port}
    [ "$1" = anthropic-messages ] || base=$base/v1
    mkdir -p "$HOME/.pi/agent"
    model=${4:-mock}/m
    printf '{"providers":{"%s":{"baseUrl":"%s","api":"%s","apiKey":"k-123","models":[%s]}}}\n' \
        "${model%/m}" "$base" "$1" \
        '{"id":"m","input":["text","image"],"maxTokens":8192'"${3:+,$3}"'}' \
        >"$HOME/.pi/agent/models.json"
}

# ask ARGUMENT...: a prompt to that model.
ask() { "$pi" -p --permissions yolo --model "$model" "$@" </dev/null; }

# quick_retries: pauses of a few milliseconds.
quick_retries() {
    mkdir -p "$HOME/.pi/agent"
    echo '{"retry":{"baseDelayMs":10}}' >"$HOME/.pi/agent/settings.json"
}
