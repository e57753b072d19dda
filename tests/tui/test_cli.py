"""The command line: what is ours, what is the program's, exit codes, messages."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.tui.program import saved
from tui.cli import VIEWS, byte_count, main, make_parser, split_program


@pytest.fixture(autouse=True)
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("UNDERHOOD_HOME", str(tmp_path / "home"))
    return tmp_path / "home"


@pytest.mark.parametrize(
    ("command_line", "ours", "theirs"),
    [
        ("run a.py --fast -m x", "run", "a.py --fast -m x"),
        ("run -m pkg.mod -o x", "run", "-m pkg.mod -o x"),
        ("record -o out.uht a.py -o b", "record -o out.uht", "a.py -o b"),
        ("record --values-budget 1M -- -odd.py", "record --values-budget 1M", "-odd.py"),
        ("record -c pass -o x", "record", "-c pass -o x"),
        ("record -o x - y", "record -o x", "- y"),
        ("record --help", "record --help", ""),
        ("open a.uht", "open a.uht", ""),
    ],
)
def test_the_programs_arguments_are_left_alone(command_line: str, ours: str, theirs: str) -> None:
    assert split_program(command_line.split()) == (ours.split(), theirs.split())


def test_a_byte_count_has_units() -> None:
    assert [byte_count(text) for text in ("7", "64k", "1M", "2G")] == [7, 65536, 1 << 20, 2 << 30]


@pytest.mark.parametrize(
    "arguments", ["--help", "run --help", "show --help", "doctor --help", "--version"]
)
def test_help_and_version_leave_with_0(arguments: str, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as ending:
        main(arguments.split())
    assert ending.value.code == 0
    assert "underhood" in capsys.readouterr().out


@pytest.mark.parametrize(
    "arguments", ["flyy", "show --view nothing", "record --values-budget much", "lessons eat"]
)
def test_wrong_usage_is_2(arguments: str, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as ending:
        main(arguments.split())
    assert ending.value.code == 2


@pytest.mark.parametrize("arguments", ["", "open {trace}", "learn", "run {trace}"])
def test_without_a_terminal_the_explorer_refuses_and_names_show(
    arguments: str, tmp_path: Path
) -> None:
    command = [sys.executable, "-m", "tui", *arguments.format(trace=saved(tmp_path)).split()]
    done = subprocess.run(
        command, stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False
    )
    assert done.returncode == 2
    assert "underhood show" in done.stderr
    assert "Traceback" not in done.stderr


@pytest.mark.parametrize("view", VIEWS)
def test_show_prints_every_view(
    view: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert (
        main(["show", str(saved(tmp_path)), "--view", view, "--width", "80", "--select", "x"]) == 0
    )
    text = capsys.readouterr().out
    assert "line 11 of demo.py" in text.splitlines()[0]
    assert len(text.splitlines()) > 4


@pytest.mark.parametrize("view", VIEWS)
def test_show_json_is_json_and_ascii_is_ascii(
    view: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    trace = str(saved(tmp_path))
    assert (
        main(["show", trace, "--view", view, "--json", "--at", "line:9", "--select", "tensor=2"])
        == 0
    )
    output = json.loads(capsys.readouterr().out)
    assert output["line"]["line"] == 9
    assert output["selection"]["tensor"] == 2
    assert output["model"]
    assert main(["show", trace, "--view", view, "--ascii", "--width", "80"]) == 0
    assert capsys.readouterr().out.isascii()


@pytest.mark.parametrize(
    ("extra", "description"),
    [
        (["--at", "99999"], "there is no event 99999"),
        (["--at", "line:99"], "line 99 never ran"),
        (["--select", "name=q"], "no name 'q'"),
    ],
)
def test_show_says_what_is_not_there(
    extra: list[str], description: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["show", str(saved(tmp_path)), *extra]) == 1
    assert description in capsys.readouterr().err


def test_files_that_are_no_traces(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    foreign = tmp_path / "foreign.uht"
    foreign.write_bytes(b"something else")
    assert main(["show", str(foreign)]) == 1
    assert "not a trace" in capsys.readouterr().err
    assert main(["show", str(tmp_path)]) == 1
    assert "is a folder" in capsys.readouterr().err
    assert main(["show", str(tmp_path / "gone.uht")]) == 1
    assert "does not exist" in capsys.readouterr().err
    assert main(["show"]) == 1
    assert "no recording in" in capsys.readouterr().err


def test_the_newest_recording_is_the_default(
    home: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = home / "data" / "traces"
    folder.mkdir(parents=True)
    saved(folder)
    assert main(["show", "--view", "values"]) == 0
    assert "demo.py" in capsys.readouterr().out


def test_the_parser_knows_every_view_that_exists() -> None:
    from tui.views import views

    assert set(VIEWS) == set(views())
    assert make_parser().parse_args(["show"]).view == "", "the view that opens first"


def test_show_needs_no_textual(tmp_path: Path) -> None:
    code = "import sys; from tui.cli import main; main(sys.argv[1:]); assert 'textual' not in sys.modules"
    done = subprocess.run(
        [sys.executable, "-c", code, "show", str(saved(tmp_path))],
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr


def test_the_app_is_imported_without_numpy_and_the_engine() -> None:
    code = (
        "import sys, tui.app, tui.screens.home, tui.screens.explore;"
        "print([name for name in ('numpy', 'engine') if name in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


def test_doctor_finds_this_python(capsys: pytest.CaptureFixture[str]) -> None:
    main(["doctor", "--json"])
    actual = {entry["name"]: entry for entry in json.loads(capsys.readouterr().out)}
    assert actual["python"]["state"] == "ok"
    assert actual["traces"]["state"] == "ok"


@pytest.mark.parametrize("locale", ["C.UTF-8", "C"])
def test_names_that_are_not_utf_8_are_recorded_and_shown(locale: str, tmp_path: Path) -> None:
    folder = os.fsencode(tmp_path) + b"/d\xfe"
    os.mkdir(folder)
    (script := tmp_path / "\xf6.py").write_text("import sys\nprint(ascii(sys.argv))\n")
    Path(os.fsdecode(folder), "-odd.py").write_text("print('odd')\n")
    environment = {**os.environ, "LC_ALL": locale}
    if locale == "C":
        environment |= {"PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0"}

    def underhood(*arguments: str | bytes) -> bytes:
        command = [sys.executable, "-m", "tui", *arguments]
        done = subprocess.run(
            command, cwd=folder, env=environment, capture_output=True, check=False
        )
        assert b"Traceback" not in done.stderr
        assert done.returncode == 0, done.stderr
        return done.stdout

    assert b"\\udce9" in underhood("record", "-o", b"t\xfd.uht", os.fsencode(script), b"\xe9")
    assert b"print(ascii(sys.argv))" in underhood("show", b"t\xfd.uht", "--view", "source")
    assert underhood("record", "--", "-odd.py") == b"odd\n"
    assert b"print('odd')" in underhood("show", "--view", "source")
