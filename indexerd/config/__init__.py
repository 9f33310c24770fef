"""Settings: from texts and flags to one valid, frozen value, or every problem at once."""

from indexerd.config.effective import effective_toml
from indexerd.config.parse import PROJECT_FILE, parse_config, read_toml
from indexerd.config.places import Places, absolute, default_profile, find_places, holds, make_roots, split_label
from indexerd.config.profiles import Given, choose_profile, profiles_of
from indexerd.config.values import Config, Durability, Log, Poll, Roles, RootRules, Socket

__all__ = [
    "PROJECT_FILE",
    "Config",
    "Durability",
    "Given",
    "Log",
    "Places",
    "Poll",
    "Roles",
    "RootRules",
    "Socket",
    "absolute",
    "choose_profile",
    "default_profile",
    "effective_toml",
    "find_places",
    "holds",
    "make_roots",
    "parse_config",
    "profiles_of",
    "read_toml",
    "split_label",
]
