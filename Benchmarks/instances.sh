#!/usr/bin/env bash
# Prints how long a gateway of a fleet takes to start with many instances, its memory, and what one change costs then.
#
#   Benchmarks/instances.sh [COUNT]     100,000 by default
#
# On a PostgreSQL of its own. The rows are copies of one instance's, made by FleetRows, which is built for debugging.
if [ -z "${SALLYPORT_TEST_DATABASE:-}" ]; then
    exec "$(dirname "${BASH_SOURCE[0]}")/../Tests/Scripts/with-postgresql" "$0" "$@"
fi
source "$(dirname "${BASH_SOURCE[0]}")/common.sh"
work_anywhere
count=${1:-100000}
root=$here/..
if [ -z "${SALLYPORT_BENCH_PROGRAM:-}" ]; then
    swift build --package-path "$root" --scratch-path "$root/.build-release" -c release --product sallyport >&2
    SALLYPORT_BENCH_PROGRAM=$(swift build --package-path "$root" --scratch-path "$root/.build-release" -c release \
        --show-bin-path)/sallyport
fi
swift build --package-path "$root" --product FleetRows >&2
rows=$(swift build --package-path "$root" --show-bin-path)/FleetRows
program=$SALLYPORT_BENCH_PROGRAM

milliseconds() { echo $(($(date +%s%N) / 1000000)); }
resident() { awk '/^VmRSS/ { print int($2 / 1024) }' "/proc/$1/status"; }
peak() { awk '/^VmHWM/ { print int($2 / 1024) }' "/proc/$1/status"; }

run_gateway() {
    local start
    start=$(milliseconds)
    : >"$work/ready"
    "$program" gateway run --data "$work/gateway" --control 127.0.0.1:0 --relay 127.0.0.1:0 --json \
        >"$work/ready" 2>"$work/gateway.log" &
    gateway=$!
    started+=("$gateway")
    until grep -q ready "$work/ready"; do
        kill -0 "$gateway" 2>/dev/null || { cat "$work/gateway.log" >&2; exit 1; }
        sleep 0.005
    done
    took=$(($(milliseconds) - start))
}

end_gateway() {
    kill "$gateway"
    wait "$gateway" || true
}

"$program" gateway init --data "$work/gateway" --name localhost --database "$SALLYPORT_TEST_DATABASE" \
    >"$work/init.log" 2>&1 || { cat "$work/init.log" >&2; exit 1; }
run_gateway
control=$(sed -nE 's/.*"control":"[^"]*:([0-9]+)".*/\1/p' "$work/ready")
{ admin user add bench && admin app add com.example.bench 1.0.0.0 && admin entitle bench com.example.bench 1.0.0.0; } \
    >/dev/null
admin key issue bench com.example.bench --json >"$work/link.json"
python3 "$here/enroll.py" "$work/link.json" "$work" "$control"
instance=$(openssl x509 -in "$work/client.pem" -noout -ext subjectAltName | sed -nE 's|.*/([0-9a-f-]+) *$|\1|p')
# One start after the other, so that what the machine reads from the disk is read.
end_gateway
run_gateway
alone=$took empty=$(resident "$gateway")
end_gateway
"$rows" "$work/gateway" "$count"
run_gateway
echo "start with 1 instance: $alone ms, $empty MiB"
echo "start with $((count + 1)): $took ms ($((took - alone)) ms more), $(resident "$gateway") MiB, at most $(peak "$gateway") MiB"
judge() { [ "$1" -le "$2" ] && echo reached || echo missed; }
echo "    $count instances within 2,000 ms: $(judge $((took - alone)) 2000); within 300 MiB: $(judge "$(peak "$gateway")" 300)"
before=$(awk '{ print $14 + $15 }' "/proc/$gateway/stat")
for _ in $(seq 20); do
    admin block "$instance" >/dev/null
    admin unblock "$instance" >/dev/null
done
after=$(awk '{ print $14 + $15 }' "/proc/$gateway/stat")
echo "40 changes of one instance: $(((after - before) * 1000 / $(getconf CLK_TCK) / 40)) ms of the gateway's CPU each"
