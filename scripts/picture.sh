#!/usr/bin/env bash
# Draws what stands on a terminal at the end of a program, in its colours:
#
#   scripts/picture.sh 'go run ./cmd/plimsoll demo' > docs/demo.svg
#
# Needs script, of the package bsdutils or util-linux.
set -euo pipefail

record=$(mktemp)
trap 'rm -f "$record"' EXIT
script -qec "stty cols 88 rows 60; $1" "$record" >/dev/null

LC_ALL=C awk '
function max(a, b) { return a > b ? a : b }
function letters(s) { gsub(/[\200-\277]/, "", s); return length(s) } # UTF-8, read byte by byte
function escaped(s) { gsub(/&/, "\\&amp;", s); gsub(/</, "\\&lt;", s); gsub(/>/, "\\&gt;", s); return s }
function span(s) { return s == "" ? "" : "<tspan fill=\"" ink "\"" weight ">" escaped(s) "</tspan>" }
function use(code) {
    if (code == 0) { ink = "#c9d1d9"; weight = "" }
    if (code == 1) { ink = "#ffffff"; weight = " font-weight=\"bold\"" }
    if (code == 2) ink = "#8b949e"
    if (code == 31) ink = "#ff7b72"
    if (code == 32) ink = "#7ee787"
    if (code == 33) ink = "#e3b341"
}
function drawn(s,   out, at) { # colours become spans, all other sequences go
    use(0)
    out = ""
    while (match(s, /\033\[[0-9;?]*[A-Za-z]/)) {
        out = out span(substr(s, 1, RSTART - 1))
        at = substr(s, RSTART + 2, RLENGTH - 3)
        if (substr(s, RSTART + RLENGTH - 1, 1) == "m") use(at + 0)
        s = substr(s, RSTART + RLENGTH)
    }
    return out span(s)
}
/^Script (started|done) on / { next }
{
    gsub(/\r/, "")
    if (match($0, /\033\[[0-9]+A/)) row -= substr($0, RSTART + 2, RLENGTH - 3) # the cursor goes up
    if ($0 ~ /\033\[J/) last = row
    line[++row] = $0
    last = max(last, row)
}
END {
    while (last > 0 && line[last] ~ /^(\033\[[0-9;?]*[A-Za-z])*$/) last--
    for (i = 1; i <= last; i++) {
        plain = line[i]
        gsub(/\033\[[0-9;?]*[A-Za-z]/, "", plain)
        width = max(width, letters(plain))
    }
    step = 19; cell = 8.43
    printf "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"%d\" height=\"%d\" ", width * cell + 40, last * step + 36
    printf "font-family=\"ui-monospace, SFMono-Regular, Menlo, DejaVu Sans Mono, Consolas, monospace\" font-size=\"14\">\n"
    printf "<rect width=\"100%%\" height=\"100%%\" rx=\"8\" fill=\"#0d1117\"/>\n"
    for (i = 1; i <= last; i++)
        printf "<text x=\"20\" y=\"%d\" xml:space=\"preserve\">%s</text>\n", i * step + 14, drawn(line[i])
    print "</svg>"
}' "$record"
