"""Network namespaces on one bridge, and the processes in them: a machine each, with a cable that can be pulled."""
import os
import pathlib
import shutil
import signal
import subprocess
import time


class Failure(Exception):
    """What a step of the run misses."""


def run(*command, check=True, timeout=60, **options):
    outcome = subprocess.run(
        [str(word) for word in command], capture_output=True, text=True, timeout=timeout, **options)
    if check and outcome.returncode != 0:
        raise Failure(f"{' '.join(map(str, command))}: ended with {outcome.returncode}: {outcome.stderr.strip()}")
    return outcome


def until(seconds, what, condition):
    """Waits for a condition, and returns what it returned."""
    end = time.monotonic() + seconds
    while True:
        found = condition()
        if found:
            return found
        if time.monotonic() > end:
            raise Failure(f"not within {seconds} s: {what}")
        time.sleep(0.1)


class Network:
    """Machines `NAME.DOMAIN` at 10.79.0.N, each of which knows the names of all."""

    def __init__(self, domain, folder):
        self.domain, self.folder = domain, pathlib.Path(folder)
        self.prefix = f"faults{os.getpid()}"
        self.switch = f"{self.prefix}-switch"
        self.machines = {}
        run("ip", "netns", "add", self.switch)
        run("ip", "-n", self.switch, "link", "add", "bridge", "type", "bridge", "forward_delay", "0")
        run("ip", "-n", self.switch, "link", "set", "bridge", "up")

    def machine(self, name):
        machine = Machine(self, name, len(self.machines) + 10)
        self.machines[name] = machine
        return machine

    def tell_names(self):
        hosts = "127.0.0.1 localhost\n" + "".join(
            f"{machine.address} {machine.host}\n" for machine in self.machines.values())
        for machine in self.machines.values():
            folder = pathlib.Path("/etc/netns") / machine.space
            folder.mkdir(parents=True, exist_ok=True)
            (folder / "hosts").write_text(hosts)

    def close(self):
        processes = [process for machine in self.machines.values() for process in machine.processes]
        for process in processes:
            process.ask_to_end()
        for process in processes:
            process.end()
        for machine in self.machines.values():
            run("ip", "netns", "del", machine.space, check=False)
            shutil.rmtree(pathlib.Path("/etc/netns") / machine.space, ignore_errors=True)
        run("ip", "netns", "del", self.switch, check=False)


class Machine:
    def __init__(self, network, name, number):
        self.network, self.name, self.address = network, name, f"10.79.0.{number}"
        self.space, self.port = f"{network.prefix}-{name}", f"port{number}"
        self.host = f"{name}.{network.domain}"
        self.folder = network.folder / name
        self.folder.mkdir()
        self.processes = []
        run("ip", "netns", "add", self.space)
        run("ip", "-n", self.space, "link", "add", "wire", "type", "veth", "peer", "name", self.port, "netns",
            network.switch)
        run("ip", "-n", network.switch, "link", "set", self.port, "master", "bridge", "up")
        run("ip", "-n", self.space, "addr", "add", f"{self.address}/24", "dev", "wire")
        for link in ("lo", "wire"):
            run("ip", "-n", self.space, "link", "set", link, "up")

    def within(self, *command):
        return ["ip", "netns", "exec", self.space, *map(str, command)]

    def run(self, *command, **options):
        return run(*self.within(*command), **options)

    def start(self, name, *command, user=None):
        if user:
            # libpq looks for certificates in the home folder.
            command = ("env", f"HOME={self.folder}", "setpriv", "--reuid", user, "--regid", "nogroup", "--clear-groups",
                       *command)
        process = Started(self, name, self.within(*command))
        self.processes.append(process)
        return process

    def signal(self, number, *names):
        """Sends a signal to the processes of these names, whoever has started them."""
        for pid in map(int, run("ip", "netns", "pids", self.space).stdout.split()):
            try:
                if pathlib.Path(f"/proc/{pid}/comm").read_text().strip() in names:
                    os.kill(pid, number)
            except (OSError, ProcessLookupError):
                pass

    def cable(self, is_plugged):
        run("ip", "-n", self.network.switch, "link", "set", self.port, "up" if is_plugged else "down")

    def drop(self, others, is_dropping):
        """Nothing comes from these machines, and nothing goes to them."""
        for other in others:
            run("ip", "-n", self.space, "route", "add" if is_dropping else "del", "blackhole", f"{other.address}/32")


class Started:
    """A process on a machine, with all that it starts."""

    def __init__(self, machine, name, command):
        self.name, self.command, self.machine = name, command, machine
        self.out, self.err = machine.folder / f"{name}.out", machine.folder / f"{name}.err"
        self.out.write_text("")
        self.err.write_text("")
        self.begin()

    def begin(self):
        # In a session of its own, so that a signal reaches its children too. What it has said before is kept.
        with open(self.out, "a") as out, open(self.err, "a") as err:
            self.process = subprocess.Popen(
                self.command, stdin=subprocess.DEVNULL, stdout=out, stderr=err, start_new_session=True)

    @property
    def pid(self):
        return self.process.pid

    @property
    def is_running(self):
        return self.process.poll() is None

    def members(self):
        """All processes of its session: a server may give its children groups of their own."""
        found = []
        for entry in pathlib.Path("/proc").iterdir():
            if not entry.name.isdigit():
                continue
            try:
                fields = (entry / "stat").read_text().rsplit(")", 1)[1].split()
            except OSError:
                continue
            if int(fields[3]) == self.pid:
                found.append(int(entry.name))
        return found

    def signal(self, number):
        for pid in self.members():
            try:
                os.kill(pid, number)
            except ProcessLookupError:
                pass

    def ask_to_end(self):
        if self.is_running:
            self.signal(signal.SIGCONT)
            self.signal(signal.SIGTERM)

    def end(self):
        self.ask_to_end()
        try:
            self.process.wait(10)
        except subprocess.TimeoutExpired:
            pass
        self.signal(signal.SIGKILL)
        self.process.wait()

    def kill(self):
        self.signal(signal.SIGKILL)
        self.process.wait()
