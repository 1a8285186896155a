#!/usr/bin/env bash
# Builds the command twice, the second time from a copy of the tree in another
# folder with an empty build cache, and compares the two files byte by byte.
set -euo pipefail
cd "$(dirname "$0")/.."
[ -d cmd/plimsoll ] || { echo "reproducible: no command yet"; exit 0; }

work=$(mktemp -d)
trap 'chmod -R u+w "$work"; rm -rf "$work"' EXIT
build() { # source folder, output
    (cd "$1" && CGO_ENABLED=0 go build -trimpath -buildvcs=false -o "$2" ./cmd/plimsoll)
}
build . "$work/first"
mkdir "$work/elsewhere"
git archive HEAD | tar -x -C "$work/elsewhere"
GOCACHE="$work/cache" build "$work/elsewhere" "$work/second"
(cd "$work" && sha256sum first second)
cmp "$work/first" "$work/second"
echo "reproducible: both builds are the same bytes"
