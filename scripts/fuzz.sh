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

output=$(mktemp)
trap 'rm -f "$output"' EXIT

# The fuzzer of Go counts its own deadline as a failure when it comes while an
# input runs, on a busy machine. A fault comes with its input.
run() { # package, target
    go test -run '^$' -fuzz "^$2\$" -fuzztime "$budget" "$1" </dev/null 2>&1 | tee "$output" && return
    grep -qE 'Failing input written|failure while testing seed corpus' "$output" && return 1
    grep -qE '^ *context deadline exceeded$' "$output" || return 1
    echo "fuzz: $2 ended at its deadline, within an input"
}

count=0
while read -r package target; do
    echo "fuzz: $package $target for $budget"
    run "$package" "$target"
    count=$((count + 1))
done <<<"$targets"
echo "fuzz: $count targets, no fault found"
