"""What is fuzzed: each place where bytes of strangers are decoded, as a function that raises only on a fault.

A target takes any bytes. Errors that its subject declares are its answer; whatever else escapes is a fault, and so is
an input that takes too much time or memory. `make fuzz` lets atheris look for such inputs by coverage;
`tests/property/test_property_fuzzed.py` runs every target on its seeds, changed at random from a fixed seed.
"""

from collections.abc import Callable, Mapping
from contextlib import suppress
from typing import NamedTuple

import msgpack

from indexerd.access.globs import matches
from indexerd.analysis import analyze_query, name_key
from indexerd.config import Given, Places, parse_config
from indexerd.documents.frontmatter import read_front_matter
from indexerd.documents.parse import parse_document
from indexerd.errors import ConfigError, CorruptionError, FormatVersionError, RequestError
from indexerd.grounding.marks import links
from indexerd.grounding.sentences import sentences
from indexerd.model import Settings, SourcePath
from indexerd.protocol.connection import Connection
from indexerd.protocol.fields import Fields
from indexerd.protocol.messages import Request
from indexerd.search.request import moment_ns
from indexerd.store import manifest, slots
from indexerd.store.codec import seal


class Target(NamedTuple):
    """A function to fuzz and inputs to begin with."""

    run: Callable[[bytes], None]
    seeds: tuple[bytes, ...]


def decode_messages(data: bytes) -> None:
    """Feed a connection, in two pieces; answer whatever becomes whole."""
    connection, cut = Connection(), len(data) // 2
    for piece in (data[:cut], data[cut:]):
        connection.feed(piece)
        while (message := connection.next_message()) is not None:
            if isinstance(message, Request):
                connection.reply(message.id, {"method": message.method})
                with suppress(RequestError):
                    Fields(message.params).close()
            else:
                connection.failure(message.id, message.error)
    connection.end()
    while connection.next_message() is not None:
        pass


def read_query(data: bytes) -> None:
    """Read a text as query, name, glob, and moment; a word's place lies in the text."""
    text = data.decode("utf-8", "replace")
    for word in analyze_query(text, ("english", "none")):
        assert 0 <= word.start < word.end <= len(text)
    name_key(text)
    matches(text, "docs/guide/setup.md")
    with suppress(RequestError):
        moment_ns(text, 0)


def read_metadata(data: bytes) -> None:
    """Read front matter, and the document as each format; chunks lie inside the document."""
    read_front_matter(data.decode("utf-8", "replace"))
    for name in ("a.md", "a.rst", "a.org", "a.txt"):
        parse_document(SourcePath(name), data, Settings())


def load_manifest(data: bytes) -> None:
    """Load bytes as they are and, so that more than the checksum is met, as the payload of a whole envelope."""
    for module, decode in ((manifest, manifest.decode_manifest), (slots, slots.decode_slot)):
        for whole in (data, seal(module.MAGIC, module.FORMAT_VERSION, data)):
            with suppress(CorruptionError, FormatVersionError):
                decode(whole, "fuzzed")


def read_config(data: bytes) -> None:
    """Read a settings file."""
    places = Places(config_file="/c", state_home="/s", runtime_dir="/r")
    with suppress(ConfigError):
        parse_config(data.decode("utf-8", "replace"), given=Given(cwd="/", profile="notes"), places=places)


def read_answer(data: bytes) -> None:
    """Part an answer into sentences, which ascend, and find its links."""
    text, end = data.decode("utf-8", "replace"), 0
    for span in sentences(text):
        assert end <= span.start < span.end <= len(text)
        end = span.end
    links(text)


_LINE = b'{"jsonrpc":"2.0","id":1,"method":"query","params":{"text":"a","k":2,"where":{"a":["b"]}}}\n'
_REF = (1, b"\x01" * 16, 100)
_MANIFEST = ((3, "settings", "analyzer", 1), [(_REF, 2)], (1, 2, 3, 0))

TARGETS: Mapping[str, Target] = {
    "messages": Target(
        decode_messages,
        (
            _LINE * 2,
            msgpack.packb([0, 1, "query", [{"text": "a", "k": 2}]]) * 2,
            b"GET /query?q=a%20b&k=3 HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n",
            b"POST /rpc HTTP/1.1\r\nHost: x\r\nContent-Length: 92\r\n\r\n" + _LINE,
        ),
    ),
    "query": Target(
        read_query,
        ("C++ don't E_NOENT 数据库 ﬁle é".encode(), b"2026-01-31T10:00", b"7d", b"docs/**/[!a]*.md"),
    ),
    "metadata": Target(
        read_metadata,
        (
            b"---\ntitle: A\ntags: [a, b]\nacl:\n  - staff\n---\n# H\n\n- one\n\n```sh\nx\n```\n| a |\n|---|\n",
            b"Title\n=====\n\n.. note:: x\n\n* Head\n:PROPERTIES:\n:ID: x\n:END:\n",
        ),
    ),
    "manifest": Target(
        load_manifest,
        (
            msgpack.packb(_MANIFEST),
            seal(manifest.MAGIC, manifest.FORMAT_VERSION, msgpack.packb(_MANIFEST)),
            msgpack.packb([1, [], [], {}, b"", None]),
            # A list as the key of a map, which the library has no error of its own for.
            b"\x93\x81\x90\x00\x90\x90",
        ),
    ),
    "config": Target(
        read_config,
        (
            b'[profile.notes]\nroots = ["/n"]\n[[rules]]\nmatch = "a/**"\nacl = ["x"]\n',
            b'[profile.notes]\nroots = ["~/n", "b=/m"]\n[history]\nmax_ratio = 1.0\n[roles.users]\nu = ["r"]\n',
        ),
    ),
    "answer": Target(
        read_answer,
        (b"Kept for 30 days [S1]. See [a](http://x/y) e.g. this.\n\n- item\n```\nx\n```\n",),
    ),
}
