"""Measures the door, for door.sh.

    door.py bulk ROUNDS PATH BYTES "relayed HOST:PORT" "direct HOST:PORT" "PROXY PORT PID"… -- STREAM COMMAND…
    door.py many COUNT HOST:PORT DOOR_PORT DOOR_PID -- MANY COMMAND…

`bulk` fetches a file through every proxy and by a byte stream of the app, in interleaved rounds; the median counts. CPU is
that of the proxy's process, or of the app's. `many` opens connections through the door, then byte streams of an app.
"""
import json
import os
import socket
import statistics
import subprocess
import sys
import time

TICKS = os.sysconf("SC_CLK_TCK")
GIB = 1 << 30
TRANSFERS = 4


def cpu(pid):
    fields = open(f"/proc/{pid}/stat").read().rsplit(")", 1)[1].split()
    return (int(fields[11]) + int(fields[12])) / TICKS


def resident(pid):
    """KiB."""
    return next(int(line.split()[1]) for line in open(f"/proc/{pid}/status") if line.startswith("VmRSS:"))


def received(connection, until):
    text = b""
    while until not in text:
        piece = connection.recv(65536)
        if not piece:
            raise SystemExit(f"the proxy ended the connection after {text!r}")
        text += piece
    return text


def dial(port):
    end = time.monotonic() + 30
    while True:
        try:
            return socket.create_connection(("127.0.0.1", port))
        except ConnectionRefusedError:
            if time.monotonic() > end:
                raise
            time.sleep(0.1)


def connected(proxy, port, target):
    """A connection through a proxy: by CONNECT, or by SOCKS 5 for ssh."""
    connection = dial(port)
    host, number = target.rsplit(":", 1)
    if proxy == "ssh":
        connection.sendall(b"\x05\x01\x00")
        connection.recv(2)
        name = host.encode()
        connection.sendall(b"\x05\x01\x00\x03" + bytes([len(name)]) + name + int(number).to_bytes(2, "big"))
        if connection.recv(10)[1] != 0:
            raise SystemExit("ssh refuses the connection")
    else:
        connection.sendall(f"CONNECT {target} HTTP/1.1\r\nHost: {target}\r\n\r\n".encode())
        if b" 200 " not in received(connection, b"\r\n\r\n"):
            raise SystemExit(f"{proxy} refuses the connection")
    return connection


def fetch(proxy, port, target, path, size):
    room = bytearray(1 << 18)
    with connected(proxy, port, target) as connection:
        connection.sendall(f"GET {path} HTTP/1.0\r\nHost: localhost\r\n\r\n".encode())
        count = 0
        while piece := connection.recv_into(room):
            count += piece
    if count < size:
        raise SystemExit(f"{proxy}: {count} bytes of {size}")


def through(proxy, port, pid, target, path, size):
    before, start = cpu(pid), time.monotonic()
    for _ in range(TRANSFERS):
        fetch(proxy, port, target, path, size)
    wall = time.monotonic() - start
    return (cpu(pid) - before) / (TRANSFERS * size / GIB), TRANSFERS * size / wall / 1e6


def by_stream(command, target, path, size):
    output = subprocess.run([*command, target, path, str(TRANSFERS)], check=True, capture_output=True).stdout
    cost = json.loads(output)
    return cost["cpu"] / (TRANSFERS * size / GIB), TRANSFERS * size / cost["wall"] / 1e6


def judge(what, ratio, bound, is_least):
    reached = ratio >= bound if is_least else ratio <= bound
    print(f"    {what}: {ratio:.2f} ({'at least' if is_least else 'at most'} {bound}): {'reached' if reached else 'missed'}")


def bulk(rounds, path, size, targets, proxies, command):
    works = {"a byte stream, relayed": lambda: by_stream(command, targets["relayed"], path, size),
             "a byte stream, direct": lambda: by_stream(command, targets["direct"], path, size)}
    for name, (port, pid) in proxies.items():
        ways = ("relayed", "direct") if name == "door" else ("direct",)
        for way in ways:
            works[f"{name}, {way}" if name == "door" else name] = (
                lambda name=name, port=port, pid=pid, way=way: through(name, port, pid, targets[way], path, size))
    samples = {name: [] for name in works}
    for _ in range(rounds):
        for name, work in works.items():
            samples[name].append(work())
    print(f"{size >> 20} MiB, plain HTTP, {TRANSFERS} one after the other:")
    median = {}
    for name, values in samples.items():
        median[name] = tuple(statistics.median(column) for column in zip(*values))
        print(f"  {name}: {median[name][0]:.2f} s of CPU a GiB, {median[name][1]:.0f} MB/s")
    for way in ("relayed", "direct"):
        judge(f"rate of the door to a byte stream's, {way}",
              median[f"door, {way}"][1] / median[f"a byte stream, {way}"][1], 0.85, True)
    judge("CPU of the door to ssh -D's, both encrypted", median["door, relayed"][0] / median["ssh"][0], 1, False)
    judge("CPU of the door to Squid's, both plain", median["door, direct"][0] / median["squid"][0], 1, False)
    print(f"    the door through an encrypted relay beside plain Squid: {median['door, relayed'][0] / median['squid'][0]:.2f}")


def through_door(count, target, port, pid):
    """KiB of the door for each connection, and seconds to open them all."""
    def batch(number):
        group = [dial(port) for _ in range(number)]
        for connection in group:
            connection.sendall(f"CONNECT {target} HTTP/1.1\r\nHost: {target}\r\n\r\n".encode())
        for connection in group:
            if b" 200 " not in received(connection, b"\r\n\r\n"):
                raise SystemExit("the door refuses a connection")
            connection.sendall(b"x")
        for connection in group:
            connection.recv(1)
        return group

    kept = batch(50)
    before, start = resident(pid), time.monotonic()
    while len(kept) < count + 50:
        kept += batch(min(50, count + 50 - len(kept)))
    wall = time.monotonic() - start
    each = (resident(pid) - before) / count
    for connection in kept:
        connection.close()
    return each, wall


def by_streams(command, count):
    process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    line = process.stdout.readline()
    idle = int(line.split(", ")[1].split()[0])
    process.stdout.readline()
    each = (resident(process.pid) - idle) / count
    process.communicate("\n")
    return each


def many(count, target, port, pid, command):
    each, wall = through_door(count, target, port, pid)
    time.sleep(2)
    stream = by_streams(command, count)
    print(f"\n{count} connections at once through the door and a relay, opened in {wall:.0f} s:")
    print(f"  the door: {each:.1f} KiB each; byte streams of an app: {stream:.1f} KiB each")
    judge("KiB of the door besides the stream", each - stream, 24, False)


def main():
    arguments = sys.argv[1:]
    split = arguments.index("--")
    arguments, command = arguments[:split], arguments[split + 1:]
    if arguments[0] == "many":
        many(int(arguments[1]), arguments[2], int(arguments[3]), int(arguments[4]), command)
        return
    named = [argument.split() for argument in arguments[4:]]
    targets = {words[0]: words[1] for words in named if len(words) == 2}
    proxies = {words[0]: (int(words[1]), int(words[2])) for words in named if len(words) == 3}
    bulk(int(arguments[1]), arguments[2], int(arguments[3]), targets, proxies, command)


main()
