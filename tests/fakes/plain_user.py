"""A folder in which permissions mean something, also when the tests run as root."""

import os
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

_NOBODY = 65534


@contextmanager
def plain_user_folder() -> Iterator[Path]:
    """Yield a new folder of a user without privileges; the process acts as that user inside the block."""
    folder = Path(tempfile.mkdtemp(prefix="indexerd-test-"))
    is_root = os.geteuid() == 0
    try:
        if is_root:
            os.chown(folder, _NOBODY, _NOBODY)
            os.seteuid(_NOBODY)
        yield folder
    finally:
        if is_root:
            os.seteuid(0)
        for path in folder.rglob("*"):
            if path.is_dir() and not path.is_symlink():
                path.chmod(0o755)
        shutil.rmtree(folder)
