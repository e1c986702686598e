#!/usr/bin/env bash
# Prints what tokens cost: off-line beside one verification of P-256, and at a gateway on loopback how many it issues and
# verifies, by its own CPU time. Clients are curls that keep their connections; there are as many instances and source
# addresses as the gateway's limits of rate demand.
source "$(dirname "${BASH_SOURCE[0]}")/common.sh"
work_anywhere
build TokenTable sallyport
"$bin/TokenTable"

readonly instances=10 each=200 checks=4000 sources=4
start_gateway
for number in $(seq "$instances"); do enrol "$work/$number"; done

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
