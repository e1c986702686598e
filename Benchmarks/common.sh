# What the scripts of this folder share; they source it. A folder to work in is in `work` and is gone at the end, with
# every process in `started`.
set -euo pipefail
PATH="$PATH:/usr/sbin:/sbin"
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
export SALLYPORT_BENCH_TABLE=$here/table.json SALLYPORT_BENCH_SETTING= PYTHONDONTWRITEBYTECODE=1
work=
started=()

stop() {
    for process in "${started[@]}"; do kill "$process" 2>/dev/null || true; done
    wait 2>/dev/null || true
    rm -rf "$work"
}

# work_below FOLDER: servers that gave up being root must get through it.
work_below() {
    work=$(mktemp -d "$1/sallyport-bench.XXXXXX")
    chmod 755 "$work"
    trap stop EXIT
}

# For what measures no disk.
work_anywhere() { work_below "${TMPDIR:-/tmp}"; }

# For what measures a disk: a memory file system would flatter it.
work_on_disk() { work_below "${BENCH_DIRECTORY:-/var/tmp}"; }

# The folder for what is built: that of another build spares what is built there already. And the kind of dependencies.
scratch=$(realpath -m "${SALLYPORT_BENCH_SCRATCH:-$here/.build}")
needed=--bench

# build PRODUCT…: with the optimiser on, into the folder `bin`, and what that and the servers need. The gateway is
# `program`; one that SALLYPORT_BENCH_PROGRAM names is not built.
build() {
    local product release=(build --package-path "$here" --scratch-path "$scratch" -c release)
    "$here/../Tests/Scripts/dependencies" "$needed" >&2
    # With the versions of the package whose folder it is.
    if [ -n "${SALLYPORT_BENCH_SCRATCH:-}" ] && [ -e "$here/../Package.resolved" ]; then
        cp "$here/../Package.resolved" "$here/Package.resolved"
    fi
    for product in "$@"; do
        if [ "$product" = sallyport ] && [ -n "${SALLYPORT_BENCH_PROGRAM:-}" ]; then continue; fi
        "${SWIFT:-swift}" "${release[@]}" --product "$product" >&2
    done
    bin=$("${SWIFT:-swift}" "${release[@]}" --show-bin-path)
    program=${SALLYPORT_BENCH_PROGRAM:-$bin/sallyport}
    # What is measured hashes as it does for its users.
    unset SWIFT_DETERMINISTIC_HASHING
}

# For what is counted only: peers of other packages are neither fetched nor built.
count_only() {
    needed=--counts
    export SALLYPORT_BENCH_PEERS=0
}

# As the servers of the tests from outside have.
free_port() { (cd "$here/../Tests/Outside" && python3 -c 'import servers; print(servers.free_port())'); }

# await COMMAND…: until it succeeds, for a minute at most.
await() {
    for _ in $(seq 600); do "$@" && return; sleep 0.1; done
    echo "did not come within a minute: $*" >&2
    exit 1
}

# An authority and server in one, for localhost: server.pem and server.key.
make_certificate() {
    openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes -days 2 -subj /CN=localhost \
        -addext subjectAltName=DNS:localhost,IP:127.0.0.1 -keyout "$work/server.key" -out "$work/server.pem" 2>/dev/null
}

admin() { "$program" admin "$@" --data "$work/gateway"; }

# start_gateway OPTION…: on ports of its own, `control` and `relay`, by the process `gateway`; the user bench may use
# com.example.bench through it.
start_gateway() {
    "$program" gateway init --data "$work/gateway" --name localhost >"$work/gateway.log" 2>&1 \
        || { cat "$work/gateway.log" >&2; exit 1; }
    "$program" gateway run --data "$work/gateway" --control 127.0.0.1:0 --relay 127.0.0.1:0 --json "$@" \
        >"$work/ready" 2>"$work/gateway.log" &
    gateway=$!
    started+=("$gateway")
    await grep -q ready "$work/ready"
    control=$(port_of control) relay=$(port_of relay)
    { admin user add bench && admin app add com.example.bench 1.0.0.0 && admin entitle bench com.example.bench 1.0.0.0; } \
        >/dev/null
}
port_of() { sed -nE "s/.*\"$1\":\"[^\"]*:([0-9]+)\".*/\1/p" "$work/ready"; }

# enrol FOLDER: an identity for the relay, issued in the way that any EST client gets one.
enrol() {
    mkdir -p "$1"
    admin key issue bench com.example.bench --json >"$1/link.json"
    python3 "$here/enroll.py" "$1/link.json" "$1" "$control"
}

# start_web: nginx on loopback, with files of three sizes, one more that may be stored, and a folder that takes uploads;
# the ports for HTTP and HTTPS, by the way that is taken to them, are in `web`.
declare -A web=()
start_web() {
    local key
    for key in direct_http direct_https direct_http2 relay_http relay_https; do web[$key]=$(free_port); done
    mkdir "$work/www" "$work/uploads"
    # The server gave up being root.
    chmod 777 "$work/uploads"
    head -c 128 /dev/urandom > "$work/www/small"
    head -c 16384 /dev/urandom > "$work/www/16k"
    head -c 1048576 /dev/urandom > "$work/www/1m"
    head -c 104857600 /dev/urandom > "$work/www/100m"
    cat > "$work/nginx.conf" <<CONF
daemon off; worker_processes 1; pid $work/nginx.pid; error_log $work/error.log crit;
events { worker_connections 4096; }
http {
    access_log off; sendfile on; keepalive_requests 1000000; default_type application/octet-stream;
    client_body_temp_path $work/body; proxy_temp_path $work/proxy; fastcgi_temp_path $work/fastcgi;
    uwsgi_temp_path $work/uwsgi; scgi_temp_path $work/scgi;
    ssl_certificate $work/server.pem; ssl_certificate_key $work/server.key;
    server {
        listen 127.0.0.1:${web[direct_http]}; listen 127.0.0.1:${web[relay_http]};
        listen 127.0.0.1:${web[direct_https]} ssl; listen 127.0.0.1:${web[relay_https]} ssl;
        listen 127.0.0.1:${web[direct_http2]} ssl http2;
        root $work/www; add_header Cache-Control no-store;
        client_max_body_size 0; client_body_buffer_size 256k;
        location = /16k { add_header Cache-Control max-age=2147483648; }
        location = /put { dav_methods PUT; root $work/uploads; }
    }
}
CONF
    nginx -p "$work" -c "$work/nginx.conf" 2>/dev/null &
    started+=($!)
}

# start_sockets: the server of the socket rows, with its port for TLS in `socket_port` and for plain connections in
# `plain_port`, by the process `socket_server`.
start_sockets() {
    "$bin/SocketServer" "$work/server.pem" "$work/server.key" >"$work/ports" &
    socket_server=$!
    started+=("$socket_server")
    await test -s "$work/ports"
    read -r socket_port plain_port <"$work/ports"
}

# allow_web: the instances of the user bench may reach the web server on the way that its port stands for, and the peers
# that are given a relay have an identity.
allow_web() {
    local key
    for key in "${!web[@]}"; do admin server add "localhost:${web[$key]}" --route "${key%_*}" >/dev/null; done
    enrol "$work"
}

# allow_sockets: the instances of the user bench may reach the server of the socket rows, straight.
allow_sockets() { admin server add "localhost:$socket_port" --route direct >/dev/null; }

# write_setting: where the servers are, into the file that SALLYPORT_BENCH_SETTING names.
write_setting() {
    export SALLYPORT_BENCH_SETTING=$work/setting.json
    mkdir -p "$work/folder"
    python3 - "$work" "$program" "${relay:-}" "${socket_port:-}" "${web[direct_http]:-}" "${web[direct_https]:-}" \
        "${web[relay_http]:-}" "${web[relay_https]:-}" "${web[direct_http2]:-}" >"$SALLYPORT_BENCH_SETTING" <<'SETTING'
import json, os, platform, shlex, sys
work, program, relay, sockets, *ports, http2 = sys.argv[1:]
kinds = [(path, scheme) for path in ("direct", "relay") for scheme in ("http", "https")]
urls = {"direct": {}, "relay": {}}
for (path, scheme), port in zip(kinds, ports):
    if port: urls[path][scheme] = f"{scheme}://localhost:{port}"
if http2: urls["direct"]["http2"] = f"https://localhost:{http2}"
setting = {"urls": urls, "authorityFile": f"{work}/server.pem", "folder": f"{work}/folder",
           "machine": f"{os.cpu_count()} cores, {platform.platform()}"}
if relay:
    setting["relay"] = {"url": f"https://localhost:{relay}", "authorityFile": f"{work}/ca.pem",
                        "certificateFile": f"{work}/client.pem", "keyFile": f"{work}/client.key"}
    setting["issuer"] = shlex.join(
        [program, "admin", "key", "issue", "bench", "com.example.bench", "--data", f"{work}/gateway"])
if sockets: setting["socketPort"] = int(sockets)
print(json.dumps(setting))
SETTING
}
