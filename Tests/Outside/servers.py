"""The servers that the compositions of this package speak to: on loopback, until standard input ends.

    servers.py DIRECTORY

Prints `NAME VALUE` for each that listens: `echo PORT`, `web PORT`, `daemon SOCKET`, `kdc PORT`.
"""

import http.server
import os
import random
import socket
import socketserver
import subprocess
import sys
import threading
import time

REALM = "EXAMPLE.TEST"


class Echo(socketserver.BaseRequestHandler):
    """Sends back what comes, until the other side has ended."""

    def handle(self):
        while data := self.request.recv(65536):
            self.request.sendall(data)


class Web(http.server.BaseHTTPRequestHandler):
    """`/pass` wants the scheme Pass; answers say which fields came, and how many requests there were."""

    protocol_version = "HTTP/1.1"
    count = 0

    def do_GET(self):
        Web.count += 1
        names = ("User-Agent", "Cookie", "Authorization")
        body = f"{Web.count} {[self.headers.get(name) for name in names]}".encode()
        is_refused = self.path == "/pass" and self.headers.get("Authorization") != "Pass open"
        self.send_response(401 if is_refused else 200)
        if is_refused:
            self.send_header("WWW-Authenticate", 'Pass realm="outside"')
        elif self.path == "/pass":
            self.send_header("Set-Cookie", "seen=1")
        self.send_header("Cache-Control", "no-store" if is_refused else "private, max-age=60")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_):
        pass

    def address_string(self):
        return ""


class UnixServer(socketserver.ThreadingUnixStreamServer):
    daemon_threads = True


def serve(server):
    server.daemon_threads = True
    threading.Thread(target=server.serve_forever, daemon=True).start()
    return server


def free_port():
    """Below the ports of outgoing connections, one of which could take it before the server does."""
    while True:
        port = random.randrange(11000, 32000)
        with socket.socket() as probe:
            probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            try:
                probe.bind(("127.0.0.1", port))
            except OSError:
                continue
            return port


def listens(port):
    with socket.socket() as probe:
        return probe.connect_ex(("127.0.0.1", port)) == 0


def start_kdc(folder):
    """A realm of MIT Kerberos in which ann has the password `open`."""
    port = free_port()
    environment = os.environ | {
        "KRB5_CONFIG": f"{folder}/krb5.conf",
        "KRB5_KDC_PROFILE": f"{folder}/kdc.conf",
        "PATH": os.environ["PATH"] + ":/usr/sbin:/sbin",
    }
    with open(f"{folder}/krb5.conf", "w") as file:
        file.write(
            f"[libdefaults]\ndefault_realm = {REALM}\ndns_lookup_kdc = false\n"
            f"[realms]\n{REALM} = {{\nkdc = 127.0.0.1:{port}\n}}\n"
        )
    with open(f"{folder}/kdc.conf", "w") as file:
        file.write(
            f'[kdcdefaults]\nkdc_listen = ""\nkdc_tcp_listen = 127.0.0.1:{port}\n'
            f"[realms]\n{REALM} = {{\ndatabase_name = {folder}/principal\nkey_stash_file = {folder}/stash\n}}\n"
            f"[logging]\nkdc = FILE:{folder}/kdc.log\n"
        )

    def run(*command):
        subprocess.run(command, env=environment, check=True, stdout=subprocess.DEVNULL)

    run("kdb5_util", "create", "-s", "-P", "master", "-r", REALM)
    run("kadmin.local", "-r", REALM, "-q", "addprinc +requires_preauth -pw open ann")
    process = subprocess.Popen(["krb5kdc", "-n"], env=environment, stdout=subprocess.DEVNULL)
    end = time.monotonic() + 20
    while not listens(port):
        if process.poll() is not None or time.monotonic() > end:
            sys.exit("krb5kdc does not listen")
        time.sleep(0.02)
    return process, port


def main():
    folder = sys.argv[1]
    echo = serve(socketserver.ThreadingTCPServer(("127.0.0.1", 0), Echo))
    web = serve(http.server.ThreadingHTTPServer(("127.0.0.1", 0), Web))
    daemon = f"{folder}/daemon.sock"
    serve(UnixServer(daemon, Web))
    kdc, port = start_kdc(folder)
    try:
        print(f"echo {echo.server_address[1]}\nweb {web.server_address[1]}\ndaemon {daemon}\nkdc {port}", flush=True)
        sys.stdin.read()
    finally:
        kdc.kill()


if __name__ == "__main__":
    main()
