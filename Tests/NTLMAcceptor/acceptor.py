"""An HTTP server that asks for NTLM on each connection and verifies it with pyspnego: the proof, the code over all three
messages (MIC), and the channel binding.

Prints its port, then a line for each answer: connection, method, path, status, user or "-", octets of the request's body,
and what the last message had: "mic", "bindings", "v1". What lies at /kept may be stored, /open is for all. SIGUSR1 ends
all connections, and says "ended" on standard error.
"""

import argparse
import base64
import contextlib
import hashlib
import http.server
import os
import signal
import socket
import ssl
import sys
import threading

from cryptography import x509
from cryptography.hazmat.primitives.serialization import Encoding
from spnego._ntlm import NTLMProxy
from spnego._ntlm_raw.messages import Authenticate, AvId, Challenge, NegotiateFlags, NTClientChallengeV2
from spnego.channel_bindings import GssChannelBindings

arguments = argparse.ArgumentParser()
arguments.add_argument("users", help="a file with lines DOMAIN:USER:PASSWORD")
arguments.add_argument("--address", default="127.0.0.1", help="where it listens")
arguments.add_argument("--certificate", help="PEM, with the key: TLS")
arguments.add_argument("--foreign-bindings", action="store_true", help="expects the binding of another certificate")
arguments.add_argument("--old", choices=["v1", "session"], help="speaks as servers do that know no NTLMv2")
arguments.add_argument("--dying", type=int, default=0, help="so many connections end after their challenge")
arguments.add_argument("--without-code", action="store_true", help="takes messages without the code over them")
arguments.add_argument("--forgetful", type=int, default=0, help="forgets who uses a connection after so many requests")
settings = arguments.parse_args()
os.environ["NTLM_USER_FILE"] = settings.users
os.environ["LM_COMPAT_LEVEL"] = "0" if settings.old == "v1" else "4" if settings.old else "5"

lock = threading.Lock()
counts = {"connections": 0, "deaths": 0}
open_sockets = set()


class OldServer(NTLMProxy):
    """Says nothing of itself, as servers did before NTLMv2."""

    def _step_accept_negotiate(self, token):
        token = super()._step_accept_negotiate(token)
        flags = self._temp_challenge.flags & ~NegotiateFlags.target_info
        if settings.old == "v1":
            flags &= ~NegotiateFlags.extended_session_security
        self._temp_challenge = Challenge(flags, self._temp_challenge.server_challenge, target_name="OLD")
        return self._temp_challenge.pack()


def bindings():
    if not settings.certificate:
        return None
    with open(settings.certificate, "rb") as file:
        certificate = x509.load_pem_x509_certificate(file.read())
    der = certificate.public_bytes(Encoding.DER)
    name = certificate.signature_hash_algorithm.name
    digest = hashlib.new("sha256" if name in ("md5", "sha1") else name, der).digest()
    if settings.foreign_bindings:
        digest = bytes(len(digest))
    return GssChannelBindings(application_data=b"tls-server-end-point:" + digest)


class Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True

    def setup(self):
        super().setup()
        self.context = None
        self.user = None
        self.facts = ""
        self.served = 0
        with lock:
            counts["connections"] += 1
            self.number = counts["connections"]
            open_sockets.add(self.connection)

    def finish(self):
        with lock:
            open_sockets.discard(self.connection)
        super().finish()

    def answer(self, status, challenge=None, body=b""):
        # Before the answer, which another connection may follow at once.
        fields = [self.number, self.command, self.path, status, self.user or "-", self.length, self.facts]
        with lock:
            print(*fields)
            sys.stdout.flush()
        self.send_response(status)
        if challenge is not None:
            self.send_header("WWW-Authenticate", challenge)
        if status == 200 and self.path == "/kept":
            self.send_header("Cache-Control", "max-age=600")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(body)

    def handle_any(self):
        self.length = int(self.headers.get("Content-Length") or 0)
        self.rfile.read(self.length)
        if self.path == "/open":
            return self.answer(200, body=b"open")
        field = self.headers.get("Authorization") or ""
        if field.startswith("NTLM "):
            return self.step(base64.b64decode(field[5:], validate=True))
        if settings.forgetful and self.served >= settings.forgetful:
            self.user = None
        if self.user is None:
            return self.answer(401, "NTLM", b"who?")
        self.served += 1
        self.answer(200, body=b"hello " + self.user.encode())

    do_GET = do_POST = do_PUT = do_HEAD = do_DELETE = handle_any

    def step(self, token):
        if token[8] == 1:
            kind = OldServer if settings.old else NTLMProxy
            self.user = None
            self.context = kind(usage="accept", channel_bindings=expected)
            challenge = self.context.step(token)
            self.answer(401, "NTLM " + base64.b64encode(challenge).decode(), b"prove it")
            with lock:
                isDying = counts["deaths"] < settings.dying
                counts["deaths"] += isDying
            if isDying:
                self.close_connection = True
            return None
        try:
            self.context.step(token)
            self.facts = self.describe(Authenticate.unpack(token))
            self.user = self.context.client_principal
            self.served = 1
        except Exception as error:
            self.facts = type(error).__name__
            self.context = None
            return self.answer(401, "NTLM", b"no")
        if not settings.old and not settings.without_code and "mic" not in self.facts:
            self.user = None
            return self.answer(401, "NTLM", b"no code")
        return self.answer(200, body=b"hello " + self.user.encode())

    @staticmethod
    def describe(message):
        proof = message.nt_challenge_response
        if len(proof) == 24:
            return "v1"
        pairs = NTClientChallengeV2.unpack(proof[16:]).av_pairs
        facts = ["mic"] if message.mic and any(message.mic) else []
        if any(pairs.get(AvId.channel_bindings, b"")):
            facts.append("bindings")
        return " ".join(facts + [pairs.get(AvId.target_name, "")])

    def log_message(self, *_):
        pass


class Server(http.server.ThreadingHTTPServer):
    daemon_threads = True
    request_queue_size = 1024


def end_connections(*_):
    for connection in list(open_sockets):
        # The client may have ended it meanwhile.
        with contextlib.suppress(OSError):
            connection.shutdown(socket.SHUT_RDWR)
    os.write(2, b"ended\n")


expected = bindings()
signal.signal(signal.SIGUSR1, end_connections)
# Whoever starts this may have it blocked.
signal.pthread_sigmask(signal.SIG_UNBLOCK, [signal.SIGUSR1, signal.SIGTERM])
server = Server((settings.address, 0), Handler)
if settings.certificate:
    tls = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    tls.load_cert_chain(settings.certificate)
    server.socket = tls.wrap_socket(server.socket, server_side=True, do_handshake_on_connect=False)
print(server.server_port)
sys.stdout.flush()
server.serve_forever()
