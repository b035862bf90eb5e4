#!/bin/bash
# What goes into the prompt: stdin, @files, words. The events show what arrived.
. "$(dirname "$0")/lib.sh"

turns "$(text ok)"
# prompt ARGUMENT...: the text of the first message, as JSON.
prompt() {
    "$pi" -p --mode json --permissions yolo --model replay:turns.json "$@" >events 2>err
    code=$?
    grep -m 1 '^{"type":"message_start","message":{"role":"user"' events >out
}
# text_is TEXT: TEXT is JSON.
text_is() {
    grep -qF -e "\"text\":\"$1\"" out || fail "$name: the prompt is $(head -c 600 out), not $1; $(cat err)"
}

name=words
prompt fix the 'two  bugs' </dev/null
code_is 0
text_is 'fix the two  bugs'
name=stdin
printf '\nline 1\n  line 2\n\n' | prompt 'sum up'
text_is 'line 1\n  line 2\n\nsum up'
name='stdin alone'
printf 'only this' | prompt
text_is 'only this'
name='empty stdin'
printf ' \n' | prompt hi
text_is hi
name='after --'
prompt -- '- a list' </dev/null
text_is '- a list'

printf 'content\n' >a.txt
printf 'no line end' >'b "x".txt'
name=files
printf 'from the pipe\n' | prompt @a.txt '@b "x".txt' 'compare them'
text_is "from the pipe\\n\\n<file name=\\\"$PWD/a.txt\\\">\\ncontent\\n</file>\\n\\n<file name=\\\"$PWD/b &quot;x&quot;.txt\\\">\\nno line end\\n</file>\\n\\ncompare them"

name='bytes that are not UTF-8'
printf 'data\377\n' | prompt hi
text_is 'data�\n\nhi'
holds err 'stdin is not valid UTF-8'
printf 'caf\351\n' >latin.txt
prompt @latin.txt hi </dev/null
holds out 'caf�'
holds err 'latin.txt is not valid UTF-8'

name='an image without a zero byte'
printf 'GIF89a\1\1\1\1\377\1' >a.gif
prompt @a.gif hi </dev/null
code_is 0
holds out 'The image is left out: it is damaged'

# refused CODE MESSAGE ARGUMENT...
refused() {
    wanted=$1
    message=$2
    shift 2
    name="refused: $message"
    prompt "$@"
    code_is "$wanted"
    is events ''
    holds err "$message"
}
head -c 3000 /dev/zero >zero.bin
refused 1 'zero.bin is binary' @zero.bin hi </dev/null
refused 1 'stdin is binary' hi <zero.bin
refused 1 'missing.txt' @missing.txt hi </dev/null
# Without any zero byte.
printf '%%PDF-1.7\n%%\342\343\317\323\n1 0 obj\n' >a.pdf
refused 1 'a.pdf is binary' @a.pdf hi </dev/null
refused 1 'stdin is binary' hi <a.pdf
mkdir dir
refused 1 'dir' @dir hi </dev/null
mkfifo fifo
refused 1 'fifo' @fifo hi </dev/null
head -c 9000000 /dev/zero | tr '\0' x >big.txt
refused 1 '8 MiB' hi <big.txt
refused 1 'big.txt' @big.txt hi </dev/null
refused 2 'there is no prompt' </dev/null
refused 2 'there is no prompt' ' ' </dev/null

odd=$(printf 'odd\033[31m')
printf 'a\377' >"$odd"
run 'a name with an escape' "$pi" -p --model replay:turns.json "@$odd" </dev/null
holds err 'not valid UTF-8'
lacks err "$(printf '\033')"

# Without the first three descriptors nothing lands in the wrong file.
run 'closed descriptors' sh -c '"$1" -p --model replay:turns.json hi <&- >&- 2>&-' - "$pi"
code_is 1
done_testing
