#!/usr/bin/env python3
"""Counts what rows of the benchmark table take for each operation, and compares it with the ceilings.

    counts.py measure [--update] [--steady] [--figures FILE] PROGRAM [ROW/PEER…]
    counts.py compare [--steady] FIGURES CEILINGS

Prints whether the targets that are counts are reached, which ceiling a row is above, and which can be lowered. Exits
with 1 where a row is above one, in each of three runs: how threads take turns moves a count by some percent.
`--update` writes today's figures, the median of three runs, as ceilings, with 3 % of room; `--figures` writes them into
a file. `--steady` is for machines that do other work too, or are not the one of the ceilings: it compares only what
hardly depends on the turns of threads, and allows more, but no more than a target that is a number.
"""
import argparse
import concurrent.futures
import json
import math
import os
import statistics
import subprocess
import sys
import tempfile

import callgrind
import rows

CEILINGS = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "ceilings.json")
# A ceiling's room over the figure, in parts; and at least, for small counts. Whether an answer is there when a task looks
# for it is a hop more or less.
ROOM, LEAST_ROOM, LEAST_ROOM_OF_HOPS = 0.03, 0.02, 1
RUNS = 3
# What has a ceiling; the other counts depend on which thread the machine lets run.
LIMITED = ["instructions", "malloc", "task allocations", "hops", "retains", "releases", "recv", "send", "poll"]
# What is compared with `--steady`, and how far it may be above its ceiling, in parts. A change adds at least one call into
# the kernel to each operation, or none; other work on the machine adds some to a few of them.
STEADY = {
    "instructions": 0.1, "malloc": 0.1, "task allocations": 0.1, "hops": 0.4, "recv": 0.4, "send": 0.4, "poll": 9}
KERNEL_CALLS = ["recv", "send", "poll"]
SHOWN = [
    "instructions", "malloc", "task allocations", "hops", "retains", "locks", "recv", "send", "poll", "epoll_wait",
    "epoll_ctl", "futex"]


def ceiling(figure, quantity):
    figure, least = max(0, figure), LEAST_ROOM_OF_HOPS if quantity == "hops" else LEAST_ROOM
    # Up to the next hundredth, but for what the computer's arithmetic adds.
    return math.ceil(max(figure * (1 + ROOM), figure + least) * 100 - 1e-6) / 100


def is_within(figure, limit):
    """Less than one in a hundred operations is not each operation's."""
    return round(figure, 2) <= limit


def compare(figures, ceilings):
    """Two lists of lines: what is above its ceiling, and which ceilings can be lowered."""
    above, lower = [], []
    for target, limits in ceilings.items():
        for quantity, limit in limits.items():
            figure = figures.get(target, {}).get(quantity)
            if figure is None:
                above.append(f"{target}: {quantity} was not counted")
            elif not is_within(figure, limit):
                more = f", {100 * (figure / limit - 1):.1f} % more" if limit > 0 else ""
                above.append(f"{target}: {quantity} {figure:,.2f}, ceiling {limit:,.2f}{more}")
            elif (lowered := ceiling(figure, quantity)) < limit * (1 - ROOM) - LEAST_ROOM:
                lower.append(f"{target}: {quantity} {figure:,.2f}, ceiling {limit:,.2f} can be {lowered:,.2f}")
    return above, lower


def bounds():
    """What the targets that are numbers, not parts of a peer's figure, allow: for each quantity of a row and peer. Not
    calls into the kernel, of which other work on the machine adds some."""
    return {
        (name, aim["peer"], aim["quantity"]): aim["bound"]
        for aim in rows.read()["targets"]
        if "of" not in aim and aim["quantity"] not in KERNEL_CALLS for name in aim["rows"]}


def steady(ceilings):
    """Those of the ceilings that hold on a busy machine, with their room, which ends at a target's bound."""
    most = bounds()

    def raised(target, quantity, limit):
        return min(limit * (1 + STEADY[quantity]), most.get((*rows.split(target), quantity), math.inf))
    return {
        target: {name: raised(target, name, limit) for name, limit in limits.items() if name in STEADY}
        for target, limits in ceilings.items()}


def report(above, lower):
    """Prints the comparison; true where nothing is above its ceiling."""
    if lower:
        print("Ceilings that can be lowered (Benchmarks/counts.sh --update):", *lower, sep="\n- ")
    if above:
        print("Above the ceiling:", *above, sep="\n- ")
    else:
        print("Every count is below its ceiling.")
    return not above


def versions():
    """Of what is counted and is not ours."""
    def line(*command):
        try:
            return subprocess.run(command, capture_output=True, text=True, check=True).stdout.split("\n")[0].strip()
        except (OSError, subprocess.CalledProcessError):
            return "unknown"
    return {
        "Swift": line("swift", "--version"), "libcurl": line("pkg-config", "--modversion", "libcurl"),
        "OpenSSL": line("pkg-config", "--modversion", "openssl"), "C library": line("getconf", "GNU_LIBC_VERSION"),
        "valgrind": line("valgrind", "--version")}


def measure(program, targets):
    """The counts of each, by name. A process for each processor."""
    table = rows.read()

    def one(target):
        row = rows.find(target, table)
        if row is None:
            raise callgrind.Failure(f"There is no row {target}.\n{rows.listing()}")
        return callgrind.per_operation([program, target], row["counted"]).quantities()
    with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        return dict(zip(targets, pool.map(one, targets)))


def combined(runs, choose):
    """One figure for each quantity of each row of several runs."""
    return {
        target: {name: choose([run[target].get(name, 0) for run in runs if target in run]) for name in values}
        for target, values in runs[0].items()}


def exceeding(figures, ceilings):
    """The rows that are above one of their ceilings."""
    return [target for target in ceilings if compare(figures, {target: ceilings[target]})[0]]


def print_table(figures):
    print(f"{'for each operation':<22}" + "".join(f"{name:>{max(9, len(name) + 2)}}" for name in SHOWN))
    for target, values in figures.items():
        cells = (
            f"{values.get(name, 0):>{max(9, len(name) + 2)},.{0 if name == 'instructions' else 2}f}" for name in SHOWN)
        print(f"{target:<22}" + "".join(cells))


def judge(figures):
    """Prints the ratios to the peers in C, and what is reached of the targets that are counts."""
    for target, values in figures.items():
        name, peer = rows.split(target)
        for other in ("curl", "openSSL"):
            theirs = figures.get(f"{name}/{other}")
            if theirs and other != peer:
                ratio = values["instructions"] / theirs["instructions"]
                print(f"{target}: {ratio:.2f} of the instructions of {other} in C")
    for aim in rows.read()["targets"]:
        for name in aim["rows"]:
            ours = figures.get(f"{name}/{aim['peer']}", {}).get(aim["quantity"])
            theirs = figures.get(f"{name}/{aim['of']}", {}).get(aim["quantity"]) if "of" in aim else 1
            if ours is None or not theirs:
                continue
            value = ours / theirs
            verdict = "reached" if is_within(value, aim["bound"]) else "missed"
            subject = f"{name}, {aim['peer']}: {aim['quantity']}" + (f" of {aim['of']}'s" if "of" in aim else "")
            print(f"    {subject:<48}{value:<10.2f}≤ {aim['bound']:<9.2f}{verdict}")


def measure_all(options):
    with open(CEILINGS) as file:
        committed = json.load(file)
    ceilings = committed["ceilings"]
    if options.targets:
        ceilings = {target: ceilings[target] for target in options.targets if target in ceilings}
    targets = options.targets or list(ceilings) + committed["peers"]
    if options.steady:
        ceilings = steady(ceilings)
    with tempfile.TemporaryDirectory(prefix="sallyport-counts.") as folder:
        program = callgrind.stripped(options.program, folder)
        runs = [measure(program, targets)]
        if options.update:
            runs += [measure(program, targets) for _ in range(RUNS - 1)]
            figures = combined(runs, statistics.median)
        else:
            # Only what is above is counted again; the lowest figure is the one that the rows can reach.
            while len(runs) < RUNS and (again := exceeding(combined(runs, min), ceilings)):
                runs.append(measure(program, again))
            figures = combined(runs, min)
    print_table(figures)
    judge(figures)
    if options.figures:
        with open(options.figures, "w") as file:
            json.dump(figures, file, indent=2)
    if options.update:
        write(committed, {target: figures[target] for target in ceilings})
        return True
    above, lower = compare(figures, ceilings)
    is_below = report(above, [] if options.steady else lower)
    today = versions()
    for name, version in committed.get("versions", {}).items():
        if today[name] != version:
            print(f"The ceilings are of {name} {version}; this is {today[name]}.")
    return is_below


def write(committed, figures):
    for target, values in figures.items():
        committed["ceilings"][target] = {name: ceiling(values[name], name) for name in LIMITED}
    committed["versions"] = versions()
    with open(CEILINGS, "w") as file:
        json.dump(committed, file, indent=2, ensure_ascii=False)
        file.write("\n")
    print("The ceilings are today's figures, and 3 % more.")


def main():
    parser = argparse.ArgumentParser()
    commands = parser.add_subparsers(dest="command", required=True)
    measuring = commands.add_parser("measure")
    measuring.add_argument("--update", action="store_true")
    measuring.add_argument("--steady", action="store_true")
    measuring.add_argument("--figures")
    measuring.add_argument("program")
    measuring.add_argument("targets", nargs="*")
    comparing = commands.add_parser("compare")
    comparing.add_argument("--steady", action="store_true")
    comparing.add_argument("figures", type=argparse.FileType())
    comparing.add_argument("ceilings", type=argparse.FileType())
    options = parser.parse_args()
    if options.command == "compare":
        ceilings = json.load(options.ceilings)["ceilings"]
        above, lower = compare(json.load(options.figures), steady(ceilings) if options.steady else ceilings)
        is_below = report(above, [] if options.steady else lower)
    else:
        is_below = measure_all(options)
    sys.exit(0 if is_below else 1)


if __name__ == "__main__":
    try:
        main()
    except callgrind.Failure as failure:
        sys.exit(str(failure))
