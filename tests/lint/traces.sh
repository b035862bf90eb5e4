#!/bin/sh
# usage: traces.sh [ROOT]
# Nothing unfinished and nothing of the machine that it was written on.
. "$(dirname "$0")/sources.sh"

bad=0
# Binary files and the build trees are left out.
search() {
    grep -rnIE --exclude-dir=.git --exclude-dir=build --exclude-dir=node_modules \
        --exclude=LICENSE --exclude=traces.sh --exclude=selftest.sh "$1" .
}
# forbid WHAT PATTERN
forbid() {
    found=$(search "$2") || return 0
    echo "$1:"
    echo "$found" | cut -c 1-200
    bad=1
}
literal() {
    printf %s "$1" | sed 's/[][\.*^$(){}?+|]/\\&/g'
}

forbid "unfinished" '\b(TODO|FIXME|XXX|HACK)\b'
forbid "conflict left over" '^(<<<<<<<|>>>>>>>|=======)( |$)'
forbid "path out of the tree" '\.\./shared'
here=$(pwd -P)
forbid "path of this checkout" "$(literal "$here")/"
case $(dirname "$here") in
/ | /tmp | /home | /root | /srv | /opt | /usr/src | /var/tmp) ;;
*) forbid "path of this machine" "$(literal "$(dirname "$here")")/" ;;
esac
home=$(getent passwd "$(id -u)" 2>/dev/null | cut -d: -f6)
[ "${home:-/}" = / ] || forbid "home of a user" "(^|[^A-Za-z0-9_.-])$(literal "$home")/"

# Addresses on the net: only those that everybody can reach, or nobody.
hosts=$(search 'https?://[A-Za-z0-9]' | grep -vE \
    'https?://([a-z:@]+@)?([A-Za-z0-9-]+\.)*(localhost|127\.0\.0\.1|192\.168\.0\.1|example\.(com|org|net)|[A-Za-z0-9-]+\.(test|invalid)|github\.com|gnu\.org|w3\.org|neovim\.io|json-schema\.org|keepachangelog\.com|semver\.org|anthropic\.com|openai\.com|googleapis\.com|openrouter\.ai|x\.ai|deepseek\.com|mistral\.ai|groq\.com|moonshot\.(ai|cn)|z\.ai|cerebras\.ai|together\.(ai|xyz)|fireworks\.ai|huggingface\.co|a|c|e|h|x)([:/"'"'"' )<>.,%?#`\\]|$)')
if [ -n "$hosts" ]; then
    echo "address on the net that is not in the list of traces.sh:"
    echo "$hosts" | cut -c 1-200
    bad=1
fi
exit $bad
