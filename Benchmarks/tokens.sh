#!/usr/bin/env bash
# Prints what tokens cost: off-line beside one verification of P-256, and at a gateway on loopback how many it issues and
# verifies, by its own CPU time. Clients are curls that keep their connections; there are as many instances and source
# addresses as the gateway's limits of rate demand.
set -euo pipefail
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
work=$(mktemp -d "${TMPDIR:-/tmp}/sallyport-bench.XXXXXX")
started=()
stop() {
    for process in "${started[@]}"; do kill "$process" 2>/dev/null || true; done
    wait 2>/dev/null || true
    rm -rf "$work"
}
trap stop EXIT

build=(swift build --package-path "$here" -c release)
"${build[@]}" --product TokenTable >&2
"${build[@]}" --product sallyport >&2
bin=$("${build[@]}" --show-bin-path)
sallyport=$bin/sallyport
"$bin/TokenTable"

readonly instances=10 each=200 checks=4000 sources=4
data=$work/gateway
"$sallyport" gateway init --data "$data" --name localhost >/dev/null 2>&1
"$sallyport" gateway run --data "$data" --control 127.0.0.1:0 --relay 127.0.0.1:0 --json >"$work/ready" 2>"$work/gateway.log" &
gateway=$!
started+=("$gateway")
for _ in $(seq 100); do grep -q ready "$work/ready" && break; sleep 0.1; done
control=$(sed -nE 's/.*"control":"[^"]*:([0-9]+)".*/\1/p' "$work/ready")
admin() { "$sallyport" admin "$@" --data "$data"; }
{
    admin user add bench
    admin app add com.example.bench 1.0.0.0
    admin entitle bench com.example.bench 1.0.0.0
} >/dev/null
for number in $(seq "$instances"); do
    mkdir "$work/$number"
    admin key issue bench com.example.bench --json >"$work/$number/link.json"
    python3 "$here/enroll.py" "$work/$number/link.json" "$work/$number" "$control"
done

# measure NAME COUNT COMMAND…: the gateway's CPU for each, and how many a second.
measure() {
    local name=$1 count=$2 before after start end
    shift 2
    before=$(awk '{print $14 + $15}' "/proc/$gateway/stat") start=$(date +%s%N)
    "$@"
    after=$(awk '{print $14 + $15}' "/proc/$gateway/stat") end=$(date +%s%N)
    awk -v n="$name" -v c="$count" -v t="$((after - before))" -v w="$((end - start))" 'BEGIN {
        printf "%s: %.0f µs of the gateway'"'"'s CPU each, %.0f a second of one core; %.0f a second beside their clients\n",
            n, t * 1e4 / c, c / (t / 100), c / (w / 1e9) }'
}
pairs() { # pairs PATH COUNT: curl's configuration, a transfer each.
    for _ in $(seq "$2"); do printf 'url = "https://localhost:%s%s"\noutput = "/dev/null"\n' "$control" "$1"; done
}
issue() {
    local number
    for number in $(seq "$instances"); do
        curl -sSf --cacert "$work/1/ca.pem" --cert "$work/$number/client.pem" --key "$work/$number/client.key" \
            -H 'Content-Type: application/json' --data-binary '{"challenge":"c1","server":"app.example"}' \
            -K <(pairs /v1/auth-tokens "$each")
    done
}
verify() {
    local source
    for source in $(seq "$sources"); do
        curl -sSf --cacert "$work/1/ca.pem" --interface "127.0.0.1$source" -H "X-Good-GD-AuthToken: $token" \
            -K <(pairs /verifyGDAuthToken "$((checks / sources))")
    done
}
token=$(curl -sSf --cacert "$work/1/ca.pem" --cert "$work/1/client.pem" --key "$work/1/client.key" \
    -H 'Content-Type: application/json' --data-binary '{"challenge":"c1","server":"app.example"}' \
    "https://localhost:$control/v1/auth-tokens" | sed -nE 's/.*"token":"([^"]*)".*/\1/p')
sleep 1
measure "tokens issued" "$((instances * each))" issue
measure "tokens verified on-line" "$checks" verify
