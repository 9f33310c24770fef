"""What doctor finds, each with a remedy."""

import os
import re
from pathlib import Path

import pytest

from indexerd.cli import doctoring
from indexerd.cli.doctoring import daemon_findings, limits, root_findings, state_findings
from indexerd.config import Given, Places, parse_config


class Backend:
    """Answers `status` and `documents` from tables."""

    def __init__(self, status, documents=()):
        self._answers = {
            "status": {"roots": [], "problems": [], "skipped": 0, "held": 0, **status},
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
    folder.chmod(0o755)
    assert any("others can look" in one.what for one in state_findings(str(folder), os.getuid()))


def test_a_healthy_daemon_gives_no_finding():
    """Nothing wrong, nothing listed."""
    assert list(daemon_findings(Backend({}))) == []


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
    for reason in ("too_large", "binary", "symlink", "not_regular"):
        assert f"| `{reason}` |" in text
        assert reason in doctoring._SKIPPED_REMEDIES
