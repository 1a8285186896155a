#!/usr/bin/env bash
# Runs what gets better with time, for longer than a test run may take: every
# property test with many more cases under the race detector, random scenarios of
# the simulated fleet, then every fuzz target. soak.sh [CASES] [TIME]: cases a property, time a fuzz target.
set -euo pipefail
cd "$(dirname "$0")/.."
cases=${1:-20000}
budget=${2:-2m}

# The flag of rapid exists only in test binaries that import it.
packages=$(go list -f '{{.ImportPath}} {{.TestImports}} {{.XTestImports}}' ./... |
    awk '/pgregory.net\/rapid/ {print $1}')
if [ -n "$packages" ]; then
    # shellcheck disable=SC2086 # a list of packages
    go test -race -count=1 -timeout 2h $packages -rapid.checks="$cases"
fi
# Fleets with faults that nobody thought of, from a seed that differs each time.
go test -count=1 -timeout 2h ./sim -run '^TestRandomScenarios$' -scenarios "$cases" -seed "$(date +%s)"
scripts/fuzz.sh "$budget"
