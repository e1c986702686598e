#!/usr/bin/env python3
"""The rows of the benchmark table, from table.json. Where there is no such row it prints all, and exits with 2.

    rows.py check ROW[/PEER]    nothing
    rows.py needs ROW[/PEER]    prints the servers that it needs beside a gateway: web, sockets; or nothing
    rows.py title ROW[/PEER]    prints what it is
    rows.py operations ROW[/PEER]   prints how many operations two runs do
"""
import json
import os
import sys

TABLE = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "table.json")
# The peers of other packages are timed only.
COUNTED_PEERS = ["sallyport", "loop", "curl", "openSSL"]


def read():
    with open(TABLE) as file:
        return json.load(file)


def split(target):
    """`get-32` is `get-32/sallyport`."""
    name, _, peer = target.partition("/")
    return name, peer or "sallyport"


def find(target, table=None):
    """The row, or nothing where there is none or where its peer is not counted."""
    name, peer = split(target)
    for row in (table or read())["rows"]:
        if row["name"] == name and peer in row["peers"] and peer in COUNTED_PEERS:
            return row
    return None


def listing():
    lines = ["Rows, by Sallyport from any task; behind a slash what else does them:"]
    for row in read()["rows"]:
        others = " ".join("/" + peer for peer in row["peers"] if peer in COUNTED_PEERS[1:])
        lines.append(f"  {row['name']:<18}{row['title']:<46}{others}".rstrip())
    return "\n".join(lines)


def needs(row):
    keys = {"web": ("load", "cached"), "sockets": ("socket",)}
    return [server for server in keys if any(key in row for key in keys[server])]


def main():
    if len(sys.argv) != 3:
        sys.exit(__doc__)
    question, target = sys.argv[1:]
    row = find(target)
    if row is None:
        print(f"There is no row {target}.\n{listing()}" if target else listing(), file=sys.stderr)
        sys.exit(2)
    if question == "needs":
        print(*needs(row))
    elif question == "title":
        print(f"{row['title']}, by {split(target)[1]}")
    elif question == "operations":
        print(*row["counted"])


if __name__ == "__main__":
    main()
