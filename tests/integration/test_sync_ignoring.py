"""Git decides, on a large generated repository: from a scan, from single looks and from events the set is git's."""

import os
import random
import shutil
import subprocess
import time
from pathlib import Path

import pytest

from indexerd.naming import decode_name
from indexerd.sync.ignore import IgnoreOptions
from indexerd.sync.surroundings import GitUser
from tests.fakes.sync_rig import Rig

PATHS = 20_000 if os.environ.get("INDEXERD_TEST_SIZE") == "large" else 700
EDITS = 200 if os.environ.get("INDEXERD_TEST_SIZE") == "large" else 25
FOLDERS = ("api", "build", "docs", "keep", "old", "v1", "v2.0", "a b", "[x]", "ünï", "Build", "tmp-1")
STEMS = ("index", "readme", "notes", "draft-1", "draft-2", "keep", "a", "b b", "#c", "!d", "x[1]", "é")
ENDINGS = (".md", ".txt", ".rst")
LINES = (
    "*.txt", "!keep.txt", "build/", "/docs/*", "!/docs/keep/", "**/old/**", "draft-?.md", "draft-[!1].*", "v*/", "!v1/",
    "docs/**/a.md", "/api", "!/api/readme.md", "*.r?t", "!index.*", "keep/*.md", "a b/", "\\#c.md", "\\!d.*", "[[]x]/",
    "x\\[1].*", "é.*", "ünï/", "**/v1/*/", "!**/v1/keep/", "tmp-*", "*", "!*/", "!*.md", "# nothing", "b b.txt ",
    "B*/", ".*", "old", "!old/keep/notes.md", "docs/api/", "a.*\r",
)  # fmt: skip


class Repository:
    """A repository with rules in every place that git knows, and git's own verdict on its files."""

    def __init__(self, place: Path, seed: int) -> None:
        self.top, self.home, self.choose = place / "root", place / "home", random.Random(seed)
        for folder in (self.top, self.home / ".config" / "git"):
            folder.mkdir(parents=True)
        kept = {name: value for name, value in os.environ.items() if not name.startswith(("GIT_", "XDG_"))}
        self.environ = {**kept, "HOME": str(self.home)}
        self.git("init", "-q")
        self.inner = self.top / "docs" / "clone"
        self.inner.mkdir(parents=True)
        self.git("init", "-q", at=self.inner)
        made = set()
        while len(made) < PATHS:
            made.add(self.add())
        for rules in self.rule_files():
            self.rewrite(rules)

    def git(self, *words, at=None, given=None) -> bytes:
        done = subprocess.run(
            ["git", *words], cwd=at or self.top, env=self.environ, input=given, capture_output=True, check=False
        )
        assert done.returncode in (0, 1), done.stderr
        return done.stdout

    def folder(self) -> Path:
        base = self.choose.choice((self.top, self.top, self.top, self.inner))
        return base.joinpath(*self.choose.choices(FOLDERS, k=self.choose.randrange(4)))

    def add(self) -> Path:
        path = self.folder() / (self.choose.choice(STEMS) + self.choose.choice(ENDINGS))
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text("text")
        return path

    def rule_files(self) -> list[Path]:
        """Return each place that has or may have rules: the user's, both repositories' own, and some folders'."""
        folders = sorted({path.parent for path in self.files()})
        chosen = self.choose.sample(folders, min(len(folders), 12))
        own = [self.top / ".git/info/exclude", self.inner / ".git/info/exclude", self.home / ".config/git/ignore"]
        return [*own, self.top / ".gitignore", self.inner / ".gitignore", *(each / ".gitignore" for each in chosen)]

    def rewrite(self, place: Path) -> None:
        # Few lines for all repositories: a lone `*` there would leave nothing to compare.
        lines = self.choose.choices(LINES, k=self.choose.randrange(4))
        place.write_text("\n".join(line for line in lines if line != "*" or place.parent.parent != self.top))

    def edit(self) -> None:
        """Change rules somewhere: another text, none, or a file renamed into their place."""
        place = self.choose.choice(self.rule_files())
        match self.choose.randrange(3):
            case 0:
                place.unlink(missing_ok=True)
            case 1:
                beside = place.with_name("rules.tmp")
                self.rewrite(beside)
                os.replace(beside, place)
            case _:
                self.rewrite(place)

    def files(self):
        return (path for path in self.top.rglob("*") if path.suffix in ENDINGS and ".git" not in path.parts)

    def wanted(self) -> set[str]:
        """Return what git does not ignore; the repository inside is asked for its own."""
        found = set()
        hidden_by_outer = self._ignored(self.top, [self.inner])
        for top in (self.top, self.inner):
            mine = [path for path in self.files() if path.is_relative_to(self.inner) == (top == self.inner)]
            if top == self.top or not hidden_by_outer:
                found |= {str(path.relative_to(self.top)) for path in set(mine) - self._ignored(top, mine)}
        return found

    def _ignored(self, top: Path, paths) -> set[Path]:
        names = b"\0".join([*(os.fsencode(path.relative_to(top)) for path in paths), b""])
        answer = self.git("check-ignore", "--no-index", "--stdin", "-z", "-v", "-n", at=top, given=names).split(b"\0")
        rows = [answer[at : at + 4] for at in range(0, len(answer) - 3, 4)]
        return {top / os.fsdecode(name) for *_, pattern, name in rows if pattern and not pattern.startswith(b"!")}


@pytest.fixture
def repository(tmp_path):
    return Repository(tmp_path, seed=4)


def rig_for(repository, tmp_path, **options):
    user = GitUser(str(repository.home), str(repository.home / ".config"))
    return Rig(tmp_path, ignore=IgnoreOptions(hidden=True), git_user=user, **options)


def paths_of(rig) -> set[str]:
    return {os.fsdecode(decode_name(path)) for path in rig.paths()}


@pytest.mark.slow
def test_every_edit_of_any_rule_file_leaves_the_set_that_git_names(repository, tmp_path):
    """Hundreds of paths, rules edited again and again in every place git knows: after each edit the set is git's."""
    assert len(list(repository.files())) >= 500
    sizes = set()
    with rig_for(repository, tmp_path) as rig:
        rig.start()
        assert paths_of(rig) == repository.wanted()
        for number in range(EDITS):
            repository.edit()
            repository.add()
            rig.settle()
            wanted = repository.wanted()
            assert paths_of(rig) == wanted, number
            sizes.add(len(wanted))
        assert rig.digest() == rig.scratch_digest(tmp_path / "scratch")
    assert len(sizes) > EDITS // 3, "the rules hardly made a difference"


def test_the_users_own_ignore_file_speaks_for_all_repositories_and_for_nothing_else(tmp_path):
    """What `core.excludesFile` names counts inside of repositories, wherever it lies, and follows an edit at once."""
    home = tmp_path / "home"
    home.mkdir()
    (home / ".gitconfig").write_text('[user]\n\tname = x\n[core]\n\texcludesFile = "~/rules" # mine\n')
    (home / "dotfiles").write_text("secret.md\n")
    (home / "rules").symlink_to("dotfiles")
    with Rig(tmp_path, git_user=GitUser(str(home), str(home / ".config"))) as rig:
        for name in ("secret.md", "repo/secret.md", "repo/open.md"):
            rig.write(name, "text")
        (rig.root / "repo" / ".git" / "info").mkdir(parents=True)
        rig.start()
        assert rig.paths() == ["repo/open.md", "secret.md"]
        os.replace(rig.write("new", "open.md\n", home), home / "rules")
        rig.settle()
        assert rig.paths() == ["repo/secret.md", "secret.md"]
        (rig.root / "repo/.git/info/exclude").write_text("secret.md\n")
        rig.settle()
        assert rig.paths() == ["secret.md"]


def test_the_users_ignore_file_is_found_as_git_finds_it(tmp_path):
    """Through files that others include, in their order, and by the settings of the root's own repository."""
    home = tmp_path / "home"
    (home / "more").mkdir(parents=True)
    (home / ".gitconfig").write_text(
        "[core]\n\texcludesFile = ~/before\n[include]\n\tpath = more/config\n\tpath = ~/absent\n"
    )
    (home / "more/config").write_text('[Include] path = "again" ; beside this one\n[core] excludesfile = /nowhere\n')
    (home / "more/again").write_text("[include]\npath = again\n[core]\nexcludesFile = ~/never\n")
    (home / "rules").write_text("a.md\n")
    (home / "others").write_text("b.md\n")
    with Rig(tmp_path, git_user=GitUser(str(home), str(home / ".config"))) as rig:
        git_folder = rig.root / ".git"
        (git_folder / "info").mkdir(parents=True)
        for name in ("a.md", "b.md", "c.md"):
            rig.write(name, "text")
        rig.start()
        assert rig.paths() == ["a.md", "b.md", "c.md"]
        os.replace(rig.write("new", "[core]\n\texcludesFile = ~/rules\n", home), home / "more/config")
        rig.settle()
        assert rig.paths() == ["b.md", "c.md"]
        (git_folder / "config").write_text("[core]\n\tbare = false\n\texcludesFile = ~/others\n")
        rig.settle()
        assert rig.paths() == ["a.md", "c.md"]
        (home / "others").write_text("c.md\n")
        rig.settle()
        assert rig.paths() == ["a.md", "b.md"]
        oracle = {"HOME": str(home), "XDG_CONFIG_HOME": str(home / ".config"), "PATH": os.environ["PATH"]}
        subprocess.run(["git", "init", "-q", rig.root], check=True, env=oracle)
        ask = ["git", "-C", rig.root, "check-ignore", "--no-index", "a.md", "b.md", "c.md"]
        ignored = subprocess.run(ask, env=oracle, capture_output=True, text=True, check=False).stdout
        assert ignored.split() == ["c.md"]
        assert rig.digest() == rig.scratch_digest(tmp_path / "scratch")


def test_rules_in_folders_that_are_made_later_act_at_once(tmp_path):
    """Nobody can watch a folder that is not there: of the user's settings, of git in a repository above or inside."""
    home, git = tmp_path / "home", ("git", "-C")
    with Rig(tmp_path, git_user=GitUser(str(home), str(home / ".config"))) as rig:
        for name in ("a.md", "b.md", "c.md", "d.md", "e.md", "inner/a.md", "inner/.git/HEAD"):
            rig.write(name, "text")
        rig.start()

        def seen() -> list[str]:
            rig.settle()
            return rig.paths()

        assert seen() == ["a.md", "b.md", "c.md", "d.md", "e.md", "inner/a.md"]
        (home / ".config" / "git").mkdir(parents=True)
        (home / ".config/git/ignore").write_text("inner/a.md\na.md\n")
        assert seen() == ["a.md", "b.md", "c.md", "d.md", "e.md"], "in repositories alone"
        (tmp_path / ".gitignore").write_text("b.md\n")
        subprocess.run([*git, tmp_path, "init", "-q", "--template="], check=True)
        assert seen() == ["c.md", "d.md", "e.md"]
        (tmp_path / ".git" / "info").mkdir()
        (tmp_path / ".git/info/exclude").write_text("c.md\n")
        assert seen() == ["d.md", "e.md"]
        shutil.rmtree(tmp_path / ".git" / "info")
        assert seen() == ["c.md", "d.md", "e.md"]
        (home / ".gitconfig").write_text("[core]\nexcludesFile = ~/new/folder/rules\n")
        assert seen() == ["a.md", "c.md", "d.md", "e.md", "inner/a.md"]
        (home / "new/folder").mkdir(parents=True)
        (home / "new/folder/rules").write_text("d.md\n")
        assert seen() == ["a.md", "c.md", "e.md", "inner/a.md"]
        (rig.root / "inner/.git/info").mkdir()
        (rig.root / "inner/.git/info/exclude").write_text("*.md\n")
        assert seen() == ["a.md", "c.md", "e.md"]
        shutil.rmtree(rig.root / "inner/.git/info")
        assert seen() == ["a.md", "c.md", "e.md", "inner/a.md"]
        subprocess.run([*git, rig.root, "init", "-q"], check=True)
        assert seen() == ["a.md", "b.md", "c.md", "e.md", "inner/a.md"], "what is above is another repository now"
        shutil.rmtree(rig.root / ".git")
        shutil.rmtree(tmp_path / ".git")
        assert seen() == ["a.md", "b.md", "c.md", "d.md", "e.md", "inner/a.md"]
        assert rig.digest() == rig.scratch_digest(tmp_path / "scratch")


def test_a_repository_at_work_above_a_root_wakes_nobody(tmp_path):
    """What git does to its own files, and others to a busy folder above, is no event and no look."""
    (tmp_path / ".git").mkdir()
    with Rig(tmp_path) as rig:
        rig.write("a.md", "text")
        rig.start()
        rig.settle()
        before, began = rig.loop.heartbeat(), time.monotonic()
        for number in range(500):
            (tmp_path / ".git" / "index.lock").write_text(str(number))
            (tmp_path / f"busy-{number}").touch()
        steps, seconds = rig.loop.heartbeat() - before, time.monotonic() - began
        assert steps <= 10 + 2 * seconds, "a step a second is the timer's"


def test_a_worktree_shares_the_rules_of_its_repository(tmp_path):
    """In a worktree `.git` is a file that says where the repository is; its `info/exclude` counts here too."""
    main = tmp_path / "main"
    main.mkdir()
    git = ("git", "-c", "user.name=n", "-c", "user.email=e", "-C", main)
    for words in (("init", "-q"), ("commit", "-q", "--allow-empty", "-m", "x"), ("worktree", "add", "-q", "../root")):
        subprocess.run([*git, *words], check=True, capture_output=True)
    (main / ".git/info/exclude").write_text("secret.md\n")
    with Rig(tmp_path) as rig:
        rig.write("secret.md", "text")
        rig.write("open.md", "text")
        rig.start()
        assert rig.paths() == ["open.md"]
        (main / ".git/info/exclude").write_text("open.md\n")
        rig.settle()
        assert rig.paths() == ["secret.md"]


@pytest.mark.parametrize("inside", [True, False])
def test_worktrees_below_a_root_follow_the_rules_of_their_repository(tmp_path, inside):
    """Wherever the main repository lies, below the same root or outside: an edit of its rules acts at once."""
    with Rig(tmp_path) as rig:
        main = rig.root / "main" if inside else tmp_path / "main"
        main.mkdir()
        git = ("git", "-c", "user.name=n", "-c", "user.email=e", "-C", main)
        for words in (("init", "-q"), ("commit", "-q", "--allow-empty", "-m", "x")):
            subprocess.run([*git, *words], check=True, capture_output=True)
        rig.write("plain.md", "text")
        rig.start()
        rig.settle()
        subprocess.run([*git, "worktree", "add", "-q", rig.root / "deep" / "tree"], check=True, capture_output=True)
        rig.write("deep/tree/one.md", "text")
        rig.write("deep/tree/two.md", "text")

        def seen(rules: str) -> list[str]:
            (main / ".git/info/exclude").write_text(rules)
            rig.settle()
            return rig.paths()

        assert seen("") == ["deep/tree/one.md", "deep/tree/two.md", "plain.md"]
        assert seen("one.md\n") == ["deep/tree/two.md", "plain.md"]
        assert seen("two.md\n") == ["deep/tree/one.md", "plain.md"]
        assert rig.digest() == rig.scratch_digest(tmp_path / "scratch")


def test_what_an_edited_rule_ignores_is_not_watched_any_more(tmp_path):
    """A folder that a new line ignores gives its watches back at once, one taken back in is watched again."""
    with Rig(tmp_path) as rig:
        for number in range(20):
            rig.write(f"made/{number}/n.md", "text")
        rig.start()
        assert rig.loop.status().watches == 22
        rig.write(".gitignore", "made/\n")
        rig.settle()
        assert (rig.loop.status().watches, rig.paths()) == (1, [])
        (rig.root / ".gitignore").unlink()
        rig.settle()
        assert (rig.loop.status().watches, len(rig.paths())) == (22, 20)
