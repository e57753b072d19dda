"""The `underhood` command. Each subcommand imports only what it needs, when it runs.

Exit codes: 0 done, 1 something could not be done (the message says what), 2 wrong usage or no
terminal, otherwise the exit code of the recorded program.
"""

from __future__ import annotations

import argparse
import errno
import gc
import os
import signal
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from tui.output import Parser, complain, write

VIEWS = tuple(
    sorted(
        entry.stem
        for entry in (Path(__file__).parent / "views").iterdir()
        if not entry.name.startswith("_") and (entry.suffix == ".py" or entry.is_dir())
    )
)
"""The names of the views, from their files, without importing any."""

TOP = """\
Look inside tensors: record a script, then step through it forwards and backwards.

Without a command the explorer opens at its home screen: lessons, playground, recordings, examples.
"""
EXAMPLES = """\
examples:
  underhood                              home
  underhood run train.py --epochs 2      record the script here, then look inside
  underhood run --as torch script.py     the same for a script that imports torch
  underhood record -o a.uht -m pkg.mod   only record
  underhood run --steps 3:5 train.py     only two steps of a long program
  underhood open                         the newest recording
  underhood show --view memory --at end  the memory map as text, without a terminal
  underhood export -o graph.svg          the autograd graph at the end, by graphviz
  underhood learn strides                one lesson
"""


Act = Callable[[argparse.Namespace], int]


class Failure(Exception):
    """An error that a user can correct: printed as one line, exit code 1."""


def main(argv: Sequence[str] | None = None) -> int:
    """Run the command line `argv` (by default the process's own) and return the exit code."""
    arguments = list(sys.argv[1:] if argv is None else argv)
    head, program = split_program(arguments)
    options = make_parser().parse_args(head)
    options.program = program
    try:
        code = int(options.act(options))
        sys.stdout.flush()
        return code
    except Failure as failure:
        complain(f"underhood: {failure}")
        return 1
    except BrokenPipeError:  # as in `underhood show | head`
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 0
    except OSError as error:
        if error.errno != errno.ENOSPC:
            raise
        complain(f"underhood: {error}")  # and print no error at exit
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 1
    except KeyboardInterrupt:
        return 130


def split_program(argv: list[str]) -> tuple[list[str], list[str]]:
    """Split `run -o F -m mod a -b` into our options and the program's arguments.

    argparse cannot do this, because options after the program's name belong to the program.
    """
    if not argv or argv[0] not in ("run", "record"):
        return argv, []
    at = 1
    while at < len(argv):
        word = argv[at]
        if word in ("-o", "--output", "--values-budget", "--as", "--steps"):
            at += 2
        elif word == "--":
            return argv[:at], argv[at + 1 :]
        elif word in ("-m", "-c", "-") or not word.startswith("-"):
            return argv[:at], argv[at:]
        else:
            at += 1
    return argv, []


def make_parser() -> argparse.ArgumentParser:
    """Return the parser of the command line."""
    parser = Parser(
        prog="underhood",
        description=TOP,
        epilog=EXAMPLES,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--version", action=Version, help="print the version and exit")
    parser.set_defaults(act=home, program=[], **LOOK_DEFAULTS)
    look_options(parser)
    commands = parser.add_subparsers(title="commands", metavar="")

    def command(name: str, act: Act, description: str, usage: str = "") -> argparse.ArgumentParser:
        subparser = commands.add_parser(
            name,
            help=description,
            description=description,
            usage=f"underhood {name} {usage}" if usage else None,
        )
        subparser.set_defaults(act=act)
        return subparser

    program_usage = "[-o FILE] [--as torch] (script.py | -m module) [args ...]"
    run_ = command("run", run, "record a script in this terminal, then look inside", program_usage)
    record_ = command("record", record, "record a script to a file", program_usage)
    for subparser in (run_, record_):
        subparser.add_argument("-o", "--output", metavar="FILE", help="output file")
        subparser.add_argument(
            "--as",
            dest="alias",
            choices=("torch",),
            default="",
            help="the program's `import torch` finds the engine",
        )
        subparser.add_argument(
            "--values-budget",
            type=byte_count,
            metavar="BYTES",
            help="size budget for element values, e.g. 64M (default 256M)",
        )
        subparser.add_argument(
            "--steps",
            type=step_range,
            metavar="FIRST:LAST",
            help="record these steps only, e.g. 3:5 for steps 3 and 4 counted from 0; a step ends with "
            "Optimizer.step() or engine.inspect.step()",
        )
    look_options(run_)

    open_ = command("open", open_trace, "look inside a recording (by default the newest)")
    open_.add_argument(
        "trace", nargs="?", help="a .uht file; or a .pt or safetensors file, shown as a table"
    )
    open_.add_argument(
        "--at", default="", metavar="N", help="event number, `end`, `line:12` or `train.py:12`"
    )
    open_.add_argument("--view", choices=VIEWS, default="", help="the view to begin with")
    look_options(open_)

    show_ = command("show", show, "print one view of a recording as text or JSON")
    show_.add_argument("trace", nargs="?", help="a .uht file (by default the newest recording)")
    show_.add_argument("--view", choices=VIEWS, default="", help="default: the first view")
    show_.add_argument(
        "--at",
        default="",
        metavar="N",
        help="event number, `end`, `error`, `line:12` or `train.py:12`; by default the last moment with "
        "live tensors, or the exception that ended the program",
    )
    show_.add_argument(
        "--select",
        default="",
        metavar="WHAT",
        help="tensor=3, name=x, node=5, storage=2,byte=16, line=4",
    )
    show_.add_argument("--json", action="store_true", help="print the view as JSON")
    show_.add_argument(
        "--width",
        type=int,
        default=0,
        metavar="W",
        help="columns (default: the terminal's, or 100)",
    )
    show_.add_argument(
        "--form",
        default="",
        metavar="F",
        help="for a graph: boxes, rows or list; for the JIT view the pane next to the graph: source, "
        "tree, tokens, passes, before, diagram, rule, code, functions or none",
    )
    show_.add_argument(
        "--fold", default="", metavar="HOW", help="for a graph: none, repeats, lines or modules"
    )
    show_.add_argument(
        "--height", type=int, default=40, metavar="H", help="rows that the view may use"
    )
    show_.add_argument("--ascii", action="store_true", help="draw with plain ASCII only")

    export_ = command(
        "export", export, "write a graph, a view's picture or the events for other programs"
    )
    export_.add_argument("trace", nargs="?", help="a .uht file (by default the newest recording)")
    export_.add_argument(
        "-o",
        "--output",
        default="graph.dot",
        metavar="FILE",
        help="the suffix selects the format. Graphs (autograd, or --view jit): .dot, .gv, and by "
        "graphviz .png, .pdf, without --view also .svg; for a view, with --view: .svg, .html, .txt, "
        ".json; for all events: .json for Perfetto and Chrome, .csv",
    )
    export_.add_argument("--view", choices=VIEWS, default="", help="the view to write")
    export_.add_argument(
        "--at",
        default="",
        metavar="N",
        help="event number, `end`, `error`, `line:12` or `train.py:12`; by default the last moment with "
        "live tensors, or the exception that ended the program",
    )
    export_.add_argument("--select", default="", metavar="WHAT", help="node=5, tensor=3, name=x")
    export_.add_argument("--form", default="", metavar="F", help="as for show")
    export_.add_argument(
        "--fold", default="", metavar="HOW", help="none, repeats, lines or modules"
    )
    export_.add_argument("--width", type=int, default=120, metavar="W", help="columns of a picture")
    export_.add_argument("--height", type=int, default=40, metavar="H", help="rows of a picture")

    learn_ = command("learn", learn, "take the lessons (all, or one by name)")
    learn_.add_argument("lesson", nargs="?", default="", help="a lesson's name or number")
    look_options(learn_)

    lessons_ = command("lessons", lessons, "check or list the lessons, without a terminal")
    lessons_.add_argument("what", choices=("check", "list"))
    lessons_.add_argument("names", nargs="*", help="only these lessons")

    doctor_ = command("doctor", doctor, "check what works on this machine")
    doctor_.add_argument("--json", action="store_true", help="the findings as JSON")
    return parser


LOOK_DEFAULTS = {"ascii": False, "no_mouse": False}


def look_options(parser: argparse.ArgumentParser) -> None:
    """Add the options of every command that opens the explorer. Only the top-level parser has defaults: a
    subparser's would overwrite an option before the command's name."""
    quiet = argparse.SUPPRESS
    parser.add_argument("--ascii", action="store_true", default=quiet, help="plain ASCII only")
    parser.add_argument(
        "--no-mouse", action="store_true", default=quiet, help="do not capture the mouse"
    )


class Version(argparse.Action):
    """Prints the version, which takes too long to look up for every command."""

    def __init__(self, option_strings: list[str], dest: str, **options: Any) -> None:
        super().__init__(option_strings, argparse.SUPPRESS, nargs=0, **options)

    def __call__(self, parser: argparse.ArgumentParser, *_: object, **__: object) -> None:
        write(f"underhood {version()}")
        parser.exit()


def version() -> str:
    """Return the installed version, or a note for a checkout that was never installed."""
    from importlib import metadata

    try:
        return metadata.version("underhood")
    except metadata.PackageNotFoundError:
        return "0 (not installed)"


def byte_count(text: str) -> int:
    """Convert a size to bytes: `64M` -> 67108864."""
    units = {"k": 1 << 10, "m": 1 << 20, "g": 1 << 30}
    unit = units.get(text[-1:].lower(), 1)
    digits = text[:-1] if unit > 1 else text
    try:
        count = int(digits) * unit
    except ValueError:
        raise argparse.ArgumentTypeError(f"{text!r} is not a size (e.g. 64M)") from None
    if count < 0:
        raise argparse.ArgumentTypeError(f"{text} is negative")
    return count


def step_range(text: str) -> tuple[int, int | None]:
    """Parse a range of steps: `3:5` -> (3, 5)."""
    from engine.inspect.chosen_steps import parse_steps

    try:
        return parse_steps(text)
    except ValueError as error:
        raise argparse.ArgumentTypeError(str(error)) from None


def need_terminal(command: str) -> None:
    """Exit 2 unless stdin and stdout are terminals: Textual would hang."""
    if sys.stdin.isatty() and sys.stderr.isatty():
        return
    complain(
        f"{f'underhood {command}'.strip()}: needs a terminal to draw on and keys to read.\n"
        "Without one, use `underhood show [trace] --view memory` (text or --json)."
    )
    raise SystemExit(2)


def start(options: argparse.Namespace, first: str, **screen_options: object) -> int:
    """Open the explorer at the screen `first`."""
    # Textual waits for the next frame before it paints; twice the frame rate halves the wait. Read on
    # import.
    os.environ.setdefault("TEXTUAL_FPS", "120")
    gc.disable()  # until the first frame: see Underhood.on_ready
    from tui.app import run_app

    return run_app(first, ascii=options.ascii, mouse=not options.no_mouse, **screen_options)


def home(options: argparse.Namespace) -> int:
    """Open the home screen, without a command."""
    need_terminal("")
    return start(options, "home")


def open_trace(options: argparse.Namespace) -> int:
    """Run `underhood open`."""
    path = trace_path(options.trace)
    need_terminal("open")
    if is_saved_file(path):
        return start(options, "saved_file", path=path)
    return start(options, "explore", trace=path, at=options.at, view=options.view)


def run(options: argparse.Namespace) -> int:
    """Run `underhood run`: record, then open."""
    need_terminal("run")
    path, code = record_here(options)
    if not path.exists():
        return code
    return start(options, "explore", trace=path, tour=True) or code


def record(options: argparse.Namespace) -> int:
    """Run `underhood record`; return the program's exit code."""
    path, code = record_here(options)
    if path.exists():
        complain(
            f"underhood: recorded {path}{_how_it_ended(code)}\n"
            f"           look inside: underhood open {path}"
        )
    return code


def _how_it_ended(code: int) -> str:
    """Return the message for a program that a signal ended: its recording is complete up to then."""
    try:
        name = signal.Signals(code - 128).name if code > 128 else ""
    except ValueError:  # an ordinary exit code
        name = ""
    return f"\n           up to where {name} ended the program" if name else ""


def record_here(options: argparse.Namespace) -> tuple[Path, int]:
    """Record the program with this terminal's own stdin and stdout."""
    program = options.program
    named = program[:1] in (["-m"], ["-c"])
    if not program[named:]:
        raise Failure("no program; for example: underhood record script.py")
    import sqlite3

    from engine.inspect.recorder import new_trace_path, record_program

    path = Path(options.output or "")
    budget = {} if options.values_budget is None else {"budget": options.values_budget}
    try:
        if not options.output:
            path = new_trace_path("command" if program[0] == "-c" else program[named])
        return path, record_program(
            program, path, alias=options.alias, steps=options.steps, **budget
        )
    except (OSError, sqlite3.Error) as error:  # the trace cannot be created there
        raise Failure(f"cannot write a trace: {error}") from None


def show(options: argparse.Namespace) -> int:
    """Run `underhood show`."""
    from tui.show import print_saved_file, print_view

    path = trace_path(options.trace)
    return (print_saved_file if is_saved_file(path) else print_view)(path, options)


def export(options: argparse.Namespace) -> int:
    """Run `underhood export`."""
    from engine.inspect.trace import TraceError
    from tui.export import ExportError, first_graph_view, write_events, write_graph, write_view
    from tui.navigator import open_navigator
    from tui.show import set_options

    path = Path(options.output)
    try:
        nav = open_navigator(
            trace_path(options.trace), options.at, options.view, select=options.select
        )
        if not options.view:
            nav.show_view(first_graph_view())
        if nav.has_option("fold"):
            options.fold = options.fold or "none"
        set_options(nav, options)
        if options.view:
            write(write_view(nav, path, options.width, options.height))
        else:
            is_table = path.suffix.lower() in (".json", ".csv")
            write(write_events(nav, path) if is_table else write_graph(nav, path))
    except (TraceError, ValueError, ExportError, OSError) as error:
        raise Failure(str(error)) from None
    return 0


def is_saved_file(path: Path) -> bool:
    """Return True for a file of tensors: `.pt`, safetensors."""
    if path.suffix == ".uht":
        return False
    from engine.inspect import saved_file

    return saved_file.is_saved_file(str(path))


def trace_path(name: str | None) -> Path:
    """Return the named trace file, or the newest recording."""
    from tui import paths

    if name:
        path = Path(name)
        if not path.is_file():
            raise Failure(
                f"{name} {'is a folder' if path.is_dir() else 'does not exist'}; a .uht file was expected"
            )
        return path
    newest = paths.traces_newest_first(1)
    if not newest:
        raise Failure(
            f"no recording in {paths.trace_folder()} yet; make one: underhood run script.py"
        )
    return newest[0]


def learn(options: argparse.Namespace) -> int:
    """Run `underhood learn`."""
    need_terminal("learn")
    return start(options, "lesson" if options.lesson else "lessons", lesson=options.lesson)


def lessons(options: argparse.Namespace) -> int:
    """Run `underhood lessons check|list`."""
    if options.what == "check":
        from lessons._runner.check import main as check

        return check(options.names)
    from lessons._runner import LessonError, load, load_all

    try:
        selected = [load(name) for name in options.names] if options.names else load_all()
    except LessonError as error:
        raise Failure(str(error)) from None
    for lesson in selected:
        write(f"{lesson.number:>3}  {lesson.name:<28} {lesson.title} ({len(lesson.steps)} steps)")
    return 0


def doctor(options: argparse.Namespace) -> int:
    """Run `underhood doctor`."""
    from tui.doctor import examine, print_findings

    return print_findings(examine(), as_json=options.json)
