"""A PostgreSQL of three nodes under Patroni, with an etcd of three."""
import glob
import json
import pathlib
import subprocess

from network import Failure, run, until

# As `Docs/Fleet.md` recommends: an acknowledged decision is on two machines.
CONFIGURATION = """\
scope: fleet
name: {name}
restapi: {{listen: "{address}:8008", connect_address: "{address}:8008"}}
etcd3: {{hosts: [{etcd}]}}
bootstrap:
  dcs:
    ttl: 20
    loop_wait: 5
    retry_timeout: 5
    synchronous_mode: true
    postgresql:
      use_pg_rewind: true
      parameters: {{max_connections: 200, shared_buffers: 32MB, wal_log_hints: "on"}}
  initdb: [{{encoding: UTF8}}, {{locale: C}}, {{auth: trust}}, {{username: sallyport}}]
postgresql:
  listen: "{address}:5432"
  connect_address: "{address}:5432"
  data_dir: {folder}/data
  bin_dir: {programs}
  authentication:
    superuser: {{username: sallyport}}
    replication: {{username: sallyport}}
    rewind: {{username: sallyport}}
  pg_hba:
    - local all all trust
    - hostssl all all 10.79.0.0/24 trust
    - hostssl replication all 10.79.0.0/24 trust
  parameters:
    unix_socket_directories: "{folder}"
    dynamic_shared_memory_type: mmap
    ssl: "on"
    ssl_cert_file: {folder}/server.pem
    ssl_key_file: {folder}/server.key
"""


class Database:
    def __init__(self, network, authority):
        found = sorted(glob.glob("/usr/lib/postgresql/*/bin"))
        if not found:
            raise Failure("PostgreSQL is not installed: Tests/Scripts/dependencies --faults")
        self.programs = found[-1]
        self.nodes = [network.machine(f"db{number}") for number in (1, 2, 3)]
        self.authority = authority
        self.patroni = {}

    @property
    def url(self):
        hosts = ",".join(node.host for node in self.nodes)
        return f"postgresql://sallyport@{hosts}/postgres?sslmode=verify-full&sslrootcert={self.authority.file}"

    def start(self):
        cluster = ",".join(f"{node.name}=http://{node.address}:2380" for node in self.nodes)
        for node in self.nodes:
            self.authority.issue(node.host, node.folder / "server")
            (node.folder / "patroni.yml").write_text(CONFIGURATION.format(
                name=node.name, address=node.address, folder=node.folder, programs=self.programs,
                etcd=", ".join(f'"{other.address}:2379"' for other in self.nodes)))
            run("chown", "-R", "nobody", node.folder)
            node.folder.chmod(0o700)
            node.start(
                "etcd", "etcd", "--name", node.name, "--data-dir", node.folder / "etcd", "--listen-client-urls",
                f"http://{node.address}:2379", "--advertise-client-urls", f"http://{node.address}:2379",
                "--listen-peer-urls", f"http://{node.address}:2380", "--initial-advertise-peer-urls",
                f"http://{node.address}:2380", "--initial-cluster", cluster, "--initial-cluster-state", "new",
                "--unsafe-no-fsync", user="nobody")
        for node in self.nodes:
            self.patroni[node.name] = node.start("patroni", "patroni", node.folder / "patroni.yml", user="nobody")
        until(90, "a leader and a synchronous standby of the database", self.is_healthy)

    def cluster(self):
        """The members, as any node tells: name, role, state, timeline."""
        for node in self.nodes:
            try:
                answer = node.run("curl", "-sf", "--max-time", "1", f"http://{node.address}:8008/cluster", timeout=5)
                return json.loads(answer.stdout)["members"]
            except (Failure, json.JSONDecodeError, KeyError, subprocess.TimeoutExpired):
                continue
        return []

    def leader(self):
        """The node that Patroni names, if its PostgreSQL runs."""
        return self.member(("leader", "master"), ("running",))

    def standby(self):
        """The node for which commits wait, if it follows the leader."""
        return self.member(("sync_standby",), ("running", "streaming"))

    def member(self, roles, states):
        for member in self.cluster():
            if member["role"] in roles and member["state"] in states:
                return next(node for node in self.nodes if node.name == member["name"])
        return None

    def is_healthy(self):
        for process in self.patroni.values():
            if not process.is_running:
                raise Failure(f"Patroni on {process.machine.name} ended: {process.err.read_text()[-400:]}")
        members = self.cluster()
        states = [member["role"] for member in members if member["state"] in ("running", "streaming")]
        return len(states) == 3 and "leader" in states and "sync_standby" in states

    def sql(self, node, statement):
        """Over the node's own Unix socket."""
        return node.run(
            "setpriv", "--reuid", "nobody", "--regid", "nogroup", "--clear-groups", f"{self.programs}/psql", "-qAtX",
            "-h", node.folder, "-U", "sallyport", "postgres", "-c", statement, check=False).stdout.strip()


class Authority:
    """An authority of the run's own, for servers."""

    def __init__(self, folder):
        self.folder = pathlib.Path(folder)
        self.file = self.folder / "ca.pem"
        self.key = self.folder / "ca.key"
        run("openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes", "-days", "2",
            "-subj", "/CN=Corp CA", "-keyout", self.key, "-out", self.file)

    def issue(self, name, base):
        """BASE.pem and BASE.key, for a server of this name."""
        base = str(base)
        run("openssl", "req", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes", "-subj", f"/CN={name}",
            "-keyout", f"{base}.key", "-out", f"{base}.csr")
        extensions = pathlib.Path(f"{base}.ext")
        extensions.write_text(f"subjectAltName=DNS:{name}\nextendedKeyUsage=serverAuth\nbasicConstraints=CA:FALSE\n")
        run("openssl", "x509", "-req", "-in", f"{base}.csr", "-CA", self.file, "-CAkey", self.key, "-days", "2", "-extfile",
            extensions, "-out", f"{base}.pem")
