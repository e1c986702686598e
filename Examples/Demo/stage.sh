# What the demos share, for `source`: they have the folder of the built programs in `binaries`.
#
# An intranet HTTPS server closes every connection that does not come from the egress address of a gateway, and its name
# means something to gateways only. Everything is taken down again.
PATH="$PATH:/usr/sbin:/sbin"

readonly egress=127.0.0.2 inside=127.0.0.3 name=intranet.corp.example user=ann@corp.example
readonly app=com.example.demo version=1.0.0.0
work=$(mktemp -d "${TMPDIR:-/tmp}/sallyport-demo.XXXXXX")
chmod 0700 "$work"
readonly store=$work/app site=$work/site log=$work/access.log
started=()

# ---------------------------------------------------------------------------------------------- telling and ending

step() { printf '%-28s %s\n' "$1" "$2"; }

fail() {
    printf '%-28s %s\n' "FAILED: $1" "${2:-}" >&2
    for file in "$work"/*.err; do
        [ -s "$file" ] && { echo "--- ${file##*/}"; tail -n 5 "$file"; } >&2
    done
    exit 1
}

take_down() {
    local status=$? pid
    trap - EXIT INT TERM
    for pid in "${started[@]}"; do kill -TERM "$pid" 2>/dev/null || true; done
    for pid in "${started[@]}"; do
        for _ in $(seq 50); do kill -0 "$pid" 2>/dev/null || break; sleep 0.1; done
        kill -KILL "$pid" 2>/dev/null || true
    done
    [ -n "${DEMO_KEEP:-}" ] || rm -rf "$work"
    exit "$status"
}
trap take_down EXIT
trap 'exit 130' INT
trap 'exit 143' TERM

# until_true SECONDS COMMAND…: whether the command succeeds within that time.
until_true() {
    local end=$((SECONDS + $1))
    shift
    until "$@"; do
        [ "$SECONDS" -lt "$end" ] || return 1
        sleep 0.1
    done
}

# asked FILE: how often the server was asked for a file, as its log says.
asked() { grep -c "\"GET /$1 " "$log" || true; }
is_asked() { [ "$(asked "$1")" -gt "$2" ]; }

# seen FILE TIMES: what the server's log says of the request behind so many. nginx writes it a moment after the client has
# its answer.
seen() {
    until_true 10 is_asked "$1" "$2" || true
    grep "\"GET /$1 " "$log" | tail -n 1 || true
}

# json FIELD < OBJECT: a text or number of a flat JSON object.
json() { sed -nE 's/.*"'"$1"'":("([^"]*)"|(-?[0-9.]+|true|false)).*/\2\3/p' | head -n 1; }

sallyport() { timeout 60 "$binaries/sallyport" "$@"; }
sum() { sha256sum "$1" | cut -c1-64; }

# ------------------------------------------------------------------------------------------------ intranet server

make_certificates() {
    (
        cd "$work"
        openssl ecparam -name prime256v1 -genkey -noout -out ca.key
        openssl req -x509 -new -key ca.key -sha256 -days 2 -subj "/CN=Corp Intranet CA" -out ca.pem
        openssl ecparam -name prime256v1 -genkey -noout -out site.key
        openssl req -new -key site.key -subj "/CN=$name" -out site.csr
        printf 'subjectAltName=DNS:%s,IP:%s\nextendedKeyUsage=serverAuth\nbasicConstraints=CA:FALSE\n' \
            "$name" "$inside" >site.ext
        openssl x509 -req -in site.csr -CA ca.pem -CAkey ca.key -CAcreateserial -days 2 -sha256 -extfile site.ext \
            -out site.pem
    ) >"$work/openssl.err" 2>&1 || fail "certificates"
}

write_nginx_configuration() {
    cat >"$work/nginx.conf" <<CONF
daemon off;
worker_processes 1;
pid $work/nginx.pid;
error_log $work/nginx.err error;
events { worker_connections 128; }
http {
    access_log $log;
    log_format line '\$remote_addr "\$request" \$status \$body_bytes_sent';
    client_body_temp_path $work/body;
    proxy_temp_path $work/proxy;
    fastcgi_temp_path $work/fastcgi;
    uwsgi_temp_path $work/uwsgi;
    scgi_temp_path $work/scgi;
    # Only the gateway's own address is served; to all others the connection is closed without an answer (444).
    geo \$is_stranger { default 1; $egress 0; }
    server {
        listen $inside:$1 ssl;
        access_log $log line;
        server_name $name;
        ssl_certificate $work/site.pem;
        ssl_certificate_key $work/site.key;
        root $site;
        location = /cached.txt { expires 1h; }
        location = /uncached.txt { add_header Cache-Control no-store; }
        location = /slow.bin { limit_rate 2m; }
        location = /endless.bin { limit_rate 64k; }
        if (\$is_stranger) { return 444; }
    }
}
CONF
    sed -i '/^    access_log /d' "$work/nginx.conf"
}

# Whether nginx is ready, or has ended since another has its port.
is_decided() { [ -s "$work/nginx.pid" ] || ! kill -0 "$1" 2>/dev/null; }

start_intranet() {
    mkdir "$site"
    echo "The figures of today." >"$site/report.txt"
    echo "The figures of the year, which stay as they are." | tee "$site/cached.txt" >"$site/uncached.txt"
    head -c "${DEMO_ARCHIVE:-67108864}" /dev/urandom >"$site/archive.bin"
    # slow.bin takes some eight seconds, endless.bin longer than a whole demo.
    head -c 16777216 "$site/archive.bin" | tee "$site/slow.bin" >"$site/endless.bin"
    # nginx may drop its rights when it was started as root.
    chmod 0711 "$work"
    chmod 0755 "$site"
    chmod 0644 "$site"/*
    local try
    for try in 1 2 3 4 5; do
        # Below the ports of outgoing connections.
        port=$((32000 + (RANDOM % 768)))
        write_nginx_configuration "$port"
        nginx -e "$work/nginx.err" -c "$work/nginx.conf" &
        local pid=$!
        started+=("$pid")
        until_true 30 is_decided "$pid" && kill -0 "$pid" 2>/dev/null && return
    done
    fail "intranet server"
}
