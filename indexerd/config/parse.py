"""From the text of `config.toml`, what the command line gave and what the roots' own files say, to one Config.

Owns: precedence (default, file, project file, flag) and the checks that need more than one key.
Knows nothing of: files and the environment: texts, places and the current directory are handed in.
Invariants: 1. either a valid Config or a ConfigError that lists every problem. 2. a project file decides only about
    its own root: ignores, formats, metadata.
Purity: pure.
See: docs/operations.md.
"""

import posixpath
from collections.abc import Callable, Mapping
from types import MappingProxyType

from indexerd.access import PathRule
from indexerd.config import schema
from indexerd.config.places import MAX_SOCKET_PATH_BYTES, Places, absolute, doubled_labels, holds, make_roots
from indexerd.config.profiles import NAME_RULE, PROFILE_NAME, Given, choose_profile
from indexerd.config.reading import Section, read_bool, read_int, read_text, read_texts, unknown_key
from indexerd.config.values import Config, RootRules, Socket
from indexerd.errors import ConfigError
from indexerd.model import MetadataValue, Settings

PROJECT_FILE = ".indexerd.toml"


def parse_config(
    text: str, *, given: Given, places: Places, read_project: Callable[[str], str | None] = lambda _: None
) -> Config:
    """Return the configuration of one profile.

    Args:
        text: Content of `config.toml`; empty where there is none.
        given: What the command line says; it wins over the file.
        places: The user's directories.
        read_project: Returns the text of the `.indexerd.toml` in a root, by the root's absolute path; None for none.

    Raises:
        ConfigError: With every problem found; nothing may be started.
    """
    problems: list[str] = []
    table = read_toml(text, places.config_file, problems)
    _check_tables(table, places.config_file, problems)
    profile = choose_profile(table, given, places.home)
    if not PROFILE_NAME.fullmatch(profile):
        problems.append(f"profile {profile!r}: the name {NAME_RULE}")
    config = _build(table, profile, given, places, problems)
    config = _with_projects(config, read_project)
    _check_roots(config, problems)
    if problems:
        # Tables are those of the user's file: what is wrong in another one names that.
        in_file = f"{places.config_file}: "
        raise ConfigError([in_file + problem if problem.startswith("[") else problem for problem in problems])
    return config


def read_toml(text: str, where: str, problems: list[str]) -> dict[str, object]:
    """Parse TOML; a syntax error becomes a problem and an empty table."""
    if not text:
        return {}
    import tomllib  # noqa: PLC0415 - 4 ms of each start, for those who have a file

    try:
        return tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        problems.append(f"{where}: not valid TOML: {error}")
        return {}


def _check_tables(table: Mapping[str, object], where: str, problems: list[str]) -> None:
    for key in table:
        if key in schema.PROFILE_KEYS:
            problems.append(f"{where}: {key!r} belongs below a profile: [profile.NAME] {key}")
        elif key not in schema.TABLES:
            problems.append(unknown_key(where, key, schema.TABLES))
    if not isinstance(table.get("profile", {}), Mapping):
        problems.append(f"{where}: profile must be a table of tables, written [profile.NAME]")


def _build(table: Mapping[str, object], profile: str, given: Given, places: Places, problems: list[str]) -> Config:
    profiles = table.get("profile", {})
    profiles = profiles if isinstance(profiles, Mapping) else {}
    filed = Section(f"[profile.{profile}]", profiles.get(profile, {}), schema.PROFILE_KEYS, problems)
    written = filed.get("roots", schema.read_roots(places.home), ())
    roots = make_roots(given.roots, given.cwd) or make_roots(written, given.cwd)
    access = schema.read_access(table, problems)
    base = Config(
        profile=profile,
        roots=roots or given.stored_roots,
        state_dir=absolute(given.state_dir, given.cwd) if given.state_dir else places.state_dir(profile),
        socket=_socket(table.get("socket", {}), profile, given, places, problems),
        settings=Settings(keys=access.keys),
        access=access,
        roles=schema.read_roles(table.get("roles", {}), problems),
        history=schema.read_history(table.get("history", {}), problems),
        log=schema.read_log(table.get("log", {}), problems),
        home=places.home,
        settings_home=posixpath.dirname(posixpath.dirname(places.config_file)),
        origins=_origins(table, profile, given, places),
    )
    # Other profiles are read too: a broken file is told whole, whichever profile is meant.
    for name in profiles.keys() - {profile}:
        other = Section(f"[profile.{name}]", profiles[name], schema.PROFILE_KEYS, problems)
        other.get("roots", schema.read_roots(places.home), ())
        _with_values(other, base)
    config = _with_values(filed, base)
    return _with_values(Section("command line", given.settings, schema.PROFILE_KEYS, problems), config)


def _with_values(section: Section, config: Config) -> Config:
    settings = config.settings
    default, pairs = section.get("languages", schema.read_languages, (settings.language, settings.languages))
    labels = {root.label for root in config.roots}
    for label, _ in pairs:
        if label not in labels and config.roots and section.name.endswith(f".{config.profile}]"):
            section.problem("languages", f"no root has the label {label!r}; labels: {', '.join(sorted(labels))}")
    return config._replace(
        settings=settings._replace(
            max_chars=section.get("max_chars", read_int(120, 1_000_000), settings.max_chars),
            formats=section.get("formats", schema.read_formats, settings.formats),
            language=default or settings.language,
            languages=pairs or settings.languages,
        ),
        max_file_bytes=section.get("max_file_bytes", read_int(1, 1 << 40), config.max_file_bytes),
        hidden=section.get("hidden", read_bool, config.hidden),
        node_modules=section.get("node_modules", read_bool, config.node_modules),
        tagged_caches=section.get("tagged_caches", read_bool, config.tagged_caches),
        ignore=section.get("ignore", read_texts, config.ignore),
        poll=section.get("poll", schema.read_poll, config.poll),
        durability=section.get("durability", schema.read_durability, config.durability),
    )


def _socket(table: object, profile: str, given: Given, places: Places, problems: list[str]) -> Socket:
    section = Section("[socket]", table, schema.SOCKET_KEYS, problems)
    written = section.get("path", schema.read_path(places.home), "")
    named = given.socket or written
    path = absolute(named, given.cwd) if named else places.socket(profile)
    if len(path.encode("utf-8", "surrogateescape")) > MAX_SOCKET_PATH_BYTES:
        problems.append(f"socket {path}: longer than {MAX_SOCKET_PATH_BYTES} bytes; name a shorter one with --socket")
    return Socket(
        path=path,
        mode=section.get("mode", schema.read_mode, 0o600),
        group=section.get("group", read_text, None),
        is_default=not named,
        clients_look_in=places.runtime_dir,
    )


def _with_projects(config: Config, read_project: Callable[[str], str | None]) -> Config:
    """Take in what the roots say of themselves; a broken file is its root's trouble, not that of the others."""
    rules, access = [], list(config.access.rules)
    for root in config.roots:
        problems: list[str] = []
        section = _project(root.path, read_project, problems)
        if section is None and not problems:
            continue
        found, metadata = _root_rules(root.label, section)
        if problems:
            rules.append(RootRules(label=root.label, problems=tuple(problems)))
            continue
        rules.append(found)
        if metadata:
            access.append(PathRule(match=f"{root.label}/**" if root.prefixed else "**", metadata=metadata))
    endings = [ending for rule in rules for ending in rule.formats or ()]
    return config._replace(
        root_rules=tuple(rules),
        access=config.access._replace(rules=tuple(access)),
        settings=config.settings._replace(formats=tuple(dict.fromkeys((*config.settings.formats, *endings)))),
    )


def _project(root: str, read_project: Callable[[str], str | None], problems: list[str]) -> Section | None:
    where = f"{root}/{PROJECT_FILE}"
    try:
        text = read_project(root)
    except ConfigError as error:
        problems += error.problems
        return None
    return None if text is None else Section(where, read_toml(text, where, problems), schema.PROJECT_KEYS, problems)


def _root_rules(label: str, section: Section | None) -> tuple[RootRules, Mapping[str, MetadataValue]]:
    if section is None:
        return RootRules(label=label), {}
    rules = RootRules(
        label=label,
        ignore=section.get("ignore", read_texts, ()),
        formats=section.get("formats", schema.read_formats, None),
        hidden=section.get("hidden", read_bool, None),
        node_modules=section.get("node_modules", read_bool, None),
        tagged_caches=section.get("tagged_caches", read_bool, None),
    )
    return rules, section.get("metadata", schema.read_metadata, {})


def _check_roots(config: Config, problems: list[str]) -> None:
    problems.extend(doubled_labels(config.roots))
    for root in config.roots:
        problems.extend(
            f"root {root.path}: lies inside the root {other.path}; name only the outer one"
            for other in config.roots
            if other is not root and holds(other.path, root.path)
        )
        if holds(config.state_dir, root.path):
            problems.append(f"root {root.path}: lies inside the state directory {config.state_dir}; move one of them")


def _origins(table: Mapping[str, object], profile: str, given: Given, places: Places) -> Mapping[str, str]:
    origins: dict[str, str] = {}
    for name in ("front_matter", "roles", "history", "socket", "log"):
        section = table.get(name, {})
        origins |= {f"{name}.{key}": places.config_file for key in section} if isinstance(section, Mapping) else {}
    if given.stored_roots:
        origins["profile.roots"] = "the index"
    profiles = table.get("profile", {})
    own = profiles.get(profile, {}) if isinstance(profiles, Mapping) else {}
    origins |= {f"profile.{key}": places.config_file for key in own} if isinstance(own, Mapping) else {}
    origins |= {f"profile.{key}": "command line" for key in given.settings}
    if given.roots:
        origins["profile.roots"] = "command line"
    if given.socket:
        origins["socket.path"] = "command line"
    return MappingProxyType(origins)
