#!/usr/bin/env bash
# Draws what a terminal shows as a picture: picture.sh < text > picture.svg.
# docs/demo.svg is: go run ./cmd/plimsoll demo | scripts/picture.sh
set -euo pipefail

LC_ALL=C awk '
function escaped(s) { gsub(/&/, "\\&amp;", s); gsub(/</, "\\&lt;", s); gsub(/>/, "\\&gt;", s); return s }
function colour(s) {
    if (s ~ /^ *critical/) return "#7ee787"
    if (s ~ /✗|FAIL/) return "#ff7b72"
    if (s ~ /^(Verdict|At |Back |Offered |requests in time)/) return "#ffffff"
    if (s ~ /^ *(high|normal|low|all)  /) return "#c9d1d9"
    return "#8b949e"
}
function max(a, b) { return a > b ? a : b }
function letters(s) { return length(s) - gsub(/[\200-\277]/, "", s) } # UTF-8, read byte by byte
{
    sub(/\r$/, ""); gsub(/\033\[[0-9;?]*[A-Za-z]/, ""); line[NR] = $0
    width = max(width, letters($0))
}
END {
    step = 19; cell = 8.43
    printf "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"%d\" height=\"%d\" font-family=\"ui-monospace, SFMono-Regular, Menlo, DejaVu Sans Mono, Consolas, monospace\" font-size=\"14\">\n", width * cell + 40, NR * step + 36
    printf "<rect width=\"100%%\" height=\"100%%\" rx=\"8\" fill=\"#0d1117\"/>\n"
    for (i = 1; i <= NR; i++)
        if (line[i] != "")
            printf "<text x=\"20\" y=\"%d\" fill=\"%s\" xml:space=\"preserve\">%s</text>\n", i * step + 14, colour(line[i]), escaped(line[i])
    print "</svg>"
}'
