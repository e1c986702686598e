#!/usr/bin/env bash
# Prints what our relay costs beside Squid with the same duties: mutual TLS with the client, CONNECT, then bytes. CPU is
# that of the proxy's process; the client is the same program for both, with the same version and cipher.
#
#   Benchmarks/relay.sh     ROUNDS=3 interleaved rounds
#
# Squid has to be built with OpenSSL: an installed one that is, or Debian's package squid-openssl, which is unpacked here
# and not installed.
source "$(dirname "${BASH_SOURCE[0]}")/common.sh"
work_anywhere
build SocketServer sallyport
make_certificate
start_web
start_sockets
count=1000
ulimit -Sn "$(ulimit -Hn)"
start_gateway --max-tunnels "$((count * 2))"
allow_web
admin server add "127.0.0.1:$plain_port" --route relay >/dev/null

# An authority of its own, and a client's certificate: as the gateway issues them, P-256 and one step below the authority.
make_client() {
    local folder=$1
    mkdir "$folder"
    openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes -days 2 -subj /CN=authority \
        -keyout "$folder/ca.key" -out "$folder/ca.pem" 2>/dev/null
    openssl req -newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes -subj /CN=bench \
        -keyout "$folder/client.key" -out "$folder/client.csr" 2>/dev/null
    openssl x509 -req -in "$folder/client.csr" -CA "$folder/ca.pem" -CAkey "$folder/ca.key" -days 2 \
        -extfile <(echo extendedKeyUsage=clientAuth) -out "$folder/client.pem" 2>/dev/null
    chmod 755 "$folder"
}

find_squid() {
    squid_program=$(command -v squid || true)
    if [ -n "$squid_program" ] && "$squid_program" -v | grep -q -- --with-openssl; then return; fi
    (cd "$work" && apt-get download squid-openssl >/dev/null 2>&1 && dpkg -x squid-openssl_*.deb "$work/squid-openssl") \
        || { echo "squid-openssl is neither installed nor to be had from apt" >&2; exit 69; }
    squid_program=$work/squid-openssl/usr/sbin/squid
}

start_squid() {
    squid_port=$(free_port)
    mkdir "$work/squid"
    chmod 777 "$work/squid"
    cat >"$work/squid/config" <<CONF
https_port 127.0.0.1:$squid_port tls-cert=$work/server.pem tls-key=$work/server.key clientca=$work/squid-client/ca.pem
http_access allow all
cache deny all
max_filedescriptors 16384
pid_filename $work/squid/pid
cache_log $work/squid/log
access_log none
coredump_dir $work/squid
shutdown_lifetime 1 second
CONF
    chmod 644 "$work/server.key"
    "$squid_program" -N -f "$work/squid/config" 2>/dev/null &
    squid=$!
    started+=("$squid")
    await bash -c "exec 3<>/dev/tcp/127.0.0.1/$squid_port" 2>/dev/null
}

# One cipher for both, which neither would choose by itself: BoringSSL and OpenSSL prefer different ones.
cat >"$work/openssl.cnf" <<CONF
openssl_conf = all
[all]
ssl_conf = ssl
[ssl]
system_default = default
[default]
MinProtocol = TLSv1.3
Ciphersuites = TLS_AES_128_GCM_SHA256
CONF

find_squid
make_client "$work/squid-client"
start_squid
OPENSSL_CONF=$work/openssl.cnf python3 "$here/relay.py" "${ROUNDS:-3}" "$count" \
    "localhost:${web[relay_http]}" "127.0.0.1:$plain_port" \
    "relay $relay $gateway $work/ca.pem $work/client.pem $work/client.key" \
    "squid $squid_port $squid $work/server.pem $work/squid-client/client.pem $work/squid-client/client.key"
