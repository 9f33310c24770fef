"""The small plugins in a real Vim and a real Emacs, without a screen."""

import json
import re
import shutil
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from tests.fakes.daemon_process import PATIENCE_SECONDS, wait_for
from tests.fakes.editors import EDITORS, NOTES, Notes, needed

pytestmark = pytest.mark.slow
VIM = ("-Nu", "NONE", "-i", "NONE", "-n", "-es", "-T", "dumb", "--cmd", f"set rtp^={EDITORS}/vim")
ODD = [("wombat", 'it\'s a "day" [1].md'), ("numbat", "日本/ünï code.md"), ("bilby", "100%41 # x.md")]
NO_DAEMON = "indexerd: no daemon runs: start one with `indexerd watch ROOT"
GO = '(progn (set-buffer "*xref*") (goto-char (point-min)) (xref-next-line) (xref-goto-xref))'
COLUMN = "(1+ (string-bytes (buffer-substring (line-beginning-position) (point))))"
HERE = f"(vector (or buffer-file-name :null) (line-number-at-pos) {COLUMN})"
# Where an editor stands still until the test lets it go on.
PAUSE = "touch {0}/paused; while [ ! -e {0}/go ]; do sleep 0.05; done"


@pytest.fixture
def notes(tmp_path):
    """A folder whose daemon runs."""
    made = Notes(tmp_path).start()
    yield made
    made.stop()


class Vim:
    """Runs Ex commands in a Vim and returns what an expression is then, and what was told."""

    search = "Indexerd {}"
    pause = "call system({})"
    path = "expand('%:p')"

    def __init__(self, notes):
        self.notes, self.program = notes, needed("vim")

    def __call__(self, *commands, value="0"):
        script, out = self.notes.base / "script.vim", self.notes.base / "out.json"
        lines = ["set encoding=utf-8", "runtime plugin/indexerd.vim", *commands]
        last = f"call writefile([json_encode([{value}, split(execute('messages'), nr2char(10))])], '{out}')"
        script.write_text("\n".join([*lines, last, "qall!"]) + "\n", encoding="utf-8")
        done = self.notes.run(self.program, *VIM, "-S", str(script))
        assert out.exists(), (done.stdout, done.stderr)
        return json.loads(out.read_bytes().decode("utf-8", "surrogateescape"))

    def found(self, *commands):
        """Where the first hit leads, and what was told."""
        return self(*commands, "if !empty(getqflist()) | cclose | silent cfirst | endif",
                    value="[expand('%:p'), line('.'), col('.')]")  # fmt: skip


class Emacs:
    """The same with an Emacs."""

    search = '(indexerd "{}")'
    pause = "(call-process-shell-command {})"

    def __init__(self, notes):
        self.notes, self.program = notes, needed("emacs")

    def __call__(self, *forms, value="0"):
        script, out = self.notes.base / "script.el", self.notes.base / "out.json"
        guarded = "\n".join(
            f"(condition-case problem {form} (error (push (error-message-string problem) told)))" for form in forms
        )
        script.write_text(
            f"(setq told nil file-name-coding-system 'utf-8-unix)\n{guarded}\n"
            f'(let ((coding-system-for-write \'utf-8-unix)) (with-temp-file "{out}"'
            f" (insert (json-serialize (vector {value} (vconcat (nreverse told)))))))",
            encoding="utf-8",
        )
        done = self.notes.run(
            self.program, "--batch", "--quick", "-L", f"{EDITORS}/emacs", "-l", "indexerd", "-l", str(script)
        )
        assert done.returncode == 0, done.stderr
        return json.loads(out.read_text(encoding="utf-8"))

    def found(self, *forms):
        """Where the first hit leads, and what was told."""
        return self(*forms, f'(when (get-buffer "*xref*") {GO})', value=f"(with-current-buffer (window-buffer) {HERE})")


@pytest.fixture(params=[Vim, Emacs], ids=["vim", "emacs"])
def editor(request, notes):
    """Each of the two."""
    return request.param(notes)


@pytest.mark.parametrize(("word", "name"), [("quokka", "setup.md"), *ODD])
def test_a_search_lists_hits_and_a_jump_lands_on_the_line(editor, word, name):
    """The first hit leads to the file and line that hold the word, whatever the name."""
    lines = NOTES[name].splitlines()
    row = next(at for at, line in enumerate(lines) if word in line.lower())
    column = len(lines[row].lower().partition(word)[0].encode()) + 1
    place, told = editor.found(editor.search.format(word))
    assert place == [str(editor.notes.folder / name), row + 1, column]
    assert not told


def test_a_name_that_is_no_text_opens(editor):
    """A name that is not UTF-8 is opened by its bytes."""
    if isinstance(editor, Vim):
        jump, value = "silent cfirst", "getline(1, '$')"
    else:
        jump, value = GO, '(with-current-buffer (window-buffer) (vconcat (split-string (buffer-string) "\\n" t)))'
    lines, told = editor(editor.search.format("quoll"), jump, value=value)
    assert [line for line in lines if line] == ["# Old", "The quoll is not in UTF-8."]
    assert not told


@pytest.mark.parametrize("text", ["quokka service", "wombat"])
def test_a_citation_is_inserted(editor, text):
    """The full citation of the best hit stands at the cursor, in brackets that its path does not have."""
    citation = editor.notes.citation(text)
    if isinstance(editor, Vim):
        line, told = editor("call setline(1, 'See  x') | normal! 4l", f"IndexerdInsert {text}", value="getline(1)")
    else:
        form = f'(insert "See  x") (backward-char) (indexerd-insert-citation "{text}") (setq line (buffer-string))'
        line, told = editor(f"(with-temp-buffer {form})", value="line")
    assert line == (f"See  <{citation}>x" if "[" in citation else f"See  [{citation}]x")
    assert not told


def test_without_a_daemon_or_a_hit_it_is_said(editor):
    """No hit, and no daemon, are told in one line that says what to do."""
    _, told = editor.found(editor.search.format("zzz"))
    assert told == ["indexerd: nothing found; in no document: zzz"]
    editor.notes.stop()
    _, told = editor.found(editor.search.format("quokka"))
    assert len(told) == 1
    assert told[0].replace("'", "`").startswith(NO_DAEMON)


def test_a_root_that_is_away_is_told(editor):
    """Where nothing is found since a root cannot be looked at, the line names that and where to look."""
    notes = editor.notes
    notes.stop()
    notes.write(".indexerd.toml", "hiden = true\n")
    program = (sys.executable, "-m", "indexerd")
    notes.run(*program, "watch", "--socket", notes.socket, "--detach", notes.folder).check_returncode()
    try:
        _, (told,) = editor.found(editor.search.format("zzz"))
    finally:
        notes.run(*program, "stop", "--socket", notes.socket)
    assert re.fullmatch("indexerd: nothing found; in no document: zzz; see .indexerd doctor.: root_unavailable", told)


def test_a_restarted_daemon_is_found_again(editor):
    """A second search in the same editor asks the daemon that runs then."""
    base = editor.notes.base
    shell = json.dumps(PAUSE.format(base))
    with ThreadPoolExecutor(1) as pool:
        running = pool.submit(
            editor.found, editor.search.format("quokka"), editor.pause.format(shell), editor.search.format("wombat")
        )
        wait_for((base / "paused").exists)
        editor.notes.stop()
        editor.notes.start()
        (base / "go").touch()
        place, told = running.result(PATIENCE_SECONDS)
    assert place[0].endswith("[1].md")
    assert not told


def test_of_several_daemons_the_one_of_this_folder_is_asked(editor, tmp_path):
    """The daemon whose root holds the current directory answers, or the one that the environment names."""
    other = Notes(tmp_path / "other")
    other.socket = editor.notes.socket.with_name("other.sock")
    other.write("else.md", "# Else\n\nA dunnart.\n")
    other.start()
    try:
        assert editor.found(editor.search.format("quokka"))[0][1] == 6
        assert "nothing found" in editor.found(editor.search.format("dunnart"))[1][0]
        editor.notes.environ["INDEXERD_SOCKET"] = str(other.socket)
        assert editor.found(editor.search.format("dunnart"))[0][0] == str(other.folder / "else.md")
        del editor.notes.environ["INDEXERD_SOCKET"]
        elsewhere = "cd /" if isinstance(editor, Vim) else '(setq default-directory "/")'
        told = editor.found(elsewhere, editor.search.format("quokka"))[1]
        assert "several daemons run" in told[0]
        assert "notes, other" in told[0]
    finally:
        other.stop()


def test_help_has_its_tags(notes, tmp_path):
    """Each command and option of the Vim plugin has a tag."""
    shutil.copytree(EDITORS / "vim", tmp_path / "plugin")
    vim = Vim(notes)
    topics = [":Indexerd", ":IndexerdLocation", ":IndexerdInsert", "g:indexerd_params", "indexerd-grepprg"]
    commands = [f"silent help {topic}" for topic in topics]
    name, told = vim(f"set rtp^={tmp_path}/plugin", f"helptags {tmp_path}/plugin/doc", *commands, value="expand('%:t')")
    assert name == "indexerd.txt"
    assert not told


def test_emacs_compiles_without_a_warning(notes, tmp_path):
    """The byte compiler finds nothing to say."""
    shutil.copy(EDITORS / "emacs" / "indexerd.el", tmp_path)
    done = notes.run(needed("emacs"), "--batch", "--quick", "--eval", "(setq byte-compile-error-on-warn t)",
                     "-f", "batch-byte-compile", str(tmp_path / "indexerd.el"))  # fmt: skip
    assert done.returncode == 0, done.stderr


@pytest.mark.parametrize("program", ["vim", "nvim"])
def test_grepprg_fills_the_quickfix_list(notes, program, tmp_path):
    """With the documented `grepprg` the command `:grep` searches with indexerd."""
    bin_folder = Path(sys.executable).parent
    notes.environ["PATH"] = f"{bin_folder}:{notes.environ['PATH']}"
    out = notes.base / "out.json"
    value = "map(getqflist(), {_, e -> [bufname(e.bufnr), e.lnum, e.col, e.text]})"
    done = notes.run(
        needed(program), *(VIM[:-2] if program == "vim" else ("--headless", "-u", "NONE", "-i", "NONE", "-n")),
        "-c", r"set grepprg=indexerd\ query\ --vimgrep\ -- grepformat=%f:%l:%c:%m",
        "-c", "silent grep! quokka -service", "-c", f"call writefile([json_encode({value})], '{out}')", "-c", "qall!",
    )  # fmt: skip
    assert out.exists(), (done.stdout, done.stderr)
    column = NOTES["setup.md"].splitlines()[5].index("quokka") + 1
    assert json.loads(out.read_text()) == [["setup.md", 6, column, "Then start the quokka service."]]
