#!/usr/bin/env python3
"""Draws callgrind's output as a flame graph: an SVG file that needs nothing else. A click on a frame widens it.

    flamegraph.py TITLE <callgrind.out >graph.svg
"""
import html
import re
import subprocess
import sys

import callgrind

WIDTH, FRAME, MARGIN, HEAD = 1600, 17, 10, 64
# Narrower frames are left out, in parts of the whole.
LEAST = 0.0005
# Of a letter of the font in use.
LETTER = 6.6

# By what a frame's function or library is, in the order of the legend.
KINDS = [
    ("Sallyport", "#e8743b"), ("Swift packages and the program", "#f2b134"), ("Swift's runtime", "#c95d8a"),
    ("libcurl", "#4f9d69"), ("OpenSSL", "#3f7cac"), ("C library and kernel's calls", "#8d9db6"), ("others", "#b9b4a7"),
]


class Frame:
    def __init__(self, name, kind):
        self.name, self.kind, self.cost, self.own, self.children = name, kind, 0, 0, {}

    def add(self, stack, cost):
        frame = self
        frame.cost += cost
        for key in stack:
            frame = frame.children.setdefault(key, Frame(*key))
            frame.cost += cost
        frame.own += cost

    @property
    def depth(self):
        return 1 + max((child.depth for child in self.children.values()), default=0)


def demangled(names):
    """Names of Swift and C++ in readable form, all at once."""
    names = sorted(names)
    text = "\n".join(names)
    for command in (["swift", "demangle", "--simplified"], ["c++filt", "--no-params"]):
        try:
            text = subprocess.run(command, input=text, capture_output=True, text=True, check=True).stdout
        except (OSError, subprocess.CalledProcessError):
            continue  # As they are.
    return dict(zip(names, text.split("\n")))


def readable(name, library):
    """One function for all parts of an asynchronous one, and one name for all functions that have none."""
    if re.match(r"0x[0-9a-f]+$|\?\?\?$", name):
        return library or "unknown"
    name = re.sub(r"^\(\d+\) (?:suspend resume|await resume) partial function for ", "", name)
    return re.sub(r"@@?[A-Z]+_[0-9.]+$", "", name)


def kind(name, library):
    """By the mangled name, which has the module's."""
    if "Sallyport" in name:
        return 0
    for part, number in (
            ("libswift", 2), ("libdispatch", 2), ("libFoundation", 2), ("lib_Foundation", 2), ("libcurl", 3),
            ("libssl", 4), ("libcrypto", 4), ("libc.so", 5), ("libpthread", 5), ("ld-linux", 5), ("libm.so", 5)):
        if library.startswith(part):
            return number
    return 6 if ".so" in library or not library else 1


def tree(stacks, root):
    """One frame below the other, from stacks of (function, library) and their costs."""
    names = demangled({name for stack in stacks for name, _ in stack})
    keys = {}
    top = Frame(root, 6)
    for stack, cost in stacks.items():
        for frame in stack:
            if frame not in keys:
                keys[frame] = (readable(names[frame[0]], frame[1]), kind(*frame))
        if cost > 0:
            top.add(folded([keys[frame] for frame in stack]), cost)
    return top


def folded(stack):
    """A stack in which no function lies below itself: what a function calls on its way back to itself is cut out.

    An asynchronous function jumps to the next one instead of calling it, which looks like a call that never returns: a
    task that loops would lie below itself as often as it looped."""
    found = {}
    result = []
    for frame in stack:
        if frame in found:
            for gone in result[found[frame] + 1:]:
                del found[gone]
            del result[found[frame] + 1:]
        else:
            found[frame] = len(result)
            result.append(frame)
    return result


def draw(top, title, subtitle=""):
    """The SVG file's text."""
    frames = []

    def place(frame, left, level):
        width = frame.cost / top.cost
        if width < LEAST:
            return
        frames.append((frame, left, width, level))
        for child in sorted(frame.children.values(), key=lambda child: child.name):
            place(child, left, level + 1)
            left += child.cost / top.cost

    if top.cost > 0:
        place(top, 0.0, 0)
    height = HEAD + (max((level for *_, level in frames), default=0) + 1) * FRAME + 2 * MARGIN
    body = "\n".join(_frame(frame, left, width, level, top.cost, height) for frame, left, width, level in frames)
    legend = "".join(
        f'<rect x="{MARGIN + 220 * index}" y="42" width="11" height="11" fill="{color}"/>'
        f'<text x="{MARGIN + 16 + 220 * index}" y="52">{html.escape(name)}</text>'
        for index, (name, color) in enumerate(KINDS))
    return TEMPLATE.format(
        width=WIDTH, height=height, margin=MARGIN, inner=WIDTH - 2 * MARGIN, letter=LETTER, title=html.escape(title),
        subtitle=html.escape(subtitle), legend=legend, body=body)


def _frame(frame, left, width, level, total, height):
    inner = WIDTH - 2 * MARGIN
    x, y, wide = MARGIN + left * inner, height - MARGIN - (level + 1) * FRAME, width * inner
    name = html.escape(frame.name)
    hover = f"{name}\n{frame.cost:,.0f} instructions, {100 * frame.cost / total:.1f} %, {frame.own:,.0f} its own"
    letters = int((wide - 6) / LETTER)
    text = "" if letters < 3 else frame.name if len(frame.name) <= letters else frame.name[:letters - 1] + "…"
    return (
        f'<g class="f" data-x="{left:.6f}" data-w="{width:.6f}" data-l="{level}"><title>{hover}</title>'
        f'<rect x="{x:.1f}" y="{y}" width="{max(0.3, wide):.1f}" height="{FRAME - 1}" fill="{KINDS[frame.kind][1]}"/>'
        f'<text x="{x + 3:.1f}" y="{y + 12}">{html.escape(text)}</text></g>')


TEMPLATE = """<?xml version="1.0" encoding="UTF-8"?>
<svg xmlns="http://www.w3.org/2000/svg" width="{width}" height="{height}" viewBox="0 0 {width} {height}">
<style>
text {{ font: 11px ui-monospace, Menlo, Consolas, monospace; fill: #1c1c1c; pointer-events: none }}
.head {{ font: bold 15px system-ui, sans-serif }}
.f rect {{ stroke: #fff; stroke-width: 0.5; cursor: pointer }}
.f:hover rect {{ stroke: #000; stroke-width: 1 }}
</style>
<rect width="100%" height="100%" fill="#fdfcf8"/>
<text class="head" x="{margin}" y="20">{title}</text>
<text x="{margin}" y="36">{subtitle}</text>
{legend}
<g id="frames">
{body}
</g>
<script><![CDATA[
// A click widens a frame, those above it with it; those below it take the whole width. The lowest frame shows all again.
const frames = [...document.querySelectorAll('.f')].map(group => ({{
    group, rect: group.querySelector('rect'), text: group.querySelector('text'),
    name: group.querySelector('title').textContent.split('\\n')[0],
    x: +group.dataset.x, w: +group.dataset.w, level: +group.dataset.l }}));
function zoom(on) {{
    const end = on.x + on.w, slack = 1e-6;
    for (const frame of frames) {{
        const isBelow = frame.level < on.level && frame.x <= on.x + slack && frame.x + frame.w >= end - slack;
        const isAbove = frame.level >= on.level && frame.x >= on.x - slack && frame.x + frame.w <= end + slack;
        frame.group.style.display = isBelow || isAbove ? '' : 'none';
        if (!isBelow && !isAbove) continue;
        const x = {margin} + (isBelow ? 0 : (frame.x - on.x) / on.w * {inner});
        const width = isBelow ? {inner} : Math.max(0.3, frame.w / on.w * {inner});
        frame.rect.setAttribute('x', x);
        frame.rect.setAttribute('width', width);
        frame.rect.setAttribute('opacity', isBelow ? 0.5 : 1);
        frame.text.setAttribute('x', x + 3);
        const letters = Math.floor((width - 6) / {letter});
        frame.text.textContent = letters < 3 ? '' : frame.name.length <= letters ? frame.name
            : frame.name.slice(0, letters - 1) + '…';
    }}
}}
for (const frame of frames) frame.group.addEventListener('click', () => zoom(frame));
]]></script>
</svg>
"""


def main():
    if len(sys.argv) != 2:
        sys.exit("usage: flamegraph.py TITLE <callgrind.out >graph.svg")
    top = tree(callgrind.read(sys.stdin).stacks, "all")
    print(draw(top, sys.argv[1], f"{top.cost:,.0f} instructions"), end="")


if __name__ == "__main__":
    main()
