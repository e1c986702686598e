#!/usr/bin/env bash
# Prints what sockets cost: echo and bulk over TLS by an instance that a gateway activated, beside NIOSSL and OpenSSL in
# C; then 8,000 at once through that gateway (client, gateway and server a process each), what each takes of memory, and
# what one more is answered.
# Needs 17,000 descriptors; with fewer it says so and opens fewer.
source "$(dirname "${BASH_SOURCE[0]}")/common.sh"
work_anywhere
build SocketTable SocketServer sallyport
make_certificate
start_sockets

# A gateway has two descriptors for each; 1,000 are for everything else.
limit=$(ulimit -Hn)
count=8000
if [ "$limit" != unlimited ] && [ "$limit" -lt 17000 ]; then
    count=$(((limit - 1000) / 2))
    echo "only $limit descriptors are allowed, 17,000 are needed for 8,000 sockets: $count are opened"
fi
start_gateway --max-tunnels "$count"
allow_sockets
write_setting
[ "${1:-}" = --many ] || "$bin/SocketTable" "$SALLYPORT_BENCH_SETTING" "${ROUNDS:-5}"

store=$work/store
admin server add "127.0.0.1:$plain_port" --route relay >/dev/null
admin key issue bench com.example.bench >"$work/link"
"$program" activate --link-file "$work/link" --store "$store" >/dev/null 2>&1

resident() { awk '/^VmRSS:/ { print $2 }' "/proc/$1/status"; }
before=($(resident "$gateway") $(resident "$socket_server"))
mkfifo "$work/tell"
"$bin/SocketTable" many "$count" "$store" "127.0.0.1:$plain_port" <"$work/tell" >"$work/many" &
client=$!
started+=("$client")
exec 8>"$work/tell"
await sh -c "grep -q '^one more' '$work/many' || ! kill -0 $client 2>/dev/null"
grep -q '^one more' "$work/many" || { echo "the client ended early" >&2; exit 1; }
after=($(resident "$gateway") $(resident "$socket_server") $(resident "$client"))
read -r _ opened _ took _ idle full <<<"$(sed -n 's/,//; 1p' "$work/many")"
each() { awk "BEGIN { printf \"%.1f\", ($2 - $1) / $count }"; }
echo
printf '%d sockets at once through a gateway, opened in %.0f s:\n' "$count" "$took"
gateway_each=$(each "${before[0]}" "${after[0]}")
echo "  the gateway: $gateway_each KiB each (${before[0]} KiB before, ${after[0]} after)"
echo "  the client: $(each "$idle" "${after[2]}") KiB each"
echo "  the server: $(each "${before[1]}" "${after[1]}") KiB each"
awk "BEGIN { v = $gateway_each
    print \"  the gateway's limit: at most 48 aimed at, 71 is failure: \" (v <= 48 ? \"reached\" : v <= 71 ? \"in between\" : \"missed\") }"
sed -n 's/^one more: /  one more is answered: /p' "$work/many"
