#!/usr/bin/env bash
# Counts what some rows of the table take for each operation: instructions, allocations, hops and system calls, under
# valgrind. Compares them with the ceilings in ceilings.json, and fails where one is above.
#
#   Benchmarks/counts.sh [--build | --built] [--without-kerberos] [--update] [--steady] [ROW/PEER…]
#
# `--build` only builds, `--built` takes what that has built, `--update` writes today's figures as ceilings. `--steady`
# compares what hardly depends on the machine and on what else runs there. `--without-kerberos` builds Sallyport without
# that trait, and fails if krb5 is linked all the same: no row uses it, so that one build shows both.
source "$(dirname "${BASH_SOURCE[0]}")/common.sh"
count_only
only_build='' products=(Rows SocketServer sallyport) options=()
while [[ ${1:-} == --* ]]; do
    case "$1" in
        --build) only_build=1 ;;
        --built) products=() ;;
        --without-kerberos) export SALLYPORT_BENCH_KERBEROS=0 ;;
        --update | --steady) options+=("$1") ;;
        *) echo "counts.sh has no option $1" >&2 && exit 64 ;;
    esac
    shift
done
build ${products[@]+"${products[@]}"}
if [ "${SALLYPORT_BENCH_KERBEROS:-}" = 0 ] && readelf -d "$bin/Rows" | grep 'NEEDED.*krb5' >&2; then
    echo "Without the trait Kerberos, krb5 is linked." >&2
    exit 1
fi
[ -z "$only_build" ] || exit 0
work_anywhere
make_certificate
start_web
start_gateway
allow_web
start_sockets
allow_sockets
write_setting
python3 "$here/Profile/counts.py" measure ${options[@]+"${options[@]}"} "$bin/Rows" "$@"
