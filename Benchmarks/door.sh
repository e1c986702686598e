#!/usr/bin/env bash
# Prints what the door costs: bulk beside a byte stream of the app, `ssh -D` and Squid in one run, and what each of 5,000
# connections takes of memory beside a byte stream's. Needs 21,000 descriptors; with fewer it opens fewer and says so.
#
#   Benchmarks/door.sh [--many]     ROUNDS=5 for each figure of bulk
source "$(dirname "${BASH_SOURCE[0]}")/common.sh"
work_anywhere
build SocketTable SocketServer sallyport
make_certificate
start_web
start_sockets

limit=$(ulimit -Hn)
ulimit -Sn "$limit"
count=5000
if [ "$limit" != unlimited ] && [ "$limit" -lt 21000 ]; then
    count=$(((limit - 1000) / 4))
    echo "only $limit descriptors are allowed, 21,000 are needed for 5,000 connections: $count are opened"
fi
start_gateway --max-tunnels "$((count * 2 + 200))"
relayed="localhost:${web[relay_http]}" direct="localhost:${web[direct_http]}" echo="127.0.0.1:$plain_port"
admin server add "$relayed" --route relay >/dev/null
admin server add "$direct" --route direct >/dev/null
admin server add "$echo" --route relay >/dev/null
# A store of its own for each: the door's is in use.
for app in door stream; do
    admin key issue bench com.example.bench >"$work/link"
    "$program" activate --link-file "$work/link" --store "$work/$app" >/dev/null 2>&1
done

"$program" proxy --store "$work/door" --listen 127.0.0.1:0 >"$work/door.out" 2>"$work/door.log" &
door=$!
started+=("$door")
await grep -q '^ready' "$work/door.out"
door_port=$(sed -nE 's/^ready: 127\.0\.0\.1:([0-9]+).*/\1/p' "$work/door.out")

start_ssh() {
    local folder=$work/ssh port
    port=$(free_port) ssh_port=$(free_port)
    mkdir -p "$folder" /run/sshd
    for key in host id; do ssh-keygen -q -t ed25519 -N '' -f "$folder/$key"; done
    cat >"$folder/config" <<CONF
ListenAddress 127.0.0.1:$port
HostKey $folder/host
AuthorizedKeysFile $folder/id.pub
StrictModes no
PidFile none
UsePAM no
PermitRootLogin yes
CONF
    "$(command -v sshd)" -D -f "$folder/config" 2>/dev/null &
    started+=($!)
    await bash -c "exec 3<>/dev/tcp/127.0.0.1/$port" 2>/dev/null
    ssh -N -D "127.0.0.1:$ssh_port" -o StrictHostKeyChecking=no -o UserKnownHostsFile=/dev/null -o BatchMode=yes \
        -i "$folder/id" -p "$port" 127.0.0.1 2>/dev/null &
    ssh=$!
    started+=("$ssh")
}

start_squid() {
    squid_port=$(free_port)
    mkdir "$work/squid"
    chmod 777 "$work/squid"
    cat >"$work/squid/config" <<CONF
http_port 127.0.0.1:$squid_port
http_access allow all
cache deny all
pid_filename $work/squid/pid
cache_log $work/squid/log
access_log none
coredump_dir $work/squid
shutdown_lifetime 1 second
CONF
    squid -N -f "$work/squid/config" 2>/dev/null &
    squid=$!
    started+=("$squid")
}

if [ "${1:-}" != --many ]; then
    start_ssh
    start_squid
    python3 "$here/door.py" bulk "${ROUNDS:-5}" "/100m" 104857600 \
        "relayed $relayed" "direct $direct" \
        "door $door_port $door" "ssh $ssh_port $ssh" "squid $squid_port $squid" \
        -- "$bin/SocketTable" bulk "$work/stream"
fi
python3 "$here/door.py" many "$count" "$echo" "$door_port" "$door" -- "$bin/SocketTable" many "$count" "$work/stream" "$echo"
