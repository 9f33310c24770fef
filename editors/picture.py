"""Draws docs/images/EDITOR.svg: starts a daemon, types a search into an editor in a terminal, and draws the screen.

`picture.py [--text] [neovim|vim|emacs]`. Needs the editor, indexerd on the path, and pyte (a development dependency).
`--text` prints the screen instead of drawing it.
"""

import fcntl
import os
import pty
import shutil
import subprocess
import sys
import tempfile
import termios
import time
from itertools import groupby
from pathlib import Path
from typing import NamedTuple
from xml.sax.saxutils import escape

import pyte

HERE = Path(__file__).parent
IMAGES = HERE.parent / "docs" / "images"
COLUMNS, LINES = 118, 20
CELL, LINE = 8.4, 17
NOTES = {
    "ops/backup.md": """# Nightly backup

## Retention

Copies of the database are kept for thirty days.
Monthly copies are kept for two years, in the
second data centre.

## Restore

Ask the person on call.
""",
    "ops/on-call.md": "# On call\n\nThe person on call looks at the backup report,\nand keeps the log.\n",
    "guide/setup.md": "# Setup\n\n## Linux\n\nInstall the package, then run the first backup.\n",
}


class Editor(NamedTuple):
    """How a search is typed into an editor, and the words by which its screen is known to be ready, and drawn."""

    line: tuple[str, ...]
    ready: str
    keys: str
    drawn: tuple[str, ...]


_VIM = ("-u", "NORC", "-i", "NONE", "-n", "--cmd", "set bg=dark noruler noshowcmd")
_PLAIN = "(progn (menu-bar-mode -1) (setq xref-file-name-display 'nondirectory))"
EDITORS = {
    "neovim": Editor(
        ("nvim", *_VIM, "--cmd", f"set rtp^={HERE / 'nvim'}"),
        "[No Name]",
        ":Indexerd\rhow long are backups ke",
        ("4 hits", "thirty days", "second data centre"),
    ),
    "vim": Editor(
        ("vim", *_VIM, "--cmd", f"set rtp^={HERE / 'vim'} shm+=I laststatus=2 t_RK="),
        "[No Name]",
        ":Indexerd how long are backups kept\r\r",
        ("second data centre", "guide/setup.md|5", "[quickfix list]"),
    ),
    "emacs": Editor(
        ("emacs", "-nw", "-Q", "-L", str(HERE / "emacs"), "-l", "indexerd", "--eval", _PLAIN),
        "*scratch*",
        "\033xindexerd\rhow long are backups kept\rn",
        ("second data centre", "=> copies", "on-call.md", "*xref*"),
    ),
}
PATIENCE_SECONDS = 30
COLOURS = {
    "default": "", "black": "#1c1c1c", "red": "#d75f5f", "green": "#87af5f", "brown": "#d7af5f", "blue": "#5f87d7",
    "magenta": "#af87d7", "cyan": "#5fafaf", "white": "#d0d0d0", "brightblack": "#808080", "brightred": "#ff8787",
    "brightgreen": "#afd787", "brightbrown": "#ffd787", "brightyellow": "#ffd787", "brightblue": "#87afff",
    "brightmagenta": "#d7afff", "brightcyan": "#87d7d7", "brightwhite": "#ffffff",
}  # fmt: skip
INK, PAPER = "#d0d0d0", "#1c1c1c"


def main() -> None:
    """Draw the pictures, or print the screens."""
    for name in [name for name in sys.argv[1:] if name != "--text"] or EDITORS:
        with tempfile.TemporaryDirectory() as base:
            screen = screen_of(EDITORS[name], Path(base))
        if "--text" in sys.argv:
            sys.stdout.write(text_of(screen))
        else:
            (IMAGES / f"{name}.svg").write_text(drawing(screen, name.capitalize()), encoding="utf-8")


def screen_of(editor: Editor, base: Path) -> pyte.Screen:
    """Return the screen of an editor in which something was searched for."""
    environ = {name: str(base / name) for name in ("HOME", "XDG_RUNTIME_DIR", "XDG_STATE_HOME", "XDG_CONFIG_HOME")}
    for name, text in NOTES.items():
        path = base / "notes" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
    for folder in environ.values():
        Path(folder).mkdir(mode=0o700)
    environ |= {"PATH": os.environ["PATH"], "TERM": "xterm-256color", "LC_ALL": "C.UTF-8"}

    def indexerd(*arguments: str) -> None:
        command = ["indexerd", *arguments]
        subprocess.run(command, cwd=base / "notes", env=environ, check=True, capture_output=True)

    indexerd("watch", "--detach", ".")
    try:
        indexerd("query", "--wait", "20000", "backup")
        return typed(editor, base / "notes", environ)
    finally:
        indexerd("stop")


def typed(editor: Editor, folder: Path, environ: dict[str, str]) -> pyte.Screen:
    """Type into an editor until the screen shows what is waited for."""
    program = shutil.which(editor.line[0])
    if program is None:
        sys.exit(f"{editor.line[0]} is not installed")
    pid, terminal = pty.fork()
    if pid == 0:
        os.chdir(folder)
        # The size is set before the first drawing.
        termios.tcsetwinsize(0, (LINES, COLUMNS))
        os.execve(program, editor.line, environ)
    try:
        return watched(editor, terminal)
    finally:
        os.kill(pid, 9)
        os.waitpid(pid, 0)
        os.close(terminal)


def watched(editor: Editor, terminal: int) -> pyte.Screen:
    """Send the keys when the editor is there, and return the screen when it is still."""
    screen = pyte.Screen(COLUMNS, LINES)
    stream = pyte.ByteStream(screen)
    fcntl.fcntl(terminal, fcntl.F_SETFL, os.O_NONBLOCK)
    deadline, quiet_since, keys = time.monotonic() + PATIENCE_SECONDS, time.monotonic(), editor.keys
    while time.monotonic() < deadline:
        try:
            stream.feed(os.read(terminal, 1 << 16))
            quiet_since = time.monotonic()
        except BlockingIOError:
            time.sleep(0.02)
        is_quiet = time.monotonic() - quiet_since > 0.3
        if keys and is_quiet and editor.ready in text_of(screen):
            os.write(terminal, keys.encode())
            keys, quiet_since = "", time.monotonic()
        elif is_quiet and all(text in text_of(screen).lower() for text in editor.drawn):
            return screen
    sys.exit(f"the screen did not show {', '.join(editor.drawn)}:\n{text_of(screen)}")


def text_of(screen: pyte.Screen) -> str:
    """Return what is on the screen, line by line."""
    return "".join(f"{line.rstrip()}\n" for line in screen.display)


def drawing(screen: pyte.Screen, name: str) -> str:
    """Return the screen as SVG, its text as description."""
    width, height = COLUMNS * CELL, LINES * LINE + 6
    body = "".join(row(screen, number) for number in range(LINES))
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width:g} {height}" role="img">\n'
        f"<title>indexerd in {name}</title>\n<desc>\n{escape(text_of(screen))}</desc>\n"
        f'<rect width="100%" height="100%" rx="6" fill="{PAPER}"/>\n'
        f'<g font-family="ui-monospace, monospace" font-size="14" xml:space="preserve">\n{body}</g>\n</svg>\n'
    )


def row(screen: pyte.Screen, number: int) -> str:
    """Return one line: a rectangle for each run with a background, a text for each run with ink."""
    cells = [screen.buffer[number][column] for column in range(COLUMNS)]
    parts, column = [], 0
    for look, run in groupby(cells, key=lambda cell: (cell.fg, cell.bg, cell.bold, cell.reverse)):
        text = "".join(cell.data for cell in run)
        ink, paper = colours(look)
        place = f'x="{column * CELL:.1f}"'
        if paper != PAPER:
            parts.append(
                f'<rect {place} y="{number * LINE + 3}" width="{len(text) * CELL:.1f}" height="{LINE}" fill="{paper}"/>'
            )
        if text.strip():
            bold = ' font-weight="bold"' if look[2] else ""
            length = f'textLength="{len(text) * CELL:.1f}" lengthAdjust="spacingAndGlyphs"'
            parts.append(f'<text {place} y="{number * LINE + 16}" fill="{ink}"{bold} {length}>{escape(text)}</text>')
        column += len(text)
    return "".join(f"{part}\n" for part in parts)


def colours(look: tuple) -> tuple[str, str]:
    """Return ink and paper of a run."""
    ink, paper = (COLOURS.get(name, f"#{name}") for name in look[:2])
    ink, paper = ink or INK, paper or PAPER
    return (paper, ink) if look[3] else (ink, paper)


if __name__ == "__main__":
    main()
