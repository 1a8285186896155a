#!/usr/bin/env bash
# Runs every fuzz target of the tree, one after the other: fuzz.sh [TIME], for
# example fuzz.sh 10s. Ends at the first target that fails.
set -euo pipefail
cd "$(dirname "$0")/.."
budget=${1:-10s}

targets=$({ grep -rHoE --include='*_test.go' --exclude-dir=testdata --exclude-dir=bench \
    '^func Fuzz[A-Za-z0-9_]+' . || true; } | sed -E 's|/[^/]*_test\.go:func | |' | sort -u)
if [ -z "$targets" ]; then
    echo "fuzz: no target found"
    exit 0
fi
count=0
while read -r package target; do
    echo "fuzz: $package $target for $budget"
    go test -run '^$' -fuzz "^${target}\$" -fuzztime "$budget" "$package" </dev/null
    count=$((count + 1))
done <<<"$targets"
echo "fuzz: $count targets, no fault found"
