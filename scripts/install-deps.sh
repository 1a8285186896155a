#!/usr/bin/env bash
# Installs the Debian packages that the tests need, and nothing else.
# Does nothing when all of them are there. Works as root or with sudo, asks no
# question, and keeps the servers that come with packages from starting.
set -euo pipefail

# What the tests need, one a line: the package, and a command that proves it is
# there. This list is the one place; a test that needs a further server adds
# its line here.
needed=(
    "gcc       gcc"                # the race detector links with it
    "libc6-dev /usr/include/stdio.h"
    "git       git"                # CI compares generated files with it
    "redis-server redis-server"    # internal/redistest starts it, for tests and for the fault tour; as a sentinel too
    "nginx     nginx"              # the tests of internal/algorithms ask it and ours the same
    "prometheus prometheus"        # the tests of admin let it scrape
    "prometheus promtool"          # the same check names, units and help with it
)

present() { # a command in PATH, or a file
    case $1 in
    /*) [ -e "$1" ] ;;
    *) command -v "$1" >/dev/null 2>&1 || [ -x "/usr/sbin/$1" ] ;;
    esac
}

missing() {
    local line package proof
    for line in "${needed[@]}"; do
        read -r package proof <<<"$line"
        present "$proof" || echo "$package"
    done
}

fail() {
    echo "install-deps: $*" >&2
    exit 1
}

as_root() {
    if [ "$(id -u)" -eq 0 ]; then
        "$@"
    else
        sudo -n "$@"
    fi
}

# Debian starts a server as soon as its package is installed, on its default
# port. The tests start their own on free ports, so nothing is to start here:
# invoke-rc.d asks this file, and 101 means "not allowed".
policy=/usr/sbin/policy-rc.d
forbid_start() {
    [ -e "$policy" ] && return
    printf '#!/bin/sh\nexit 101\n' | as_root tee "$policy" >/dev/null
    as_root chmod 755 "$policy"
    trap 'as_root rm -f "$policy"' EXIT
}

install() {
    command -v apt-get >/dev/null 2>&1 ||
        fail "these are missing, and there is no apt-get to install them: $*"
    [ "$(id -u)" -eq 0 ] || sudo -n true 2>/dev/null ||
        fail "these are missing, install them as root: apt-get install --no-install-recommends $*"
    forbid_start
    as_root env DEBIAN_FRONTEND=noninteractive apt-get update -qq </dev/null
    as_root env DEBIAN_FRONTEND=noninteractive \
        apt-get install -y -qq -o Dpkg::Use-Pty=0 --no-install-recommends "$@" </dev/null
}

mapfile -t packages < <(missing)
[ "${#packages[@]}" -eq 0 ] && exit 0
echo "install-deps: installing ${packages[*]}"
install "${packages[@]}"
mapfile -t packages < <(missing)
[ "${#packages[@]}" -eq 0 ] || fail "still missing after the installation: ${packages[*]}"
