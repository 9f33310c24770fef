"""From TOML text, flags and project files to one valid value, or every problem at once."""

import tomllib

import pytest

from indexerd.config import Given, Places, effective_toml, parse_config
from indexerd.errors import ConfigError
from indexerd.model import Root

PLACES = Places(
    config_file="/home/u/.config/indexerd/config.toml", state_home="/home/u/state", runtime_dir="/run/u", home="/home/u"
)


def parse(text="", *, projects=None, **given):
    return parse_config(
        text,
        given=Given(**{"cwd": "/home/u", **given}),
        places=PLACES,
        read_project=(projects or {}).get,
    )


def problems_of(text="", **given):
    with pytest.raises(ConfigError) as caught:
        parse(text, **given)
    return caught.value.problems


def test_defaults_are_those_of_the_contract():
    """Without a file and flags the documented defaults hold."""
    config = parse(roots=("docs",))
    assert config.settings.max_chars == 900
    assert config.settings.language == "english"
    assert config.max_file_bytes == 16 * 1024 * 1024
    assert (config.poll, config.durability, config.hidden) == ("auto", "checkpoint", False)
    assert config.roots == (Root(label="docs", path="/home/u/docs"),)
    assert config.socket.mode == 0o600


def test_every_problem_is_listed_at_once():
    """A file with six mistakes gives six problems, each with its file and its place in it."""
    found = problems_of(
        """
        max_chars = 5
        [profile.docs]
        max_char = 900
        max_chars = 12
        hidden = "yes"
        languages = "englsh"
        [historie]
        """
    )
    text = "\n".join(found)
    assert [problem.startswith(f"{PLACES.config_file}: ") for problem in found] == [True] * 6
    assert "belongs below a profile" in text
    assert "did you mean 'max_chars'" in text
    assert "from 120 to" in text
    assert "must be true or false" in text
    assert "did you mean 'english'" in text
    assert "did you mean 'history'" in text
    assert "did you mean" not in problems_of(settings={"languages": "klingon"})[0]


def test_a_syntax_error_names_the_file():
    """Text that is not TOML is one problem that names the file."""
    (problem,) = problems_of("roots = [")
    assert problem.startswith(PLACES.config_file)


def test_flags_win_over_the_file():
    """A flag replaces the file's value and is named as its origin."""
    text = "[profile.p]\nmax_chars = 300\nhidden = true\nnode_modules = true\ntagged_caches = true"
    config = parse(text, profile="p", settings={"max_chars": 500, "node_modules": False})
    assert (config.settings.max_chars, config.hidden) == (500, True)
    assert (config.node_modules, config.tagged_caches) == (False, True)
    assert config.origins["profile.max_chars"] == "command line"
    assert config.origins["profile.hidden"] == PLACES.config_file


def test_a_wrong_flag_is_a_problem_like_a_wrong_key():
    """A flag's value is held to the same limits as the file's."""
    assert "command line max_chars" in problems_of(settings={"max_chars": 1})[0]


def test_roots_choose_the_profile_that_has_them():
    """A watch set defined in the file is found by its roots; another one gets a name of its own."""
    text = '[profile.work]\nroots = ["/a", "/b"]\n[profile.home]\nroots = ["/c"]'
    assert parse(text, roots=("/b", "/a")).profile == "work"
    assert parse(text, roots=("/c",)).profile == "home"
    assert parse(text, roots=("/a",)).profile.startswith("a-")


def test_roots_of_the_file_are_the_same_from_everywhere():
    """`~` is the user's home, with a label or without; the current directory plays no part."""
    text = '[profile.p]\nroots = ["~/docs", "n=~/notes", "/srv/a"]\n[socket]\npath = "~/run/x.sock"'
    config = parse(text, profile="p", cwd="/elsewhere")
    assert [root.path for root in config.roots] == ["/home/u/docs", "/home/u/notes", "/srv/a"]
    assert config.socket.path == "/home/u/run/x.sock"
    assert parse(text, roots=("/home/u/docs", "/home/u/notes", "/srv/a")).profile == "p"


@pytest.mark.parametrize("root", ["docs", "./docs", "n=docs", "~other/docs", ""])
def test_a_relative_root_in_the_file_is_refused(root):
    """It would mean another folder wherever a command is called; told for every profile, whichever is meant."""
    found = problems_of(f'[profile.p]\nroots = ["{root}"]\n[socket]\npath = "x.sock"', profile="other")
    assert len(found) == 2
    assert any("[profile.p] roots: must be" in problem for problem in found)
    assert any("[socket] path: must be an absolute path" in problem for problem in found)


def test_a_single_root_has_no_prefix_and_several_have():
    """One root keeps plain paths; a label or a second root prefixes them."""
    assert not parse(roots=("docs",)).roots[0].prefixed
    assert parse(roots=("notes=docs",)).roots == (Root(label="notes", path="/home/u/docs", prefixed=True),)
    assert [root.label for root in parse(roots=("a/docs", "b/docs")).roots] == ["docs", "docs-2"]
    assert all(root.prefixed for root in parse(roots=("a/docs", "b/docs")).roots)


def test_a_root_given_twice_counts_once():
    """Two spellings of one folder are one root, and it is not prefixed."""
    assert parse(roots=("docs", "./docs/")).roots == (Root(label="docs", path="/home/u/docs"),)


def test_nested_roots_are_refused():
    """A root inside another would index every document twice."""
    (problem,) = problems_of(roots=("/a", "/a/b"))
    assert "lies inside the root /a" in problem


def test_a_root_inside_the_state_directory_is_refused():
    """The index must not index itself."""
    (problem,) = problems_of(roots=("/s/docs",), state_dir="/s")
    assert "inside the state directory" in problem


def test_a_socket_path_that_no_kernel_takes_is_refused():
    """A path over 107 bytes is told before anything starts."""
    (problem,) = problems_of(socket="/" + "x" * 120)
    assert "107 bytes" in problem


def test_a_project_file_sets_ignores_formats_and_metadata_of_its_root():
    """What a root says of itself holds below it and nowhere else."""
    projects = {"/a": 'ignore = ["drafts/"]\nformats = ["txt"]\nnode_modules = true\n[metadata]\nteam = "docs"'}
    config = parse(roots=("/a", "/b"), projects=projects)
    (rules,) = config.root_rules
    assert (rules.label, rules.ignore, rules.formats) == ("a", ("drafts/",), (".txt",))
    assert (rules.hidden, rules.node_modules, rules.tagged_caches) == (None, True, None)
    (rule,) = config.access.rules
    assert (rule.match, dict(rule.metadata)) == ("a/**", {"team": "docs"})


@pytest.mark.parametrize("key", ["roots", "socket", "roles", "rules", "command", "state_dir"])
def test_a_project_file_cannot_widen_anything(key):
    """A project file that names roots, sockets, roles, rules or commands is refused by name."""
    config = parse(roots=("/a", "/b"), projects={"/a": f'{key} = ["x"]\nhidden = true', "/b": "hidden = true"})
    (problem,) = config.root_problems
    assert f"unknown key {key!r}" in problem
    assert [rules.hidden for rules in config.root_rules] == [None, True]


def test_rules_and_roles_are_read():
    """Rules, roles, history, socket and log reach the value as typed."""
    config = parse(
        """
        [[rules]]
        match = "policies/**"
        supersede_by = "series"
        acl = ["staff"]
        [roles]
        owner = ["staff"]
        [roles.users]
        alice = ["guest"]
        [history]
        max_ratio = 0
        [socket]
        path = "/run/x.sock"
        mode = "0660"
        group = "docs"
        [log]
        level = "debug"
        """
    )
    (rule,) = config.access.rules
    assert (rule.match, rule.supersede_by, tuple(rule.acl)) == ("policies/**", "series", ("staff",))
    assert (config.roles.owner, config.roles.users) == (("staff",), (("alice", ("guest",)),))
    assert (config.socket.mode, config.socket.group, config.socket.is_default) == (0o660, "docs", False)
    assert (config.history.max_ratio, config.log.level) == (0.0, "debug")


def test_an_empty_acl_of_a_rule_stays_empty_and_not_absent():
    """`acl = []` admits nobody; no acl says nothing."""
    empty, absent = parse('[[rules]]\nmatch = "a/**"\nacl = []\n[[rules]]\nmatch = "b/**"').access.rules
    assert tuple(empty.acl) == ()
    assert absent.acl is None


@pytest.mark.parametrize("rule", ['acl = ["a"]', 'match = "a"\nsafety = "alow"', 'match = "a"\nboost = -1'])
def test_a_wrong_rule_is_told_by_its_number(rule):
    """A rule that cannot hold is named by its place in the file."""
    (problem,) = problems_of(f"[[rules]]\n{rule}")
    assert "[[rules]] number 1" in problem


def test_languages_may_differ_by_root():
    """A table of labels sets a language per root; a label that no root has is told."""
    text = '[profile.p]\nroots = ["/a", "/b"]\nlanguages = {default = "none", b = "german"}'
    assert parse(text, profile="p").settings.languages == (("b", "german"),)
    assert parse(text, profile="p").settings.language == "none"
    assert "no root has the label 'c'" in problems_of(text.replace("b =", "c ="), profile="p")[0]


def test_a_label_that_two_roots_are_given_is_a_problem():
    """Citations begin with labels: none is changed in silence, on the command line or in the file."""
    problems = problems_of(roots=("a=one", "a=two"))
    assert problems == ("label 'a' is given to /home/u/one and to /home/u/two: name each in its own way",)
    assert problems_of('[profile.p]\nroots = ["a=/one", "a=/two"]', profile="p")
    assert parse(roots=("a=one", "a=one")).roots


def test_effective_settings_are_a_file_that_gives_the_same_values():
    """What `indexerd config` prints can be read back and means the same."""
    text = """
        [profile.p]
        roots = ["/a", "x=/b"]
        max_chars = 300
        languages = {default = "none", x = "german"}
        ignore = ["*.tmp \\"q\\""]
        [[rules]]
        match = "a/**"
        metadata = {team = "docs"}
        boost = 2.0
        [front_matter]
        acl = ["readers"]
        [history]
        days = 3
        [roles.groups]
        "docs team" = ["staff"]
        """
    config = parse(text, profile="p")
    printed = effective_toml(config, PLACES.config_file)
    assert tomllib.loads(printed)
    again = parse(printed, profile="p")
    for name in ("roots", "settings", "ignore", "roles", "history", "log", "access", "poll", "max_file_bytes"):
        assert getattr(again, name) == getattr(config, name), name
    assert "# /home/u/.config/indexerd/config.toml" in printed
    assert "# default" in printed
    assert {"title", "acl", "days", "max_ratio"} <= {line.partition(" ")[0] for line in printed.splitlines()}


def test_roots_that_the_index_remembers_are_said_to_be_its():
    """Nobody wrote them and they are no default."""
    config = parse("", roots=(), stored_roots=(Root(label="notes", path="/home/u/notes", prefixed=False),))
    assert 'roots = ["/home/u/notes"]  # the index' in effective_toml(config, PLACES.config_file)


@pytest.mark.parametrize(("written", "read"), [("true", "always"), ("false", "never"), ("30", 30.0), ("2.5", 2.5)])
def test_polling_may_be_given_in_seconds(written, read):
    """A number is how often; true and false are always and never."""
    assert parse(f'[profile.p]\nroots = ["/x"]\npoll = {written}\n', profile="p").poll == read


@pytest.mark.parametrize("written", ["0", "0.5", "-3", "1e9", "nan"])
def test_polling_without_end_or_hardly_ever_is_refused(written):
    """Less than a second would never rest; more than an hour is not polling."""
    with pytest.raises(ConfigError, match="seconds"):
        parse(f'[profile.p]\nroots = ["/x"]\npoll = {written}\n', profile="p")
