#!/usr/bin/env bash
# Starts nginx and a gateway on loopback, enrols a key, and prints the table. Arguments go to the table.
# With --regression it runs the benchmarks of the benchmark tool instead, whose arguments follow (`baseline update main`).
source "$(dirname "${BASH_SOURCE[0]}")/common.sh"
work_anywhere
build Table sallyport
make_certificate
start_web
start_gateway
allow_web
write_setting
if [[ ${1:-} == --regression ]]; then
    shift
    swift package --package-path "$here" --disable-sandbox benchmark "$@"
    exit
fi
"$bin/Table" "$SALLYPORT_BENCH_SETTING" "$@"
