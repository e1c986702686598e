#!/usr/bin/env python3
"""Draws a flame graph of a program and prints what it counts for each operation; see Docs/Performance.md.

    profile.py --title TITLE --out FILE.svg --operations FEWER,MORE PROGRAM [ARGUMENT…]
"""
import argparse
import os
import sys
import tempfile

import callgrind
import flamegraph

# So many callers are told apart; what lies deeper loses its outermost ones.
CALLERS = 48


def text(value):
    return f"{value:,.0f}" if value >= 1000 else f"{value:,.2f}"


def print_counts(counts):
    print("For each operation:")
    for name, value in counts.quantities().items():
        print(f"  {name:<18}{text(value):>14}")


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--title", required=True)
    parser.add_argument("--out", required=True)
    parser.add_argument("--operations", required=True)
    parser.add_argument("command", nargs=argparse.REMAINDER)
    options = parser.parse_args()
    fewer, more = (int(number) for number in options.operations.replace(",", " ").split())
    program = options.command[0]
    libraries = [os.path.dirname(os.path.abspath(program)), os.environ.get("LD_LIBRARY_PATH", "")]
    with tempfile.TemporaryDirectory(prefix="sallyport-profile.") as folder:
        command = [callgrind.stripped(program, folder)] + options.command[1:]
        counts = callgrind.per_operation(
            command, (fewer, more), CALLERS, {"LD_LIBRARY_PATH": ":".join(filter(None, libraries))})
    print_counts(counts)
    top = flamegraph.tree(counts.stacks, f"one operation of {more - fewer}")
    os.makedirs(os.path.dirname(os.path.abspath(options.out)), exist_ok=True)
    with open(options.out, "w") as file:
        file.write(flamegraph.draw(
            top, options.title, f"{text(counts.instructions)} instructions for each operation; a click widens a frame"))
    print(f"Flame graph: {options.out}")


if __name__ == "__main__":
    try:
        main()
    except callgrind.Failure as failure:
        sys.exit(f"{failure}\nDocs/Performance.md says what a program needs that is to be counted.")
