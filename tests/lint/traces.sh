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

# Where the packages of this machine come from, and hosts that only its network knows.
forbid "address of a package source" \
    'https?://[^/ ]*(registry|mirror|artifact|nexus|pypi|npmjs)[a-z0-9-]*[./:]'
forbid "address in a private network" \
    'https?://([A-Za-z0-9-]+\.)+(internal|lan|local|corp|intra|home)([:/]|$|[^A-Za-z0-9.-])'
exit $bad
