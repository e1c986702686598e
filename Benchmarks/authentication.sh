#!/usr/bin/env bash
# Prints what a load costs by Basic, Digest and NTLM, and by Negotiate with a KDC and an Apache httpd of its own.
set -euo pipefail
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
work=$(mktemp -d "${TMPDIR:-/tmp}/sallyport-bench.XXXXXX")
chmod 755 "$work"
started=()
stop() {
    for process in "${started[@]}"; do kill "$process" 2>/dev/null || true; done
    wait 2>/dev/null || true
    rm -rf "$work"
}
trap stop EXIT

build=(swift build --package-path "$here" -c release)
for product in AuthenticationTable NegotiateTable sallyport; do "${build[@]}" --product "$product" >&2; done
bin=$("${build[@]}" --show-bin-path)
sallyport=$bin/sallyport
"$bin/AuthenticationTable"

PATH="$PATH:/usr/sbin:/sbin"
free_port() { python3 -c 'import socket; s = socket.socket(); s.bind(("127.0.0.1", 0)); print(s.getsockname()[1])'; }
await() { for _ in $(seq 100); do "$@" && return; sleep 0.1; done; echo "did not start: $*" >&2; exit 1; }
kdc=$(free_port) web=$(free_port) secure=$(free_port)

export KRB5_CONFIG=$work/krb5.conf KRB5_KDC_PROFILE=$work/kdc.conf
cat > "$KRB5_CONFIG" <<CONF
[libdefaults]
default_realm = CORP.EXAMPLE
[realms]
CORP.EXAMPLE = { kdc = 127.0.0.1:$kdc }
CONF
sed -i 's/{ \(.*\) }/{\n\1\n}/' "$KRB5_CONFIG"
cat > "$KRB5_KDC_PROFILE" <<CONF
[kdcdefaults]
kdc_listen = ""
kdc_tcp_listen = 127.0.0.1:$kdc
[realms]
CORP.EXAMPLE = {
database_name = $work/principal
key_stash_file = $work/stash
acl_file = $work/acl
}
[logging]
kdc = FILE:$work/kdc.log
CONF
kdb5_util create -s -P master -r CORP.EXAMPLE >/dev/null 2>&1
for query in "addprinc -pw secret ann" "addprinc -randkey HTTP/localhost" "ktadd -k $work/http.keytab HTTP/localhost"; do
    kadmin.local -r CORP.EXAMPLE -q "$query" >/dev/null 2>&1
done
chmod 644 "$work/http.keytab"
krb5kdc -n >/dev/null 2>&1 &
started+=($!)

mkdir -p "$work"/www/{free,basic,vault}
for folder in "$work"/www/*; do head -c 128 /dev/urandom > "$folder/page"; done
openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes -days 2 -subj /CN=localhost \
    -addext subjectAltName=DNS:localhost -keyout "$work/server.key" -out "$work/server.pem" 2>/dev/null
echo "ann@CORP.EXAMPLE:$(openssl passwd -apr1 secret)" > "$work/users"
{
    for module in mpm_event authn_core authn_file authz_core authz_user auth_basic auth_gssapi socache_shmcb ssl; do
        echo "LoadModule ${module}_module /usr/lib/apache2/modules/mod_$module.so"
    done
    if [ "$(id -u)" -eq 0 ]; then echo "User www-data"; fi
    cat <<CONF
ServerRoot $work
ServerName localhost
Listen 127.0.0.1:$web
Listen 127.0.0.1:$secure
<VirtualHost *:$secure>
    SSLEngine on
    SSLCertificateFile $work/server.pem
    SSLCertificateKeyFile $work/server.key
</VirtualHost>
PidFile $work/httpd.pid
DefaultRuntimeDir $work
ErrorLog $work/error.log
DocumentRoot $work/www
MaxKeepAliveRequests 0
ServerLimit 1
ThreadLimit 512
ThreadsPerChild 512
MaxRequestWorkers 512
StartServers 1
LogFormat "%>s %U" line
CustomLog $work/access.log line
<Directory $work/www>
    Require all granted
</Directory>
<Location /basic/>
    AuthType Basic
    AuthName basic
    AuthUserFile $work/users
    Require valid-user
</Location>
<Location /vault/>
    AuthType GSSAPI
    AuthName vault
    GssapiCredStore keytab:$work/http.keytab
    GssapiAllowedMech krb5
    Require valid-user
</Location>
CONF
} > "$work/httpd.conf"
KRB5RCACHENAME=none: apache2 -X -f "$work/httpd.conf" &
started+=($!)

data=$work/gateway
"$sallyport" gateway init --data "$data" --name localhost >/dev/null
"$sallyport" gateway run --data "$data" --control 127.0.0.1:0 --relay 127.0.0.1:0 >"$work/gateway.log" 2>&1 &
started+=($!)
await grep -q ready "$work/gateway.log"
admin() { "$sallyport" admin "$@" --data "$data" >/dev/null; }
admin user add bench
admin app add com.example.bench 1.0.0.0
admin entitle bench com.example.bench 1.0.0.0
admin server add "localhost:$web" --route direct
admin server add "localhost:$secure" --route direct
admin server add "localhost:$kdc" --route direct
admin realm add CORP.EXAMPLE "localhost:$kdc"
link=$("$sallyport" admin key issue bench com.example.bench --data "$data")
await curl -s -o /dev/null "http://127.0.0.1:$web/free/page"
"$bin/NegotiateTable" "$work/store" "$link" "http://localhost:$web" ann@CORP.EXAMPLE secret \
    "https://localhost:$secure" "$work/server.pem"
echo "questions of the server: $(grep -c '^401 /vault' "$work/access.log") for $(grep -c '/vault' "$work/access.log") loads by Negotiate"
