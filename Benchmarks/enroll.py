"""Enrols a key by EST (RFC 7030) with curl and openssl, so that libcurl in C can use the relay too.

usage: enroll.py LINK.json DIRECTORY CONTROL_PORT
"""
import base64
import json
import pathlib
import subprocess
import sys
import urllib.parse


def run(*command, data=None):
    return subprocess.run(command, input=data, capture_output=True, check=True).stdout


def certificates(pkcs7_base64):
    der = base64.b64decode(pkcs7_base64)
    return run("openssl", "pkcs7", "-inform", "DER", "-print_certs", data=der)


def main():
    link = urllib.parse.urlsplit(json.load(open(sys.argv[1]))["link"])
    directory, port = pathlib.Path(sys.argv[2]), sys.argv[3]
    query = urllib.parse.parse_qs(link.query)
    base = f"https://{link.hostname}:{port}/.well-known/est"
    ca, key, certificate = (directory / name for name in ("ca.pem", "client.key", "client.pem"))
    ca.write_bytes(certificates(run("curl", "-sSfk", f"{base}/cacerts")))
    run("openssl", "ecparam", "-name", "prime256v1", "-genkey", "-noout", "-out", str(key))
    csr = run("openssl", "req", "-new", "-key", str(key), "-subj", "/CN=bench", "-outform", "DER")
    credentials = f"{query['user'][0]}:{query['key'][0]}"
    answer = run(
        "curl", "-sSf", "--cacert", str(ca), "-u", credentials, "-H", "Content-Type: application/pkcs10",
        "--data-binary", "@-", f"{base}/simpleenroll", data=base64.b64encode(csr))
    certificate.write_bytes(certificates(answer))


main()
