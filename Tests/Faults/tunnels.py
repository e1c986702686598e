"""Opens tunnels for many instances at each relay, and prints when each ended. A process on the app's machine.

    tunnels.py FOLDER TARGET AUTHORITY.pem RELAY-NAME:PORT=AUTHORITY.pem…

FOLDER has NAME.pem and NAME.key of each instance. Prints `ready COUNT`, then `end MS NAME RELAY` for each tunnel.
"""
import pathlib
import selectors
import socket
import ssl
import sys
import time


def tunnel(relay, authority, client, target):
    host, port = relay.rsplit(":", 1)
    context = ssl.create_default_context(cafile=authority)
    context.load_cert_chain(client.with_suffix(".pem"), client.with_suffix(".key"))
    plain = socket.create_connection((host, int(port)), timeout=20)
    connection = context.wrap_socket(plain, server_hostname=host)
    connection.sendall(f"CONNECT {target} HTTP/1.1\r\nHost: {target}\r\n\r\n".encode())
    answer = b""
    while b"\r\n\r\n" not in answer:
        piece = connection.recv(65536)
        if not piece:
            raise SystemExit(f"{relay} ended the connection after {answer!r}")
        answer += piece
    if b" 200 " not in answer.split(b"\r\n")[0] + b" ":
        raise SystemExit(f"{relay} refuses {client.name}: {answer!r}")
    connection.sendall(b"ping")
    rest = 4
    while rest:
        rest -= len(connection.recv(rest)) or sys.exit("the echo ended")
    connection.setblocking(False)
    return connection


def has_ended(connection):
    try:
        return not connection.recv(4096)
    except (ssl.SSLWantReadError, BlockingIOError):
        return False
    except OSError:
        return True


def main():
    folder, target, relays = pathlib.Path(sys.argv[1]), sys.argv[2], sys.argv[3:]
    selector = selectors.DefaultSelector()
    for client in sorted(folder.glob("*.pem")):
        for relay in relays:
            relay, authority = relay.split("=", 1)
            selector.register(tunnel(relay, authority, client, target), selectors.EVENT_READ, (client.stem, relay))
    print("ready", len(selector.get_map()), flush=True)
    while selector.get_map():
        for key, _ in selector.select():
            now = time.clock_gettime_ns(time.CLOCK_MONOTONIC) // 1_000_000
            if has_ended(key.fileobj):
                print("end", now, *key.data, flush=True)
                selector.unregister(key.fileobj)
                key.fileobj.close()


main()
