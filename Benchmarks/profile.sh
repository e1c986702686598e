#!/usr/bin/env bash
# Draws a flame graph and prints the counts for each operation, of a row of the table or of a program of one's own.
#
#   TARGET=ROW[/PEER] Benchmarks/profile.sh
#   PROGRAM=path/to/executable ARGS='…' Benchmarks/profile.sh
#
# OUT is the file that is drawn. OPERATIONS, such as '100 300', are the numbers of operations of two runs, whose difference
# is counted; a program is told the number in SALLYPORT_OPERATIONS. Docs/Performance.md says more.
source "$(dirname "${BASH_SOURCE[0]}")/common.sh"
count_only

# profile TITLE NAME OPERATIONS COMMAND…
profile() {
    python3 "$here/Profile/profile.py" --title "$1" --out "${OUT:-$here/../.build/profiles/$2.svg}" \
        --operations "${OPERATIONS:-$3}" "${@:4}"
}

if [ -n "${PROGRAM:-}" ]; then
    "$here/../Tests/Scripts/dependencies" --check --counts
    eval "arguments=(${ARGS:-})"
    profile "$PROGRAM ${ARGS:-}" "$(basename "$PROGRAM")" "100 300" "$PROGRAM" ${arguments[@]+"${arguments[@]}"}
    exit
fi
python3 "$here/Profile/rows.py" check "${TARGET:-}"
"$here/../Tests/Scripts/dependencies" --check --counts
servers=$(python3 "$here/Profile/rows.py" needs "$TARGET")
work_anywhere
make_certificate
products=(Rows)
if [[ $servers == *sockets* ]]; then products+=(SocketServer); fi
if [ -n "$servers" ]; then products+=(sallyport); fi
build "${products[@]}"
if [ -n "$servers" ]; then start_gateway; fi
if [[ $servers == *web* ]]; then start_web; allow_web; fi
if [[ $servers == *sockets* ]]; then start_sockets; allow_sockets; fi
write_setting
profile "$(python3 "$here/Profile/rows.py" title "$TARGET")" "${TARGET//\//-}" \
    "$(python3 "$here/Profile/rows.py" operations "$TARGET")" "$bin/Rows" "$TARGET"
