# What the scripts of this folder share; they source it. A folder to work in is in `work` and is gone at the end, with
# every process in `started`.
set -euo pipefail
PATH="$PATH:/usr/sbin:/sbin"
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
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

# build PRODUCT…: with the optimiser on, into the folder `bin`, and what that and the servers need.
build() {
    local product
    "$here/../Tests/Scripts/dependencies" --bench >&2
    for product in "$@"; do swift build --package-path "$here" -c release --product "$product" >&2; done
    bin=$(swift build --package-path "$here" -c release --show-bin-path)
}

free_port() { python3 -c 'import socket; s = socket.socket(); s.bind(("127.0.0.1", 0)); print(s.getsockname()[1])'; }

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

admin() { "$bin/sallyport" admin "$@" --data "$work/gateway"; }

# start_gateway OPTION…: on ports of its own, `control` and `relay`, by the process `gateway`; the user bench may use
# com.example.bench through it.
start_gateway() {
    "$bin/sallyport" gateway init --data "$work/gateway" --name localhost >"$work/gateway.log" 2>&1 \
        || { cat "$work/gateway.log" >&2; exit 1; }
    "$bin/sallyport" gateway run --data "$work/gateway" --control 127.0.0.1:0 --relay 127.0.0.1:0 --json "$@" \
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
