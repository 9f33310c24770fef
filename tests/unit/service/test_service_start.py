"""What a start leaves for later."""

import subprocess
import sys


def test_a_start_takes_in_nothing_that_only_checks_and_conflicts_need():
    """The rooms that judge claims are a tenth of what a daemon would have to take in before its first answer."""
    code = "import sys, indexerd.daemon; print(*sys.modules)"
    taken = subprocess.run([sys.executable, "-c", code], capture_output=True, check=True, text=True).stdout.split()
    assert "indexerd.service.dispatch" in taken
    assert not [name for name in taken if name.startswith(("indexerd.grounding", "indexerd.evaluation"))]
