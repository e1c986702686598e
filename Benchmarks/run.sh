#!/usr/bin/env bash
# Starts nginx and a gateway on loopback, enrols a key, and prints the table. Arguments go to the table.
# With --regression it runs the benchmarks of the benchmark tool instead, whose arguments follow (`baseline update main`).
source "$(dirname "${BASH_SOURCE[0]}")/common.sh"
work_anywhere
build Table sallyport

plain=$(free_port) secure=$(free_port) relayed_plain=$(free_port) relayed_secure=$(free_port)
mkdir "$work/www"
head -c 128 /dev/urandom > "$work/www/small"
head -c 1048576 /dev/urandom > "$work/www/1m"
head -c 104857600 /dev/urandom > "$work/www/100m"
make_certificate

cat > "$work/nginx.conf" <<CONF
daemon off; worker_processes 1; pid $work/nginx.pid; error_log $work/error.log crit;
events { worker_connections 4096; }
http {
    access_log off; sendfile on; keepalive_requests 1000000; default_type application/octet-stream;
    client_body_temp_path $work/body; proxy_temp_path $work/proxy; fastcgi_temp_path $work/fastcgi;
    uwsgi_temp_path $work/uwsgi; scgi_temp_path $work/scgi;
    ssl_certificate $work/server.pem; ssl_certificate_key $work/server.key;
    server {
        listen 127.0.0.1:$plain; listen 127.0.0.1:$relayed_plain;
        listen 127.0.0.1:$secure ssl; listen 127.0.0.1:$relayed_secure ssl;
        root $work/www; add_header Cache-Control no-store;
    }
}
CONF
nginx -p "$work" -c "$work/nginx.conf" 2>/dev/null &
started+=($!)

start_gateway
for port in $relayed_plain $relayed_secure; do admin server add "localhost:$port" --route relay >/dev/null; done
enrol "$work"

python3 - "$work" <<SETTING
import json, os, platform
urls = {
    "direct": {"http": "http://localhost:$plain", "https": "https://localhost:$secure"},
    "relay": {"http": "http://localhost:$relayed_plain", "https": "https://localhost:$relayed_secure"},
}
relay = {"url": "https://localhost:$relay", "authorityFile": "$work/ca.pem",
         "certificateFile": "$work/client.pem", "keyFile": "$work/client.key"}
json.dump({"urls": urls, "authorityFile": "$work/server.pem", "relay": relay,
           "machine": f"{os.cpu_count()} cores, {platform.platform()}"}, open("$work/setting.json", "w"))

def job(path, scheme, name, total, concurrency):
    return {"peer": "sallyport", "url": f"{urls[path][scheme]}/{name}", "total": total, "concurrency": concurrency,
            "authorityFile": "$work/server.pem" if scheme == "https" else None,
            "relay": relay if path == "relay" else None}

jobs = {f"small GET, {n} at once": job("direct", "http", "small", 20_000, n) for n in (1, 32, 256)}
for path in urls:
    for scheme in urls[path]:
        jobs[f"1 MiB, {scheme}, {path}"] = job(path, scheme, "1m", 400, 4)
        jobs[f"100 MiB, {scheme}, {path}"] = job(path, scheme, "100m", 4, 1)
json.dump(jobs, open("$work/jobs.json", "w"))
SETTING
if [[ ${1:-} == --regression ]]; then
    shift
    SALLYPORT_BENCH_JOBS=$work/jobs.json swift package --package-path "$here" --disable-sandbox benchmark "$@"
    exit
fi
"$bin/Table" "$work/setting.json" "$@"
