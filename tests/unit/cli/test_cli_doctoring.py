"""What doctor finds, each with a remedy."""

import ast
import errno
import os
import re
import socket
import types
from pathlib import Path

import pytest

from indexerd import __version__
from indexerd.cli import doctoring
from indexerd.cli.doctoring import (
    daemon_findings,
    disk_findings,
    limits,
    mount_findings,
    root_findings,
    stale_sockets,
    state_findings,
    version_findings,
)
from indexerd.config import Given, Places, parse_config


class Backend:
    """Answers `status` and `documents` from tables."""

    def __init__(self, status, documents=()):
        self._answers = {
            "status": {"state": "current", "roots": [], "problems": [], "skipped": 0, "held": 0, **status},
            "documents": {"documents": list(documents), "next": None},
        }

    def call(self, method, params=None):
        return self._answers[method]

    def close(self):
        pass


def make_config(tmp_path, *roots):
    places = Places(config_file="/c", state_home=str(tmp_path / "state"), runtime_dir="/r")
    return parse_config("", given=Given(cwd="/", roots=tuple(map(str, roots))), places=places)


@pytest.mark.parametrize(
    ("figures", "areas"),
    [
        ({"max_user_watches": 1_000_000, "max_user_instances": 128}, []),
        ({"max_user_watches": 100, "max_user_instances": 128}, ["limits"]),
        ({"max_user_watches": 100, "max_user_instances": 1}, ["limits", "limits"]),
        ({}, []),
    ],
)
def test_low_kernel_limits_are_told_with_the_command_that_raises_them(figures, areas):
    """Few watches or instances are findings; what cannot be read is none."""
    found = list(limits(figures.get))
    assert [one.area for one in found] == areas
    assert all("sysctl" in one.remedy for one in found)


def test_a_socket_that_nobody_listens_at_is_told(tmp_path):
    """What a killed daemon left is named; one that is listened at is none, and neither is left out for the other."""
    stale, living = str(tmp_path / "a.sock"), str(tmp_path / "b.sock")
    with socket.socket(socket.AF_UNIX) as dead:
        dead.bind(stale)
    with socket.socket(socket.AF_UNIX) as listening:
        listening.bind(living)
        listening.listen()
        found = list(stale_sockets([stale, living]))
    assert [one.what.partition(":")[0] for one in found] == [stale]
    assert f"rm {stale}" in found[0].remedy


@pytest.mark.parametrize(
    ("figures", "told"),
    [
        ({}, None),
        ({"f_bavail": 1_000}, "3 MiB are free"),
        ({"f_flag": os.ST_RDONLY}, "read-only"),
        ({"f_favail": 0}, "inodes"),
        # Some file systems count no inodes.
        ({"f_favail": 0, "f_files": 0}, None),
    ],
)
def test_a_full_or_read_only_disk_is_told(tmp_path, monkeypatch, figures, told):
    """Where the index lies, or would lie: the nearest folder that exists is looked at."""
    whole = {"f_bavail": 10**6, "f_frsize": 4096, "f_flag": 0, "f_files": 100, "f_favail": 50, **figures}
    asked = []
    monkeypatch.setattr(os, "statvfs", lambda path: asked.append(path) or types.SimpleNamespace(**whole))
    found = list(disk_findings(str(tmp_path / "not" / "yet")))
    assert asked == [str(tmp_path)]
    assert [one.area for one in found] == ["disk"] * bool(told)
    assert all(told in one.what and one.remedy for one in found)


def test_a_disk_that_does_not_answer_is_told(tmp_path, monkeypatch):
    """An error of the disk is a finding and not the end of the examination."""

    def fail(path):
        raise OSError(errno.EIO, "Input/output error")

    monkeypatch.setattr(os, "statvfs", fail)
    assert ["Input/output error" in one.what for one in disk_findings(str(tmp_path))] == [True]


def test_a_daemon_of_another_version_is_told():
    """After an upgrade the old daemon runs on: it is named with both versions; one too old to say is, too."""
    assert list(version_findings({"version": __version__})) == []
    (found,) = version_findings({"version": "0.0.1"})
    assert "0.0.1" in found.what
    assert __version__ in found.what
    assert "an older one" in next(version_findings({})).what


def test_a_root_on_a_network_mount_is_told(tmp_path):
    """Those that report what other machines change are none."""
    line = b"1 0 0:1 / %s rw - %s source rw\n"
    config = make_config(tmp_path, tmp_path)
    for kind, count in ((b"nfs4", 1), (b"fuse.sshfs", 1), (b"ext4", 0)):
        found = list(mount_findings(config, line % (os.fsencode(tmp_path), kind)))
        assert [one.area for one in found] == ["mounts"] * count


def test_each_finding_says_what_now(tmp_path, monkeypatch):
    """No finding anywhere in the module is made without a next step."""
    tree = ast.parse(Path(doctoring.__file__).read_text())
    made = [node for node in ast.walk(tree) if isinstance(node, ast.Call) and getattr(node.func, "id", "") == "Finding"]
    assert len(made) > 15
    for call in made:
        assert len(call.args) == 3, ast.unparse(call)
        assert not (isinstance(call.args[2], ast.Constant) and not call.args[2].value), ast.unparse(call)


def test_missing_roots_are_findings(tmp_path):
    """A root that is not there holds its documents, and is told."""
    (tmp_path / "here").mkdir()
    found = list(root_findings(make_config(tmp_path, tmp_path / "here", tmp_path / "gone")))
    assert [one.area for one in found] == ["folders"]
    assert "gone" in found[0].what


def test_a_state_directory_that_others_can_read_is_a_finding(tmp_path):
    """Permissions of the state directory are checked, and its absence is told."""
    assert "no index yet" in next(state_findings(str(tmp_path / "none"), os.getuid())).what
    folder = tmp_path / "state"
    folder.mkdir()
    for mode, told in ((0o755, "others can look into"), (0o770, "others can write into")):
        folder.chmod(mode)
        assert any(told in one.what for one in state_findings(str(folder), os.getuid()))


def test_a_healthy_daemon_gives_no_finding():
    """Nothing wrong, nothing listed."""
    assert list(daemon_findings(Backend({}))) == []


def test_a_rule_that_speaks_of_no_document_is_a_finding_once_all_are_there():
    """Who mistyped the folder of an access rule thinks that it is closed; while an index is made it may still come."""
    rules = {"idle_rules": ["secrets/**"]}
    assert [(one.area, one.what) for one in daemon_findings(Backend(rules))] == [
        ("rules", '[[rules]] match = "secrets/**": no document lies there')
    ]
    assert list(daemon_findings(Backend(rules | {"state": "building"}))) == []


def test_everything_a_daemon_holds_back_is_listed():
    """Roots, problems, skipped, held and unsafe each give an entry; a cut list says how many more there are."""
    status = {
        "roots": [{"path": "/a", "state": "missing", "label": "a"}, {"path": "/b", "state": "ok", "label": "b"}],
        "withheld": 1,
        "withheld_files": [{"source_path": "w.md", "reason": "acl cannot be read"}],
        "problems": [{"code": "watch_limit", "detail": "raise it", "count": 1, "since": ""}],
        "skipped": 3,
        "skipped_files": [{"source_path": "x.md", "reason": "binary"}],
        "held": 1,
        "held_files": [{"source_path": "h.md", "reason": "EACCES"}],
    }
    documents = [
        {"source_path": "t.md", "unsafe": [{"line": 3, "pattern": "override"}]},
        {"source_path": "ok.md", "unsafe": [], "problems": ["bad_front_matter"]},
    ]
    found = list(daemon_findings(Backend(status, documents)))
    assert [one.area for one in found] == [
        "folders", "daemon", "skipped", "skipped", "held", "withheld", "unsafe", "document",
    ]  # fmt: skip
    assert "2 more" in found[3].what
    assert found[5].what == "w.md: acl cannot be read"
    assert "t.md:3: override" in found[6].what
    assert found[7].what == "ok.md: bad_front_matter"
    assert all(one.remedy for one in found)


def test_a_root_that_is_away_is_told_once():
    """Not once more for each of its documents."""
    held = [{"source_path": f"{n}.md", "reason": "missing"} for n in range(200)]
    status = {"roots": [{"path": "/a", "state": "missing", "label": "a"}], "held": 5000, "held_files": held}
    assert [one.what for one in daemon_findings(Backend(status)) if one.area == "held"] == [
        "5,000 documents: all there are"
    ]


def test_every_problem_and_reason_of_the_manual_has_a_remedy_of_its_own():
    """What docs/operations.md tells to do, doctor tells too."""
    text = (Path(__file__).parents[3] / "docs/operations.md").read_text()
    section = text.partition("## Problems and what to do")[2].partition("\n## ")[0]
    codes = re.findall(r"^\| `(\w+)` \|", section, re.MULTILINE)
    assert set(codes) == set(doctoring._PROBLEM_REMEDIES)
    for reason in ("too_large", "binary", "symlink", "not_regular", "foreign_link"):
        assert f"| `{reason}` |" in text
        assert reason in doctoring._SKIPPED_REMEDIES
