"""Measures our relay beside Squid, for relay.sh.

    relay.py ROUNDS COUNT WEB ECHO "NAME PORT PID AUTHORITY CERTIFICATE KEY"…

WEB has a file `/100m` over plain HTTP, ECHO sends back what comes; both are HOST:PORT. Every work is done with each proxy
in turn, round by round; the median counts. CPU is that of the proxy's process alone.
"""
import concurrent.futures
import os
import resource
import socket
import ssl
import statistics
import sys
import time

TICKS = os.sysconf("SC_CLK_TCK")
GIB = 1 << 30
SIZE, TRANSFERS = 104857600, 10
# Messages of one tunnel, and over how many tunnels at once.
MESSAGES, TUNNELS = 40000, 16
# New tunnels for their CPU, and how many are opened at once for their rate.
OPENED, AT_ONCE = 1000, 4
RATE = "new tunnels a second"


class Proxy:
    def __init__(self, words):
        self.name, port, pid, authority, certificate, key = words.split()
        self.port, self.pid = int(port), int(pid)
        self.context = ssl.create_default_context(cafile=authority)
        self.context.load_cert_chain(certificate, key)

    def cpu(self):
        fields = open(f"/proc/{self.pid}/stat").read().rsplit(")", 1)[1].split()
        return (int(fields[11]) + int(fields[12])) / TICKS

    def resident(self):
        """KiB."""
        lines = open(f"/proc/{self.pid}/status")
        return next(int(line.split()[1]) for line in lines if line.startswith("VmRSS:"))

    def tunnel(self, target):
        """A new handshake each time: the context keeps no session."""
        plain = socket.create_connection(("127.0.0.1", self.port))
        plain.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        connection = self.context.wrap_socket(plain, server_hostname="localhost")
        connection.sendall(f"CONNECT {target} HTTP/1.1\r\nHost: {target}\r\n\r\n".encode())
        answer = b""
        while b"\r\n\r\n" not in answer:
            piece = connection.recv(65536)
            if not piece:
                raise SystemExit(f"{self.name} ended the connection after {answer!r}")
            answer += piece
        if b" 200 " not in answer.split(b"\r\n")[0]:
            raise SystemExit(f"{self.name} refuses: {answer!r}")
        return connection


def echo(connection, message=b"x" * 64):
    connection.sendall(message)
    rest = len(message)
    while rest:
        rest -= len(connection.recv(rest)) or sys.exit("the echo ended")


def bulk(proxy, web, _):
    """Seconds of CPU for a GiB to the client."""
    room, before = bytearray(1 << 18), proxy.cpu()
    for _ in range(TRANSFERS):
        with proxy.tunnel(web) as connection:
            connection.sendall(b"GET /100m HTTP/1.0\r\nHost: localhost\r\n\r\n")
            count = 0
            while piece := connection.recv_into(room):
                count += piece
        if count < SIZE:
            raise SystemExit(f"{proxy.name}: {count} bytes of {SIZE}")
    return (proxy.cpu() - before) / (TRANSFERS * SIZE / GIB)


def messages(proxy, _, target):
    """Microseconds of CPU for a message there and back, one tunnel."""
    with proxy.tunnel(target) as connection:
        echo(connection)
        before = proxy.cpu()
        for _ in range(MESSAGES):
            echo(connection)
        return (proxy.cpu() - before) / MESSAGES * 1e6


def messages_at_once(proxy, _, target):
    """The same over several tunnels at once."""
    connections = [proxy.tunnel(target) for _ in range(TUNNELS)]
    message = b"x" * 64
    before = proxy.cpu()
    for _ in range(MESSAGES // TUNNELS):
        for connection in connections:
            connection.sendall(message)
        for connection in connections:
            rest = len(message)
            while rest:
                rest -= len(connection.recv(rest)) or sys.exit("the echo ended")
    cost = (proxy.cpu() - before) / (MESSAGES // TUNNELS * TUNNELS) * 1e6
    for connection in connections:
        connection.close()
    return cost


def opened(proxy, target):
    with proxy.tunnel(target) as connection:
        echo(connection, b"x")


def tunnels(proxy, _, target):
    """Microseconds of CPU for a new tunnel, with one byte there and back."""
    before = proxy.cpu()
    for _ in range(OPENED):
        opened(proxy, target)
    return (proxy.cpu() - before) / OPENED * 1e6


def rate(proxy, _, target):
    """New tunnels a second, some at once."""
    start = time.monotonic()
    with concurrent.futures.ThreadPoolExecutor(AT_ONCE) as pool:
        list(pool.map(lambda _: opened(proxy, target), range(OPENED)))
    return OPENED / (time.monotonic() - start)


def idle(proxy, target, count):
    """KiB of memory for each tunnel that is open and idle."""
    kept = [proxy.tunnel(target) for _ in range(50)]
    before = proxy.resident()
    for _ in range(count):
        kept.append(proxy.tunnel(target))
        echo(kept[-1], b"x")
    time.sleep(1)
    each = (proxy.resident() - before) / count
    for connection in kept:
        connection.close()
    return each


def judge(what, ratio, bound):
    """Ours in parts of theirs, of what is to be small; the other way round of a rate."""
    print(f"    {what}: {ratio:.2f} (at most {bound:.1f}): {'reached' if ratio <= bound else 'missed'}")


def main():
    rounds, count, web, target = int(sys.argv[1]), int(sys.argv[2]), sys.argv[3], sys.argv[4]
    proxies = [Proxy(words) for words in sys.argv[5:]]
    _, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
    works = [
        ("CPU for a GiB", "s", bulk, 0.7), ("CPU for a message of 64 bytes and its echo", "µs", messages, 1.0),
        (f"the same over {TUNNELS} tunnels at once", "µs", messages_at_once, 1.0),
        ("CPU for a new tunnel", "µs", tunnels, 1.0), (RATE, "", rate, 1.0)]
    samples = {(what, proxy.name): [] for what, *_ in works for proxy in proxies}
    for proxy in proxies:
        # What is done once: threads, pools, code that is read from the disk.
        for _ in range(20):
            opened(proxy, target)
    # First, since memory that was used once stays with a process.
    memory = {proxy.name: idle(proxy, target, count) for proxy in proxies}
    for _ in range(rounds):
        for what, _, work, _ in works:
            for proxy in proxies:
                samples[what, proxy.name].append(work(proxy, web, target))
    ours, theirs = proxies[0].name, proxies[1].name
    with proxies[0].tunnel(target) as one, proxies[1].tunnel(target) as other:
        print(f"{ours}: {one.version()}, {one.cipher()[0]}; {theirs}: {other.version()}, {other.cipher()[0]}")
    print(f"median of {rounds} interleaved rounds:")
    for what, unit, _, bound in works:
        median = {proxy.name: statistics.median(samples[what, proxy.name]) for proxy in proxies}
        print(f"  {what}: " + ", ".join(f"{name} {value:,.2f} {unit}".rstrip() for name, value in median.items())
              + f"; ratio {median[ours] / median[theirs]:.2f}")
        ratio = median[ours] / median[theirs]
        judge(what, 1 / ratio if what == RATE else ratio, bound)
    print(f"  memory of an idle tunnel, {count} of them: "
          + ", ".join(f"{name} {value:.1f} KiB" for name, value in memory.items()))
    judge("memory of an idle tunnel", memory[ours] / memory[theirs], 1.0)


main()
