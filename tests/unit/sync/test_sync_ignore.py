"""What is not looked at, which rule says so, and who may overrule it."""

import pytest

from indexerd.sync.ignore import IgnoreOptions, root_rules


def rules(files=None, above=(), own=(), is_repository=False, **options):
    texts = {name.encode(): text.encode() for name, text in (files or {}).items()}
    return root_rules(
        IgnoreOptions(**options), files=texts, above=above, own_files=frozenset(own), is_repository=is_repository
    )


def enter(folder, name, files=None, is_repository=False):
    texts = {file.encode(): text.encode() for file, text in (files or {}).items()}
    return folder.enter(name, texts, is_repository=is_repository)


@pytest.mark.parametrize(
    ("name", "is_folder", "reason"),
    [
        (b".git", True, "version_control"),
        (b".git", False, "version_control"),
        (b"CVS", True, "version_control"),
        (b".secret.md", False, "hidden"),
        (b".obsidian", True, "hidden"),
        (b"node_modules", True, "node_modules"),
        (b"node_modules", False, None),
        (b"~$report.md", False, "editor_file"),
        (b"~syncthing~a.md.tmp", False, "editor_file"),
        (b"notes.md", False, None),
        (b"notes", True, None),
    ],
)
def test_built_in_rules(name, is_folder, reason):
    """Without any configuration these are left out, and nothing else."""
    assert rules().ignores(name, is_folder=is_folder) == reason


def test_hidden_files_can_be_asked_for_but_no_droppings():
    """With hidden files on, Emacs locks, AppleDouble files and version control stay out."""
    everything = rules(hidden=True, node_modules=True)
    assert everything.ignores(b".obsidian", is_folder=True) is None
    assert everything.ignores(b"node_modules", is_folder=True) is None
    assert everything.ignores(b".#notes.md", is_folder=False) == "editor_file"
    assert everything.ignores(b"._notes.md", is_folder=False) == "editor_file"
    assert everything.ignores(b".git", is_folder=True) == "version_control"


@pytest.mark.parametrize(
    "name", [b"notes.md~", b".notes.md.swp", b"#notes.md#", b"notes.md.tmp", b"4913", b"notes", b".md"]
)
def test_only_indexed_endings_are_wanted(name):
    """Backups, swap files and temporary files have another ending, and are no documents."""
    assert not rules().is_wanted(name)


def test_endings_are_read_without_regard_to_case():
    """README.MD is a document, and formats can be narrowed."""
    assert rules().is_wanted(b"README.MD")
    assert not rules(formats=(".txt",)).is_wanted(b"a.md")


def test_the_last_line_wins_and_the_deeper_file_before_it():
    """Within a file the last matching line counts, and a deeper file overrides one above."""
    top = rules({".gitignore": "*.txt\n!keep.txt\n"})
    assert top.ignores(b"a.txt", is_folder=False) == "ignored"
    assert top.ignores(b"keep.txt", is_folder=False) is None
    inner = enter(top, b"sub", {".gitignore": "keep.txt\n!a.txt\n"})
    assert inner.ignores(b"a.txt", is_folder=False) is None
    assert inner.ignores(b"keep.txt", is_folder=False) == "ignored"


def test_paths_are_relative_to_the_file_that_names_them():
    """An anchored line speaks of entries of its own folder, at any depth below the root."""
    deep = enter(enter(rules(), b"a"), b"b", {".gitignore": "/c/d\n"})
    assert enter(deep, b"c").ignores(b"d", is_folder=False) == "ignored"
    assert enter(enter(deep, b"x"), b"c").ignores(b"d", is_folder=False) is None


def test_a_tools_own_file_overrides_the_general_one():
    """Configuration over .indexerdignore over .ignore over .gitignore, wherever they lie."""
    top = rules({".indexerdignore": "!a.md\n", ".ignore": "b.md\n"}, patterns=("c.md",))
    inner = enter(top, b"sub", {".gitignore": "a.md\n!b.md\n!c.md\n"})
    assert inner.ignores(b"a.md", is_folder=False) is None
    assert inner.ignores(b"b.md", is_folder=False) == "ignored"
    assert inner.ignores(b"c.md", is_folder=False) == "excluded"


def test_only_our_own_kinds_of_file_uncover_what_is_hidden():
    """`!.env.md` means "keep it in git" to git, and "search it" only where it is said to us."""
    assert rules({".gitignore": "!.a.md\n"}).ignores(b".a.md", is_folder=False) == "hidden"
    assert rules({".ignore": "!.a.md\n"}).ignores(b".a.md", is_folder=False) is None
    assert rules(patterns=("!node_modules/",)).ignores(b"node_modules", is_folder=True) is None
    assert rules(patterns=("!.git",)).ignores(b".git", is_folder=True) == "version_control"


def test_files_above_the_root_speak_for_what_is_below():
    """A .gitignore between the repository's top and the root counts, with paths as seen from there."""
    inside = rules(above=((b"docs/api", b"/docs/api/gen/\n*.log.md\n"), (b"api", b"!b.log.md\n")))
    assert inside.ignores(b"gen", is_folder=True) == "ignored"
    assert inside.ignores(b"a.log.md", is_folder=False) == "ignored"
    assert inside.ignores(b"b.log.md", is_folder=False) is None


def test_another_repository_knows_no_rules_from_outside():
    """A repository inside the root starts anew for git's files, and only for git's."""
    top = rules({".gitignore": "*.txt\n", ".ignore": "*.org\n"})
    inner = enter(top, b"clone", is_repository=True)
    assert inner.ignores(b"a.txt", is_folder=False) is None
    assert inner.ignores(b"a.org", is_folder=False) == "ignored"


def test_a_pattern_can_ignore_everything_but_the_root():
    """`*` and `.*/` leave the root itself, since the user asked for it."""
    assert rules({".gitignore": "*\n!a.md\n"}).ignores(b"a.md", is_folder=False) is None
    assert rules({".gitignore": ".*/\n"}).ignores(b"a.md", is_folder=False) is None


def test_ignore_files_can_be_switched_off():
    """Then only the configuration and the built-in rules speak."""
    top = rules({".gitignore": "*\n"}, ignore_files=False, patterns=("b.md",))
    assert top.ignores(b"a.md", is_folder=False) is None
    assert enter(top, b"s", {".ignore": "*\n"}).ignores(b"a.md", is_folder=False) is None
    assert top.ignores(b"b.md", is_folder=False) == "excluded"


def test_the_daemons_own_files_are_never_indexed():
    """Neither in the root nor deeper, whatever the patterns say."""
    top = rules(own=(b"state", b"a/b/sock.md"), patterns=("!state",))
    assert top.ignores(b"state", is_folder=True) == "own_files"
    assert enter(enter(top, b"a"), b"b").ignores(b"sock.md", is_folder=False) == "own_files"
    assert enter(enter(top, b"x"), b"b").ignores(b"sock.md", is_folder=False) is None


@pytest.mark.parametrize(
    ("above", "counts"),
    [
        (((b"notes", b"*\n"),), False),
        (((b"notes", b"n*\n!/notes/\n"),), True),
        (((b"build/docs", b"build/\n*.log.md\n"),), False),
        (((b"a/notes", b"notes/\n"), (b"notes", b"!notes/\n")), True),
        (((b"a/notes", b"!notes/\n"), (b"notes", b"notes/\n")), False),
        (((b"a/notes", b"/a/notes/x\n"),), True),
    ],
)
def test_rules_that_ignore_the_root_itself_do_not_count(above, counts):
    """A root in a folder that git ignores is indexed all the same: the user asked for it."""
    above = tuple((below, text + b"secret.md\n") for below, text in above)
    assert (rules(above=above).ignores(b"secret.md", is_folder=False) == "ignored") is counts
    assert rules(above=above).ignores(b"a.md", is_folder=False) is None
