"""Two control gateways, two relays, a Squid with a guard, a server inside, and an app that loads from it all the time."""
import json
import pathlib
import threading
import time

from network import Failure, run, until

USER, APP, VERSION = "ann@corp.example", "com.example.faults", "1.0.0.0"
# Both names are of one server. Tunnels to the first go through the relays, those to the second through the Squid, and
# through the relays while it cannot be reached.
NAMES = ("inside.corp.example", "foreign.corp.example")
PORT, ECHO = 8443, 7000

NGINX = """\
daemon off;
worker_processes 1;
pid {folder}/nginx.pid;
error_log stderr error;
events {{ worker_connections 512; }}
http {{
    access_log off;
    client_body_temp_path {folder}/body;
    proxy_temp_path {folder}/proxy;
    fastcgi_temp_path {folder}/fastcgi;
    uwsgi_temp_path {folder}/uwsgi;
    scgi_temp_path {folder}/scgi;
    # Most loads go over a connection that is open, some open one.
    keepalive_requests 10;
    server {{
        listen {port} ssl;
        ssl_certificate {folder}/server.pem;
        ssl_certificate_key {folder}/server.key;
        location / {{ return 200 "figures\\n"; }}
    }}
}}
"""

SQUID = """\
https_port 3129 tls-cert={folder}/relay.pem tls-key={folder}/relay.key clientca={folder}/ca.pem sslcontext=sallyport
external_acl_type sallyport ttl=0 negative_ttl=0 concurrency=64 children-startup=1 children-max=4 %>a %>p %>la %>lp %DST %PORT %"USER_CERT {program} gateway acl-helper --guard {folder}/guard.sock
acl sallyport external sallyport
acl unavailable note sallyport unavailable
acl CONNECT method CONNECT
http_access deny !CONNECT
http_access allow sallyport
http_access deny unavailable
deny_info 503:ERR_CANNOT_FORWARD unavailable
reply_header_add Retry-After "10" unavailable
http_access deny all
cache deny all
cache_mem 0 MB
pid_filename {folder}/squid.pid
cache_log {folder}/cache.log
access_log stdio:{folder}/access.log
coredump_dir {folder}
shutdown_lifetime 1 second
"""

ECHO_SERVER = """\
import asyncio
async def echo(reader, writer):
    try:
        while data := await reader.read(65536):
            writer.write(data)
            await writer.drain()
    except ConnectionError:
        pass
    finally:
        writer.close()
async def main():
    server = await asyncio.start_server(echo, "0.0.0.0", %d)
    await server.serve_forever()
asyncio.run(main())
"""


class Fleet:
    def __init__(self, network, authority, binaries):
        self.network, self.authority = network, authority
        self.program = pathlib.Path(binaries) / "sallyport"
        self.app_program = pathlib.Path(binaries) / "FaultApp"
        self.gateways = [network.machine(name) for name in ("a", "b")]
        self.relays = [network.machine(name) for name in ("r1", "r2")]
        self.foreign, self.inside, self.device = map(network.machine, ("squid", "inside", "app"))
        self.processes = {}

    def sallyport(self, machine, *words, check=True, timeout=30):
        return machine.run(self.program, *words, check=check, timeout=timeout)

    def admin(self, machine, *words, check=True):
        return self.sallyport(machine, "admin", *words, "--data", machine.folder / "data", check=check)

    def start(self, database):
        self.start_inside()
        first, second = self.gateways
        self.sallyport(first, "gateway", "init", "--data", first.folder / "data", "--name", first.host, "--database", database)
        self.join(second, "--name", second.host)
        for machine in self.gateways:
            self.serve(machine, "gateway", "run", "--role", "control")
        for machine in self.relays:
            self.join(machine, "--role", "relay", "--name", machine.host)
            self.serve(machine, "gateway", "run", "--role", "relay")
        self.start_foreign()
        self.decide()

    def join(self, machine, *words):
        data = machine.folder / "data"
        request = self.sallyport(machine, "gateway", "join", *words, "--data", data).stdout.strip()
        first = self.gateways[0]
        invitation = self.sallyport(first, "gateway", "invite", request, "--data", first.folder / "data").stdout.strip()
        # A gateway is named when it joins, a relay when it asks to.
        name = words if "relay" not in words else ()
        self.sallyport(machine, "gateway", "join", invitation, *name, "--data", data)

    def serve(self, machine, *words, kind="gateway"):
        process = machine.start(kind, self.program, *words, "--data", machine.folder / "data", "--json")
        self.processes[machine.name if kind == "gateway" else kind] = process
        self.is_ready(process)

    def is_ready(self, process):
        until(30, f"{process.name} on {process.machine.name} is ready: {process.err.read_text()[-400:]}",
              lambda: '"ready":true' in process.out.read_text() or not process.is_running)
        if not process.is_running:
            raise Failure(f"{process.name} on {process.machine.name}: {process.err.read_text()}")

    def start_inside(self):
        machine = self.inside
        self.authority.issue(NAMES[0], machine.folder / "server")
        extensions = machine.folder / "server.ext"
        names = ",".join(f"DNS:{name}" for name in NAMES)
        extensions.write_text(f"subjectAltName={names}\nextendedKeyUsage=serverAuth\n")
        run("openssl", "x509", "-req", "-in", machine.folder / "server.csr", "-CA", self.authority.file, "-CAkey",
            self.authority.key, "-days", "2", "-extfile", extensions, "-out", machine.folder / "server.pem")
        (machine.folder / "nginx.conf").write_text(NGINX.format(folder=machine.folder, port=PORT))
        machine.start("nginx", "nginx", "-e", "stderr", "-c", machine.folder / "nginx.conf")
        (machine.folder / "echo.py").write_text(ECHO_SERVER % ECHO)
        machine.start("echo", "python3", machine.folder / "echo.py")

    def start_foreign(self):
        machine, first = self.foreign, self.gateways[0]
        machine.folder.chmod(0o755)
        self.authority.issue(machine.host, machine.folder / "relay")
        self.admin(first, "cluster", "set", "squid", f"{machine.host}:3129", "--authority", self.authority.file)
        self.join(machine, "--role", "relay", "--name", machine.host, "--cluster", "squid")
        (machine.folder / "ca.pem").write_text(self.instances_authority())
        self.serve(machine, "gateway", "guard", "--guard", machine.folder / "guard.sock", "--allow-user", "proxy",
                   "--guard-port", "3129", kind="guard")
        (machine.folder / "squid.conf").write_text(SQUID.format(folder=machine.folder, program=self.program))
        run("chown", "proxy", machine.folder, machine.folder / "relay.key")
        self.processes["squid"] = machine.start("squid", "squid", "-N", "-f", machine.folder / "squid.conf")
        until(20, "Squid listens", lambda: machine.run("ss", "-ltnH", "sport = :3129").stdout)

    def instances_authority(self):
        """As any app gets it (RFC 7030, section 4.1)."""
        first = self.gateways[0]
        answer = first.run(
            "bash", "-c",
            f"curl -sSfk https://{first.host}:17433/.well-known/est/cacerts | base64 -di "
            "| openssl pkcs7 -inform DER -print_certs")
        return answer.stdout

    def decide(self):
        first = self.gateways[0]
        self.admin(first, "user", "add", USER)
        self.admin(first, "app", "add", APP, VERSION)
        self.admin(first, "entitle", USER, APP, VERSION)
        self.admin(first, "server", "add", f"{NAMES[0]}:{PORT}", "--app", APP)
        self.admin(first, "server", "add", f"{NAMES[0]}:{ECHO}", "--app", APP)
        self.admin(first, "server", "add", f"{NAMES[1]}:{PORT}", "--app", APP, "--route", "relay:squid", "--secondary", "main")

    def start_app(self):
        machine, first = self.device, self.gateways[0]
        link = machine.folder / "link"
        link.write_text(self.admin(first, "key", "issue", USER, APP).stdout)
        store = machine.folder / "store"
        self.sallyport(machine, "activate", "--link-file", link, "--store", store)
        process = machine.start(
            "app", self.app_program, store, self.authority.file, f"{NAMES[0]}:{ECHO}",
            *(f"https://{name}:{PORT}/" for name in NAMES))
        self.app = App(process)

    def uses(self, machine):
        """How many connections the app has to a relay."""
        return len(self.device.run("ss", "-tnH", "state", "established", f"dst {machine.address}").stdout.splitlines())

    def relay_in_use(self):
        """The name of the relay that carries the app's loads; those of the other cluster go through a relay as well after a
        fault of the Squid."""
        count, machine = max((self.uses(machine), machine.name) for machine in self.relays)
        return machine if count else None


class App:
    """What the app has printed."""

    def __init__(self, process):
        self.process = process

    def events(self, start, end=None):
        found = []
        for line in self.process.out.read_text().splitlines(keepends=True):
            words = line.rstrip("\n").split(" ", 4 if line.startswith("load") else 3)
            # The last line may not be whole.
            if not line.endswith("\n") or int(words[1]) < start or (end and int(words[1]) > end):
                continue
            found.append(words)
        return found

    def is_well(self, seconds=1):
        """Whether loads of both servers have succeeded within the last second, and none has failed."""
        start = now() - int(seconds * 1000)
        loads = [words for words in self.events(start) if words[0] == "load"]
        return {words[3] for words in loads if words[4] == "ok"} == {"0", "1"} and all(words[4] == "ok" for words in loads)


class Decisions(threading.Thread):
    """Adds a user again and again, at any gateway that answers, and keeps which were acknowledged."""

    def __init__(self, fleet):
        super().__init__(daemon=True)
        self.fleet, self.acknowledged, self.refused, self.longest = fleet, [], 0, 0
        self.is_over = threading.Event()

    def run(self):
        number = 0
        while not self.is_over.is_set():
            number += 1
            name, start = f"u{now()}@corp.example", time.monotonic()
            machine = self.fleet.gateways[number % 2]
            try:
                outcome = self.fleet.admin(machine, "user", "add", name, check=False)
                if outcome.returncode == 0:
                    self.acknowledged.append(name)
                    self.longest = max(self.longest, time.monotonic() - start)
                else:
                    self.refused += 1
            except Exception:
                self.refused += 1
            self.is_over.wait(0.5)

    def end(self):
        self.is_over.set()
        self.join(60)
        return self

    def lost(self):
        """Those that a gateway does not know."""
        missing = set()
        for machine in self.fleet.gateways:
            known = set(self.fleet.admin(machine, "user", "list").stdout.split())
            missing |= set(self.acknowledged) - known
        return sorted(missing)


def now():
    """Milliseconds of the monotonic clock, as the app prints them."""
    return time.clock_gettime_ns(time.CLOCK_MONOTONIC) // 1_000_000
