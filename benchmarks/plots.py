"""Figures into a page: a table between two marks, and lines on two logarithmic scales as an SVG beside it."""

import math
import re
from html import escape
from pathlib import Path

WIDTH, HEIGHT, LEFT, TOP, RIGHT, BOTTOM = 460, 300, 62, 34, 14, 42
COLOURS = ("#2f81f7", "#e0662f", "#3fa45b", "#a371f7")
STYLE = (
    "text{font:12px system-ui,sans-serif;fill:#57606a}.title{font-weight:600}path{fill:none;stroke-width:2}"
    ".grid{stroke:#8b949e;stroke-width:.5;opacity:.5}@media(prefers-color-scheme:dark){text{fill:#adbac7}}"
)


def put(page: Path, name: str, lines) -> None:
    """Replace what stands between the marks of a row, if the page has them; draw its plots."""
    pattern = re.compile(rf"(<!-- figures: {re.escape(name)} -->\n).*?(<!-- end -->)", re.DOTALL)
    text = page.read_text()
    if not pattern.search(text):
        return
    points = [line.point for line in lines if line.point]
    if points:
        image = page.parent / "images" / f"{name.split(maxsplit=1)[0]}.svg"
        image.write_text(picture(points))
    made = pivoted(points) if points else table(lines)
    page.write_text(pattern.sub(lambda found: f"{found[1]}{made}{found[2]}", text))


def table(lines) -> str:
    rows = ["| what | indexerd | beside | ratio |", "|---|---|---|---|"]
    return "\n".join(rows + [f"| {line.what} | {line.ours} | {line.beside} | {line.ratio} |" for line in lines]) + "\n"


def pivoted(points) -> str:
    """Return a table with a column for each x."""
    places = sorted({x for _, _, x, _ in points})
    known = {(plot, line, x): y for plot, line, x, y in points}
    rows = ["| what | " + " | ".join(f"{x:,}" for x in places) + " |", "|---|" + "---|" * len(places)]
    titles = list(dict.fromkeys(plot for plot, *_ in points))
    every = dict.fromkeys((plot, line) for plot, line, _, _ in points)
    for plot, line in sorted(every, key=lambda one: titles.index(one[0])):
        shown = (number(known[plot, line, x]) if (plot, line, x) in known else "" for x in places)
        rows.append(f"| {plot}: {line} | " + " | ".join(shown) + " |")
    return "\n".join(rows) + "\n"


def number(value) -> str:
    return f"{value:,.0f}" if value >= 100 else f"{value:.3g}"


def picture(points) -> str:
    """Return an SVG with one plot for each title, two in a row."""
    titles = list(dict.fromkeys(plot for plot, *_ in points))
    panels = []
    for place, title in enumerate(titles):
        lines: dict[str, list[tuple[float, float]]] = {}
        for plot, line, x, y in points:
            if plot == title and y > 0:
                lines.setdefault(line, []).append((x, y))
        at = f"translate({place % 2 * WIDTH},{place // 2 * HEIGHT})"
        panels.append(f'<g transform="{at}">{panel(title, lines)}</g>')
    size = f'width="{2 * WIDTH}" height="{-(-len(titles) // 2) * HEIGHT}"'
    head = f'<svg xmlns="http://www.w3.org/2000/svg" {size} role="img"><title>Cost against size</title>'
    return "\n".join([head, f"<style>{STYLE}</style>", *panels, "</svg>"]) + "\n"


def panel(title, lines) -> str:
    xs, ys = zip(*(point for some in lines.values() for point in some), strict=True)
    across, up = scale(xs, LEFT, WIDTH - RIGHT), scale(ys, HEIGHT - BOTTOM, TOP + 14 * len(lines))
    made = [text(LEFT, 16, title, "title"), text((LEFT + WIDTH) / 2, HEIGHT - 6, "documents", "", "middle")]
    for power in range(*powers(xs)):
        made.append(text(across(10**power), HEIGHT - BOTTOM + 18, f"{10**power:,}", "", "middle"))
        made.append(f'<path class="grid" d="M{across(10**power):.0f} {TOP}V{HEIGHT - BOTTOM}"/>')
    for power in range(*powers(ys)):
        made.append(text(LEFT - 6, up(10.0**power) + 4, f"{10.0**power:g}", "", "end"))
        made.append(f'<path class="grid" d="M{LEFT} {up(10.0**power):.0f}H{WIDTH - RIGHT}"/>')
    for place, (name, some) in enumerate(lines.items()):
        colour = COLOURS[place % len(COLOURS)]
        way = "L".join(f"{across(x):.1f} {up(y):.1f}" for x, y in sorted(some))
        made.append(f'<path stroke="{colour}" d="M{way}"/>')
        made += [f'<circle cx="{across(x):.1f}" cy="{up(y):.1f}" r="3" fill="{colour}"/>' for x, y in some]
        made.append(f'<path stroke="{colour}" d="M{LEFT + 8} {TOP + 14 * place}h16"/>')
        made.append(text(LEFT + 30, TOP + 4 + 14 * place, name))
    return "".join(made)


def powers(values) -> tuple[int, int]:
    return math.floor(math.log10(min(values))), math.ceil(math.log10(max(values))) + 1


def scale(values, begin, end):
    """Return the place of a value on a logarithmic axis of whole powers of ten."""
    low, high = powers(values)
    return lambda value: begin + (end - begin) * (math.log10(value) - low) / max(1, high - 1 - low)


def text(x, y, words, kind="", anchor="start") -> str:
    return f'<text x="{x:.0f}" y="{y:.0f}" class="{kind}" text-anchor="{anchor}">{escape(words)}</text>'
