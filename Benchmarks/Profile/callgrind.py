"""Counts what a program does for each operation, with valgrind's callgrind.

A program is run twice, with a smaller and a larger number of operations in the environment variable
SALLYPORT_OPERATIONS; what one operation takes is the difference of the counts over the difference of the numbers. So
what it does once, such as its start, is not counted. A start that takes a varying number of instructions, such as one
with handshakes, ends with a call of the function `MARK`: what came before is not counted then.
"""
import collections
import os
import re
import shutil
import subprocess
import tempfile

# Of Benchmarks/Sources/CountingMark.
MARK = "sallyport_counting_begins"
# Calls of these functions, by what a count is called. One of the runtime's functions may call another; each is counted
# by the one through which all pass.
FUNCTIONS = {
    "malloc": {"malloc", "calloc", "realloc", "aligned_alloc", "posix_memalign"},
    "free": {"free"},
    "task allocations": {"swift_task_alloc"},
    # Jobs that an executor took out of its queue: the way to a loop is one, the way back another.
    "hops": {"swift_job_run", "swift_job_run_on_serial_and_task_executor", "swift_job_run_on_task_executor"},
    "retains": {"swift_retain"},
    "releases": {"swift_release"},
    "locks": {"pthread_mutex_lock"},
}
# What the C library calls for a function of another name.
SYSTEM_CALLS = {"recvfrom": "recv", "sendto": "send", "epoll_pwait": "epoll_wait", "ppoll": "poll"}
SHOWN_SYSTEM_CALLS = ["recv", "send", "poll", "epoll_wait", "epoll_ctl", "futex", "read", "write"]


class Failure(Exception):
    pass


class Counts:
    """Of one run, or of one operation."""

    def __init__(self):
        self.instructions = 0
        # By function, by system call, by stack (a tuple of functions from the outermost, each with its library).
        self.calls = collections.Counter()
        self.system_calls = collections.Counter()
        self.stacks = collections.Counter()

    def quantities(self):
        """By name, in the order in which they are shown."""
        values = {"instructions": self.instructions}
        for name, functions in FUNCTIONS.items():
            values[name] = sum(self.calls[function] for function in functions)
        others = sorted(name for name, count in self.system_calls.items() if count >= 0.01 and name not in SHOWN_SYSTEM_CALLS)
        for name in SHOWN_SYSTEM_CALLS + others:
            values[name] = self.system_calls[name]
        return values

    def per_operation(self, fewer, operations):
        """What one of so many operations takes that are in these counts and not in `fewer`."""
        one = Counts()
        one.instructions = (self.instructions - fewer.instructions) / operations
        for name in ("calls", "system_calls", "stacks"):
            mine, theirs, difference = getattr(self, name), getattr(fewer, name), getattr(one, name)
            for key, count in mine.items():
                difference[key] = (count - theirs[key]) / operations
        return one


def read(lines):
    """The counts of callgrind's output."""
    counts, objects, functions = Counts(), {}, {}
    library, called_library, function, is_inclusive, library_of = "", "", "", False, {}
    for line in lines:
        first = line[:1]
        if first.isdigit() or first in "+-*":
            if first == "-" or not line.strip():
                continue
            cost = int(line.split()[1]) if len(line.split()) > 1 else 0
            # The line behind a call is what the called function took; it stands with that function too.
            if not is_inclusive:
                counts.instructions += cost
                counts.stacks[function] += cost
            is_inclusive = False
            continue
        key, _, value = line.rstrip("\n").partition("=")
        if key == "ob":
            library = _named(value, objects)
        elif key == "cob":
            called_library = _named(value, objects)
        elif key == "fn":
            function = _named(value, functions)
            library_of.setdefault(function, library)
            called_library = library
        elif key == "cfn":
            called = _named(value, functions)
            library_of.setdefault(called, called_library)
        elif key == "calls":
            counts.calls[_innermost(called)] += int(value.split()[0])
            is_inclusive, called_library = True, library
    counts.stacks = _stacks(counts.stacks, library_of)
    return counts


def _named(text, names):
    """Callgrind writes a name once, `(7) name`, and then only `(7)`."""
    number, _, name = text.partition(" ")
    if name:
        names[number] = name
    return names.get(number, number)


def _innermost(function):
    """Of a function with its callers, `malloc'make'main`; and without the version, `recv@@GLIBC_2.2.5`."""
    return function.partition("'")[0].partition("@@")[0]


def _stacks(costs, library_of):
    libraries = {name.partition("'")[0]: library for name, library in library_of.items()}
    stacks = collections.Counter()
    for function, cost in costs.items():
        frames = function.split("'")
        stacks[tuple((frame, os.path.basename(libraries.get(frame, ""))) for frame in reversed(frames))] += cost
    return stacks


def read_system_calls(lines):
    """By name, of what valgrind traced: `SYSCALL[1,2](45) sys_recvfrom ( … )`."""
    calls = collections.Counter()
    for line in lines:
        match = re.match(r"SYSCALL\[\d+,\s*\d+\]\(\s*\d+\) (?:sys_|linux_)?(\w+)\s*\(", line)
        if match:
            calls[SYSTEM_CALLS.get(match[1], match[1])] += 1
    return calls


def run(command, operations, callers=0, environment=None):
    """Counts one run; with so many callers of each function told apart."""
    folder = tempfile.mkdtemp(prefix="sallyport-callgrind.")
    try:
        result, log = os.path.join(folder, "result"), os.path.join(folder, "log")
        variables = dict(os.environ, **(environment or {}), SALLYPORT_OPERATIONS=str(operations))
        valgrind = [
            # The servers, which are not counted, come first: the program finds what they sent as on an idle machine.
            "nice", "-n", "5", "valgrind", "--tool=callgrind", "--quiet", f"--callgrind-out-file={result}",
            "--demangle=no", "--compress-pos=no", "--separate-recs=1", f"--separate-callers={callers}",
            f"--zero-before={MARK}", "--fair-sched=try", "--trace-syscalls=yes", f"--log-file={log}"]
        end = subprocess.run(valgrind + command, env=variables, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)
        if end.returncode != 0 or not os.path.exists(result):
            text = end.stderr.decode(errors="replace")
            raise Failure(f"{' '.join(command)} ended with {end.returncode} under valgrind\n{text[-4000:]}")
        with open(result, errors="replace") as lines:
            counts = read(lines)
        with open(log, errors="replace") as lines:
            counts.system_calls = read_system_calls(lines)
        return counts
    finally:
        shutil.rmtree(folder)


def stripped(program, folder):
    """A copy of a program without its debug information, which valgrind 3.19 cannot read where Swift wrote it."""
    copy = os.path.join(folder, os.path.basename(program))
    subprocess.run(["strip", "-g", "-o", copy, program], check=True)
    return copy


def per_operation(command, operations, callers=0, environment=None):
    """What one operation takes; `operations` are the two numbers of the two runs."""
    fewer, more = operations
    counts = run(command, more, callers, environment)
    return counts.per_operation(run(command, fewer, callers, environment), more - fewer)
