"""Locks many instances, one after the other, while their tunnels are open at every relay."""
import concurrent.futures
import json
import pathlib
import urllib.parse

from fleet import APP, ECHO, NAMES, USER, now
from network import Failure, run, until

HERE = pathlib.Path(__file__).resolve().parent


class Withdrawals:
    def __init__(self, fleet, count):
        self.fleet, self.count = fleet, count
        self.folder = fleet.device.folder / "instances"
        self.folder.mkdir()
        self.authority = fleet.device.folder / "instances-ca.pem"
        self.authority.write_text(fleet.instances_authority())

    def enrol(self, number):
        """An instance whose key the run has, as any client of EST makes one (RFC 7030, section 4.2)."""
        first, base = self.fleet.gateways[0], self.folder / f"{number:03}"
        link = urllib.parse.urlsplit(self.fleet.admin(first, "key", "issue", USER, APP).stdout.strip())
        query = urllib.parse.parse_qs(link.query)
        script = f"""
            set -e -o pipefail
            openssl ecparam -genkey -name prime256v1 -noout -out {base}.key
            openssl req -new -key {base}.key -subj /CN=client -outform DER | base64 > {base}.csr
            curl -sS --fail --cacert {self.authority} --user '{query["user"][0]}:{query["key"][0]}' \\
                -H 'Content-Type: application/pkcs10' -H 'Content-Transfer-Encoding: base64' \\
                --data-binary @{base}.csr https://{first.host}:17433/.well-known/est/simpleenroll \\
                | base64 -di | openssl pkcs7 -inform DER -print_certs -out {base}.pem
            openssl x509 -in {base}.pem -noout -ext subjectAltName"""
        names = self.fleet.device.run("bash", "-c", script).stdout
        return base.name, names.rsplit("/", 1)[1].strip()

    def open_tunnels(self):
        fleet = self.fleet
        relays = [f"{machine.host}:17533={self.authority}" for machine in fleet.relays]
        relays.append(f"{fleet.foreign.host}:3129={fleet.authority.file}")
        self.relays = len(relays)
        process = fleet.device.start(
            "tunnels", "python3", HERE / "tunnels.py", self.folder, f"{NAMES[0]}:{ECHO}", *relays)
        until(120, "tunnels are open", lambda: "ready" in process.out.read_text() or not process.is_running)
        if not process.is_running:
            raise Failure(f"tunnels: {process.err.read_text()}")
        return process

    def ends(self):
        return [line.split() for line in self.process.out.read_text().splitlines() if line.startswith("end ")]

    def measure(self):
        """Prints the milliseconds from the begin of a command to the end of a tunnel; returns whether all was in time."""
        with concurrent.futures.ThreadPoolExecutor(2) as pool:
            instances = dict(pool.map(self.enrol, range(self.count)))
        self.process = self.open_tunnels()
        if early := self.ends():
            raise Failure(f"{len(early)} tunnels ended by themselves")
        begun, told = {}, []
        for number, (name, instance) in enumerate(sorted(instances.items())):
            begun[name] = now()
            machine = self.fleet.gateways[number % 2]
            answer = json.loads(self.fleet.admin(machine, "lock", instance, "--json").stdout)
            told.append(answer["relays"])
        until(10, "all tunnels end", lambda: len(self.ends()) == self.count * self.relays)
        by_relay = {}
        for _, end, name, relay in self.ends():
            by_relay.setdefault(relay, []).append(int(end) - begun[name])
        print(f"{self.count} locks, one after the other; milliseconds from the command's start to the end of the tunnel:")
        for relay, times in sorted(by_relay.items()):
            self.tell(relay, times)
        self.tell("in force everywhere, as the command says", [entry["milliseconds"] for entry in told])
        missing = sum(1 for entry in told if entry["inForce"] != entry["relays"])
        print(f"  commands that missed a relay: {missing}")
        most = max(max(times) for times in by_relay.values())
        share = max(percentile(times, 99) for times in by_relay.values())
        print(f"  all within 1,000 ms: {judged(most <= 1000)}; 99 % within 150 ms: {judged(share <= 150)}")
        return missing == 0 and most <= 1000 and share <= 150

    def tell(self, what, times):
        print(f"  {what}: median {percentile(times, 50)}, 99 % {percentile(times, 99)}, most {max(times)}")


def percentile(times, share):
    return sorted(times)[min(len(times) * share // 100, len(times) - 1)]


def judged(is_reached):
    return "reached" if is_reached else "missed"
