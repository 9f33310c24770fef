"""The plugin in a real Neovim: keys are typed, and what is on the screen and in the buffers is looked at."""

import os
import shutil
import sys
from pathlib import Path

import pytest

from tests.fakes.daemon_process import wait_for
from tests.fakes.editors import EDITORS, NOTES, Neovim, Notes

pytestmark = pytest.mark.slow
FINDER = "local f = require('indexerd.finder').current; "
HITS = FINDER + "return f and vim.tbl_map(function(hit) return hit.citation end, f.found) or {}"
SHOWN = FINDER + "return f and vim.api.nvim_buf_get_lines(f.list, 0, -1, false) or {}"
PREVIEW = FINDER + "return vim.api.nvim_buf_get_lines(f.preview, 0, -1, false)"
PLACE = "return {vim.fn.expand('%:p'), vim.fn.line('.'), vim.fn.col('.'), vim.fn.mode()}"
DIAGNOSTICS = "return vim.tbl_map(function(d) return {d.lnum, d.severity, d.message} end, vim.diagnostic.get(0))"
QUICKFIX = """return vim.tbl_map(function(e)
  return {vim.api.nvim_buf_get_name(e.bufnr), e.lnum, e.col, e.text}
end, %s)"""


@pytest.fixture
def notes(tmp_path):
    """A folder whose daemon runs."""
    made = Notes(tmp_path).start()
    yield made
    made.stop()


@pytest.fixture
def neovim(notes):
    """Begin editors that end with the test."""
    made = []

    def begin(**options):
        made.append(Neovim(notes, **options))
        return made[-1]

    yield begin
    for one in made:
        one.close()


def search(editor, text, citation):
    """Open the finder by its command, type, and wait for a hit."""
    editor.command("Indexerd")
    editor.keys(text)
    wait_for(lambda: editor.lua(HITS)[:1] == [citation])


def test_typing_finds_and_enter_goes_to_the_cited_line(notes, neovim):
    """Each key narrows the search; the preview marks the cited lines; enter opens the file at the best one."""
    editor = neovim()
    search(editor, "quok", "setup.md#L3-L6")
    assert editor.lua(SHOWN) == ["setup.md#L3-L6  Setup › Linux"]
    assert editor.lua(PREVIEW) == NOTES["setup.md"].splitlines()
    marked = editor.lua(
        FINDER + "return vim.tbl_map(function(m) return {m[2], m[4].hl_group} end, vim.api.nvim_buf_get_extmarks("
        "f.preview, vim.api.nvim_get_namespaces().indexerd_finder, 0, -1, {details=true}))"
    )
    assert [row for row, group in marked if group == "IndexerdCited"] == [2, 3, 4, 5]
    assert [row for row, group in marked if group == "IndexerdMatch"] == [5]
    editor.keys("<CR>")
    column = NOTES["setup.md"].splitlines()[5].index("quokka") + 1
    editor.until(PLACE, [str(notes.folder / "setup.md"), 6, column, "n"])


@pytest.mark.parametrize(
    ("word", "name"),
    [("wombat", 'it\'s a "day" [1].md'), ("numbat", "日本/ünï code.md"), ("bilby", "100%41 # x.md")],
)
def test_names_are_only_names(notes, neovim, word, name):
    """Blanks, quotes, brackets, percent signs and other scripts in a name open the file of that name."""
    editor = neovim()
    editor.command("Indexerd")
    editor.keys(word)
    wait_for(lambda: len(editor.lua(HITS)) == 1)
    assert NOTES[name].splitlines()[2] in editor.lua(PREVIEW)
    editor.keys("<CR>")
    column = len(NOTES[name].splitlines()[2].lower().partition(word)[0].encode()) + 1
    editor.until(PLACE, [str(notes.folder / name), 3, column, "n"])


def test_a_name_that_is_no_text_opens(notes, neovim):
    """A name that is not UTF-8 is opened by its bytes."""
    editor = neovim()
    editor.command("Indexerd")
    editor.keys("quoll")
    wait_for(lambda: len(editor.lua(HITS)) == 1)
    editor.keys("<CR>")
    wait_for(lambda: editor.lua(PLACE)[1] == 3)
    assert editor.lua(PLACE)[0].encode("utf-8", "surrogateescape").endswith(b"latin-\xe9.md")


def test_replies_to_what_is_no_longer_typed_are_dropped(notes, neovim):
    """While words are typed and taken back, only the hits of the last text are left."""
    editor = neovim(setup="{ debounce_ms = 0 }")
    editor.command("Indexerd")
    for word in ("quokka", "wombat", "numbat"):
        editor.keys(word + "<C-w>" if word != "numbat" else word)
    wait_for(lambda: [hit.split("#")[0] for hit in editor.lua(HITS)] == ["日本/ünï code.md"])
    editor.until(FINDER + "return not f.is_busy")
    assert [hit.split("#")[0] for hit in editor.lua(HITS)] == ["日本/ünï code.md"]


def test_the_choice_moves_and_opens_beside(notes, neovim):
    """The keys for next and previous go round; a split shows the hit in a second window."""
    notes.write("more.md", "# More\n\nA quokka, once more a quokka.\n")
    wait_for(lambda: len(notes.daemon.call("query", text="quokka")["hits"]) == 2)
    editor = neovim()
    editor.command("Indexerd quokka")
    wait_for(lambda: len(editor.lua(HITS)) == 2)
    first, second = editor.lua(HITS)
    selected = FINDER + "return f:selected().citation"
    editor.keys("<C-n>")
    editor.until(selected, second)
    editor.keys("<C-n>")
    editor.until(selected, first)
    editor.keys("<C-p><C-s>")
    editor.until("return #vim.api.nvim_list_wins()", 2)
    editor.until("return vim.fn.expand('%:t')", second.partition("#")[0])


def test_leaving_the_finder_leaves_nothing_behind(notes, neovim):
    """Windows, buffers, autocommands, connection, options and global names are as before."""
    editor = neovim()
    code = """
        local names = vim.tbl_keys(_G); table.sort(names)
        return {names, #vim.api.nvim_list_wins(), #vim.api.nvim_list_bufs(), vim.o.eventignore, vim.fn.mode(),
                vim.tbl_map(function(a) return a.event end, vim.api.nvim_get_autocmds({})), vim.fn.getreg('"')}
    """

    def state():
        return editor.lua(code), len(os.listdir(f"/proc/{editor.process.pid}/fd"))

    before = state()
    search(editor, "quokka", "setup.md#L3-L6")
    editor.keys("<Esc>")
    wait_for(lambda: state() == before)
    assert editor.told() == []


def test_lists_hold_the_hits(notes, neovim):
    """The commands, and the keys of the finder, fill the quickfix list and the location list."""
    column = NOTES["setup.md"].splitlines()[5].index("quokka") + 1
    entry = [[str(notes.folder / "setup.md"), 6, column, "Then start the quokka service."]]
    editor = neovim()
    editor.command("IndexerdQuickfix quokka service")
    editor.until(QUICKFIX % "vim.fn.getqflist()", entry)
    editor.until("return vim.bo.buftype", "quickfix")
    editor.command("cclose | cfirst")
    editor.until(PLACE, [str(notes.folder / "setup.md"), 6, column, "n"])
    editor.command("IndexerdLocation quokka")
    editor.until("return vim.fn.getloclist(0, {title = 1}).title", "indexerd: quokka")
    editor.command("lclose | enew | call setqflist([], 'f')")
    search(editor, "quokka", "setup.md#L3-L6")
    editor.keys("<C-q>")
    editor.until(QUICKFIX % "vim.fn.getqflist()", entry)
    editor.command("IndexerdQuickfix zzz")
    editor.until("return #told", 1)
    assert editor.told() == ["indexerd: zzz: nothing found; in no document: zzz"]


def test_the_note_tells_why_something_may_be_missing(notes, neovim):
    """A first index, writes on their way, and a problem that keeps them from being indexed look different."""
    note = "return require('indexerd.finder').note({hits = {}, freshness = ...})"
    editor = neovim()
    full = {"state": "pending", "problem": {"code": "publish_failed", "detail": "ENOSPC"}}
    away = {"state": "current", "problem": {"code": "root_unavailable", "detail": "notes: missing"}}
    told = [editor.lua(note, freshness) for freshness in ({"state": "building"}, {"state": "pending"}, full, away)]
    assert told == [
        f"nothing found; {why}"
        for why in (
            "the first index is being built",
            "not everything is indexed yet",
            "nothing new is indexed: publish_failed",
            "not every root can be looked at: root_unavailable",
        )
    ]


def test_a_citation_is_inserted_at_the_cursor(notes, neovim):
    """The command takes the best hit of a text, the finder the one that is chosen; a path with brackets gets others."""
    editor = neovim()
    editor.keys("iSee  there.<Esc>04l")
    editor.command("IndexerdInsert quokka service")
    citation = notes.citation("quokka service")
    editor.until("return vim.fn.getline(1)", f"See  [{citation}]there.")
    editor.command("enew!")
    editor.command("IndexerdInsert")
    editor.keys("wombat")
    wait_for(lambda: len(editor.lua(HITS)) == 1)
    editor.keys("<CR>")
    editor.until("return vim.fn.getline(1)", f"<{notes.citation('wombat')}>")


def test_stale_citations_become_diagnostics_after_a_save(notes, neovim):
    """Fresh ones are silent; moved, changed and gone ones are marked; an update writes the new lines."""
    fresh, moved = notes.citation("wombat"), notes.citation("quokka")
    gone = "no such.md" + moved[moved.index("#") :]
    changed = moved.partition("@")[0] + "@sha256:" + "0" * 64
    text = f"A <{fresh}>.\nB [{moved}] and ({moved}).\nC `{gone}`.\nD {changed}\n"
    answer = notes.write("answer.md", text)
    notes.write("setup.md", "\n\n" + NOTES["setup.md"])
    editor = neovim()
    editor.lua("vim.cmd('edit ' .. vim.fn.fnameescape(...))", str(answer))
    editor.command("write")
    found = wait_for(lambda: len(rows := sorted(editor.lua(DIAGNOSTICS))) == 4 and rows)
    moved_text = "the cited lines moved to L5-L8; :IndexerdUpdate writes that"
    assert found[:2] == [[1, 2, moved_text]] * 2
    assert [row[:2] for row in found[2:]] == [[2, 1], [3, 1]]
    assert "is gone" in found[2][2]
    assert "have changed" in found[3][2]
    editor.command("2IndexerdUpdate")
    new = moved.replace("#L3-L6", "#L5-L8")
    editor.until("return vim.fn.getline(2)", f"B [{new}] and ({new}).")
    wait_for(lambda: [row[0] for row in sorted(editor.lua(DIAGNOSTICS))] == [2, 3])
    editor.command("IndexerdUpdate")
    wait_for(lambda: "no moved citation" in (editor.told() or [""])[-1])
    editor.command("%d | write")
    editor.until(DIAGNOSTICS, [])


def test_a_name_with_blanks_needs_no_brackets(notes, neovim):
    """Of the words before a bare citation as many belong to its path as make it hold; an update writes it whole."""
    fresh, moved = notes.citation("wombat"), notes.citation("bilby")
    answer = notes.write(
        "answer.md", f"See {fresh} there.\nAnd in {moved} too.\nNo such {moved[moved.index(' x.md') + 1 :]}\n"
    )
    notes.write("100%41 # x.md", "\n\n" + NOTES["100%41 # x.md"])
    editor = neovim()
    editor.lua("vim.cmd('edit ' .. vim.fn.fnameescape(...))", str(answer))
    editor.command("write")
    found = wait_for(lambda: sorted(editor.lua(DIAGNOSTICS)))
    assert [row[:2] for row in found] == [[1, 2], [2, 1]]
    editor.command("normal! 2gg0f#")
    editor.command("set hidden | IndexerdUpdate")
    editor.until("return vim.fn.getline(2)", f"And in {moved.replace('#L1-L3', '#L3-L5')} too.")
    editor.command("IndexerdFollow")
    editor.until("return vim.api.nvim_buf_get_name(0)", str(notes.folder / "100%41 # x.md"))


def test_following_a_citation_finds_the_moved_lines(notes, neovim):
    """The command goes to where the lines are now."""
    moved = notes.citation("quokka")
    notes.write("setup.md", "\n\n" + NOTES["setup.md"])
    editor = neovim()
    editor.lua("vim.fn.setline(1, ...)", f"See [{moved}].")
    editor.command("normal! 0f#")
    editor.command("set hidden | IndexerdFollow")
    editor.until(PLACE, [str(notes.folder / "setup.md"), 5, 1, "n"])
    editor.command("IndexerdFollow")
    wait_for(lambda: "no full citation" in (editor.told() or [""])[-1])


def test_without_a_daemon_each_command_says_what_to_do(notes, neovim):
    """Commands tell it as an error, the finder shows it, a save says that nothing was verified."""
    answer = notes.write("answer.md", f"[{notes.citation('quokka')}]\n")
    notes.stop()
    editor = neovim()
    editor.command("IndexerdQuickfix quokka")
    editor.until("return #told", 1)
    assert editor.told()[0] == (
        "indexerd: no daemon runs: start one with :IndexerdStart ROOT, or `indexerd watch ROOT` in a shell"
    )
    editor.command("Indexerd quokka")
    wait_for(lambda: "no daemon runs" in editor.lua(SHOWN)[0])
    editor.keys("<Esc>")
    editor.until(FINDER + "return f == nil")
    editor.lua("vim.cmd('edit ' .. vim.fn.fnameescape(...))", str(answer))
    editor.command("write")
    editor.until("return #told", 2)
    assert editor.told()[1].startswith("indexerd: citations were not verified: no daemon runs")


def test_a_restarted_daemon_is_found_again(notes, neovim):
    """An open finder outlives the daemon: the next key asks the new one."""
    editor = neovim()
    search(editor, "quokka", "setup.md#L3-L6")
    notes.stop()
    editor.keys(" s")
    wait_for(lambda: "no daemon" in editor.lua(SHOWN)[0])
    notes.start()
    editor.keys("ervice")
    wait_for(lambda: editor.lua(HITS) == ["setup.md#L3-L6"])
    notes.stop()
    notes.start()
    editor.keys("<C-w><C-w>wombat")
    wait_for(lambda: [hit[:4] for hit in editor.lua(HITS)] == ["it's"])


def test_a_daemon_is_started_where_the_user_wishes(notes, neovim):
    """With the option `start` the first question starts one, and is answered by it; without the program it says so."""
    notes.stop()
    program = Path(sys.executable).parent / "indexerd"
    editor = neovim(setup=f"{{ command = '{program}', start = {{ '{notes.folder}' }} }}")
    search(editor, "quokka", "setup.md#L3-L6")
    done = notes.run(str(program), "stop")
    assert done.returncode == 0, done.stderr
    other = neovim(setup="{ command = 'no-such-program' }")
    other.command("IndexerdStart")
    other.until("return #told", 1)
    assert "there is no program `no-such-program`" in other.told()[0]


def test_the_daemon_is_found_as_the_command_line_finds_it(notes, neovim, tmp_path):
    """Of several, the one whose root holds the folder; by name; by the environment; else they are listed."""
    other = Notes(tmp_path / "other")
    other.socket = notes.socket.with_name("other.sock")
    other.write("else.md", "# Else\n\nA dunnart.\n")
    other.start()
    try:
        editor = neovim()
        editor.command("IndexerdQuickfix dunnart")
        editor.until("return #told", 1)
        assert "nothing found" in editor.told()[0]
        editor.lua("require('indexerd').setup({ profile = 'other' })")
        editor.command("IndexerdQuickfix dunnart")
        editor.until("return #vim.fn.getqflist()", 1)
        editor.lua("require('indexerd').setup(); vim.env.INDEXERD_SOCKET = ...", str(other.socket))
        editor.command("call setqflist([], 'f') | IndexerdQuickfix dunnart")
        editor.until("return #vim.fn.getqflist()", 1)
        editor.lua("vim.env.INDEXERD_SOCKET = nil; vim.api.nvim_set_current_dir('/')")
        editor.command("IndexerdQuickfix dunnart")
        editor.until("return #told", 2)
        assert "several daemons run" in editor.told()[1]
        assert f"notes ({notes.folder}), other ({other.folder})" in editor.told()[1]
    finally:
        other.stop()


def test_checkhealth_tells_the_state(notes, neovim):
    """Editor, program and daemon are looked at; what is missing is an error or a warning."""
    editor = neovim()
    editor.command("checkhealth indexerd")
    page = "\n".join(editor.lua("return vim.api.nvim_buf_get_lines(0, 0, -1, false)"))
    assert "the daemon answers: protocol 1, current" in page
    assert f"{notes.folder}, ok" in page
    notes.stop()
    editor.command("bwipeout! | checkhealth indexerd")
    page = "\n".join(editor.lua("return vim.api.nvim_buf_get_lines(0, 0, -1, false)"))
    assert "ERROR" in page
    assert "no daemon runs" in page


def test_wrong_options_are_named(notes, neovim):
    """An unknown option, or one of a wrong type, is refused with its name; nothing is taken over then."""
    editor = neovim()
    said = "return {pcall(require('indexerd').setup, %s)}"
    assert "no option dbounce_ms; there are border, command" in editor.lua(said % "{ dbounce_ms = 3 }")[1]
    assert "option start is a table, not a string" in editor.lua(said % "{ start = '~/notes' }")[1]
    assert "no option keys.opne" in editor.lua(said % "{ keys = { opne = 'x' } }")[1]
    assert editor.lua(said % "{ keys = { open = '<C-o>', close = false } }") == [True]


def test_help_has_its_tags(notes, neovim, tmp_path):
    """`:help indexerd` opens, and each command and option has its tag."""
    shutil.copytree(EDITORS / "nvim", tmp_path / "plugin")
    editor = neovim()
    editor.lua("vim.cmd('set rtp^=' .. ... .. ' | helptags ' .. ... .. '/doc')", str(tmp_path / "plugin"))
    editor.command("help indexerd")
    editor.until("return vim.fn.expand('%:t')", "indexerd.txt")
    names = editor.lua("return vim.fn.getcompletion('Indexerd', 'command')")
    assert len(names) >= 9
    for name in names:
        editor.command(f"help :{name}")
    for name in editor.lua("return vim.tbl_keys(require('indexerd.options').now)"):
        editor.command(f"help indexerd-{name}")


@pytest.mark.parametrize("columns", [40, 80, 200])
def test_the_windows_fit_the_screen(notes, neovim, columns):
    """On a narrow screen the preview is below the hits; after a change of size all is drawn anew."""
    editor = neovim(columns=columns, lines=24)
    search(editor, "quokka", "setup.md#L3-L6")
    places = (
        FINDER
        + """return vim.tbl_map(function(w)
        local c = vim.api.nvim_win_get_config(w)
        local function plain(place) return type(place) == 'table' and place[false] or place end
        return {plain(c.row), plain(c.col), c.width, c.height}
    end, {f.prompt_window, f.list_window, f.preview_window})"""
    )
    for width in (columns, 120):
        editor.command(f"set columns={width} | doautocmd VimResized")
        for row, column, wide, high in editor.lua(places):
            assert column + wide + 2 <= width
            assert row + high + 2 <= 24
