"""Real editors without a screen of their own, and the small folder that they search."""

import os
import shutil
import subprocess
from pathlib import Path

import msgpack
import pytest

from tests.fakes.daemon_process import PATIENCE_SECONDS, DaemonProcess, wait_for

EDITORS = Path(__file__).parents[2] / "editors"
NOTES = {
    "setup.md": "# Setup\n\n## Linux\n\nInstall the package.\nThen start the quokka service.\n\n## macOS\n\nNothing.\n",
    'it\'s a "day" [1].md': "# Odd\n\nThe wombat has a name of its own.\n",
    "日本/ünï code.md": "# Weit\n\nEin Numbat wohnt hier.\n",
    "100%41 # x.md": "# Percent\n\nThe bilby, too.\n",
}


def needed(program):
    """Return the place of a program; skip where it is not installed."""
    return shutil.which(program) or pytest.skip(f"{program} is not installed")


class Notes:
    """A folder with documents, the daemon that watches it, and the environment in which an editor finds that."""

    def __init__(self, base):
        self.base, self.folder = base, base / "my notes"
        for name, text in NOTES.items():
            self.write(name, text)
        self.write(os.fsdecode(b"latin-\xe9.md"), "# Old\n\nThe quoll is not in UTF-8.\n")
        runtime = base / "run"
        runtime.mkdir(mode=0o700)
        self.socket = runtime / "indexerd" / "notes.sock"
        self.socket.parent.mkdir(mode=0o700)
        places = {name: str(base / name) for name in ("home", "state", "config", "cache", "data", "tmp")}
        self.environ = {
            "PATH": os.environ["PATH"], "LC_ALL": "C.UTF-8", "TERM": "xterm-256color", "HOME": places["home"],
            "XDG_RUNTIME_DIR": str(runtime), "XDG_STATE_HOME": places["state"], "XDG_CONFIG_HOME": places["config"],
            "XDG_CACHE_HOME": places["cache"], "XDG_DATA_HOME": places["data"],
            "TMPDIR": places["tmp"],  # an editor that is ended by a signal leaves its folder there
        }  # fmt: skip
        for name in ("home", "tmp"):
            (base / name).mkdir()
        self.daemon = None

    def write(self, name, text):
        """Write a document; returns its path."""
        path = self.folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
        return path

    def start(self):
        """Start the daemon, again after `stop`."""
        self.daemon = DaemonProcess([self.folder], self.base, socket=self.socket).ready()
        return self

    def stop(self):
        """End the daemon."""
        if self.daemon is not None:
            self.daemon.end()
            self.daemon.close()
            self.daemon = None

    def citation(self, text):
        """Return the full citation of the best hit."""
        hit = self.daemon.call("query", text=text)["hits"][0]
        return f"{hit['citation']}@sha256:{hit['content_hash']}"

    def run(self, *command):
        """Run an editor to its end and return what it did."""
        return subprocess.run(
            command, cwd=self.folder, env=self.environ, stdin=subprocess.DEVNULL, capture_output=True, text=True,
            timeout=PATIENCE_SECONDS, check=False,
        )  # fmt: skip


class Neovim:
    """A Neovim that is driven as its interface drives it: keys go in, its state is asked for."""

    def __init__(self, notes, *, setup="", columns=120, lines=40):
        self.process = subprocess.Popen(
            [needed("nvim"), "--embed", "--headless", "-u", "NORC", "-i", "NONE", "-n",
             "--cmd", f"set rtp^={EDITORS}/nvim", "--cmd", f"set columns={columns} lines={lines}"],
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, cwd=notes.folder, env=notes.environ,
        )  # fmt: skip
        self.unpacker = msgpack.Unpacker(raw=False, unicode_errors="surrogateescape")
        self.serial = 0
        self.lua("""
            told = {}
            vim.notify = function(text, level) table.insert(told, text) end
        """)
        if setup:
            self.lua(f"require('indexerd').setup({setup})")

    def request(self, method, *arguments):
        """Call a function of Neovim's interface."""
        self.serial += 1
        self.process.stdin.write(msgpack.packb([0, self.serial, method, list(arguments)]))
        self.process.stdin.flush()
        while True:
            for message in self.unpacker:
                if message[0] == 1 and message[1] == self.serial:
                    assert message[2] is None, message[2]
                    return message[3]
            data = os.read(self.process.stdout.fileno(), 1 << 16)
            assert data, "the editor has ended"
            self.unpacker.feed(data)

    def lua(self, code, *arguments):
        """Run Lua and return its value."""
        return self.request("nvim_exec_lua", code, list(arguments))

    def keys(self, text):
        """Type."""
        self.request("nvim_input", text)

    def command(self, line):
        """Carry out an Ex command."""
        self.request("nvim_command", line)

    def told(self):
        """Return what the plugin told the user."""
        return self.lua("return told")

    def until(self, code, wanted=True):
        """Wait until Lua gives a value."""
        return wait_for(lambda: self.lua(code) == wanted or None)

    def close(self):
        """End it."""
        self.process.kill()
        self.process.wait(PATIENCE_SECONDS)
        self.process.stdin.close()
        self.process.stdout.close()
