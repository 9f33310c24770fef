"""How a configuration becomes the parts of a watch set."""

from indexerd.access import AccessRules
from indexerd.config import Config, RootRules, Socket
from indexerd.model import Root, Settings
from indexerd.wiring.syncing import ignore_options


def configured(**more) -> Config:
    fields = {"state_dir": "/state", "socket": Socket(path="/s.sock"), "settings": Settings(), "access": AccessRules()}
    return Config(profile="p", roots=(), **{**fields, **more})


def test_a_root_says_for_itself_what_its_profile_says_for_all():
    """Hidden files, node_modules and tagged caches are switched by the profile, or by a root for itself."""
    roots = [Root(label=label, path=f"/{label}", prefixed=True) for label in ("a", "b")]
    own = RootRules(label="b", ignore=("x/",), hidden=False, tagged_caches=True)
    given = configured(hidden=True, node_modules=True, ignore=("y/",), root_rules=(own,))
    plain, other = (ignore_options(given, root) for root in roots)
    assert (plain.hidden, plain.node_modules, plain.tagged_caches, plain.patterns) == (True, True, False, ("y/",))
    assert (other.hidden, other.node_modules, other.tagged_caches, other.patterns) == (False, True, True, ("y/", "x/"))
