"""The effective settings as a valid `config.toml`, each line with its origin.

Owns: how settings are written as TOML.
Knows nothing of: where the text goes.
Invariants: 1. reading the text back gives the same effective values.
Purity: pure.
See: docs/operations.md.
"""

import json
from collections.abc import Iterable, Mapping

from indexerd.access import PathRule
from indexerd.config.values import Config
from indexerd.model import MetadataValue

Line = tuple[str, object]


def effective_toml(config: Config, config_file: str) -> str:
    """Return the effective values of a profile as a file that `parse_config` accepts.

    Args:
        config: The values.
        config_file: Where such a file belongs, for the heading.
    """
    lines = [f"# Effective settings of profile {config.profile}; a valid {_comment(config_file)}."]
    lines += [f"# not used: {_comment(problem)}" for problem in config.root_problems]
    lines.append("")
    for section, values in _sections(config):
        lines.append(f"[{section}]")
        lines += [_line(section.partition(".")[0], key, value, config.origins) for key, value in values]
        lines.append("")
    for rule in config.access.rules:
        lines += ["[[rules]]", *(f"{key} = {_toml(value)}" for key, value in _rule(rule)), ""]
    return "\n".join(lines)


def _sections(config: Config) -> Iterable[tuple[str, list[Line]]]:
    settings, history, socket, roles = config.settings, config.history, config.socket, config.roles
    roots = [f"{root.label}={root.path}" if root.prefixed else root.path for root in config.roots]
    languages: object = {"default": settings.language, **dict(settings.languages)}
    yield (
        f"profile.{_key(config.profile)}",
        [
            ("roots", roots),
            ("languages", languages if settings.languages else settings.language),
            ("formats", settings.formats),
            ("max_chars", settings.max_chars),
            ("max_file_bytes", config.max_file_bytes),
            ("hidden", config.hidden),
            ("node_modules", config.node_modules),
            ("tagged_caches", config.tagged_caches),
            ("ignore", config.ignore),
            ("poll", config.poll),
            ("durability", config.durability),
        ],
    )
    yield "front_matter", list(config.access.keys._asdict().items())
    yield "roles", [("owner", roles.owner), ("users", dict(roles.users)), ("groups", dict(roles.groups))]
    yield "history", list(history._asdict().items())
    group = [("group", socket.group)] if socket.group else []
    yield "socket", [("path", socket.path), ("mode", f"{socket.mode:04o}"), *group]
    yield "log", [("level", config.log.level), ("format", config.log.format), ("queries", config.log.queries)]


def _rule(rule: PathRule) -> Iterable[Line]:
    yield "match", rule.match
    for key in ("acl", "safety", "supersede_by"):
        value = getattr(rule, key)
        if value is not None:
            yield key, value
    if rule.boost != 1.0:
        yield "boost", rule.boost
    if rule.require:
        yield "require", tuple(rule.require)
    if rule.metadata:
        yield "metadata", dict(rule.metadata)


def _line(section: str, key: str, value: object, origins: Mapping[str, str]) -> str:
    origin = origins.get(f"{section}.{key}", "default")
    return f"{key} = {_toml(value)}  # {_comment(origin)}"


def _comment(text: str) -> str:
    return "".join(char if char.isprintable() else f"\\x{ord(char):02x}" for char in text)


def _toml(value: object | MetadataValue) -> str:
    match value:
        case bool():
            return "true" if value else "false"
        case int() | float():
            return repr(value)
        case Mapping():
            inner = ", ".join(f"{_key(str(key))} = {_toml(item)}" for key, item in value.items())
            return f"{{ {inner} }}" if inner else "{}"
        case list() | tuple():
            return f"[{', '.join(_toml(item) for item in value)}]"
        case _:
            return _string(str(value))


def _key(text: str) -> str:
    is_bare = text.isascii() and text.replace("-", "").replace("_", "").isalnum()
    return text if is_bare else _string(text)


def _string(text: str) -> str:
    # JSON's string form is TOML's basic string, save that TOML wants DEL escaped too and knows no surrogates.
    return json.dumps(text, ensure_ascii=False).replace("\x7f", "\\u007f")
