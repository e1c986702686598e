#!/usr/bin/env bash
# Prints what a load costs by Basic, Digest and NTLM, and by Negotiate with a KDC and an Apache httpd of its own.
source "$(dirname "${BASH_SOURCE[0]}")/common.sh"
work_anywhere
build AuthenticationTable NegotiateTable HopTable sallyport
"$bin/AuthenticationTable"
"$bin/HopTable"

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
make_certificate
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

start_gateway
{
    for port in "$web" "$secure" "$kdc"; do admin server add "localhost:$port" --route direct; done
    admin realm add CORP.EXAMPLE "localhost:$kdc"
} >/dev/null
link=$(admin key issue bench com.example.bench)
await curl -s -o /dev/null "http://127.0.0.1:$web/free/page"
"$bin/NegotiateTable" "$work/store" "$link" "http://localhost:$web" ann@CORP.EXAMPLE secret \
    "https://localhost:$secure" "$work/server.pem"
echo "questions of the server: $(grep -c '^401 /vault' "$work/access.log") for $(grep -c '/vault' "$work/access.log") loads by Negotiate"
