"""Programs that do what recorders get wrong: one table, run plain and recorded by test_hard_scripts.py."""

from __future__ import annotations

import os
import py_compile
import resource
import signal
import zipfile
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path


@dataclass(frozen=True)
class Case:
    """A program, and how it is started: `arguments` after `python`; stdin is bytes, "tty" or "closed"."""

    script: str | bytes = ""

    arguments: tuple[str | bytes, ...] = ("script.py", "-x", "a b")
    stdin: bytes | str = b"first\nsecond\n"
    environment: dict[str, str | bytes] = field(default_factory=dict)
    folder: Callable[[Path], object] = lambda folder: None  # makes more files
    process: Callable[[], object] = lambda: None  # in the process, before it becomes Python
    lines: bool = True  # whether the trace has lines


def ignoring(*numbers: signal.Signals) -> Callable[[], object]:
    return lambda: [signal.signal(number, signal.SIG_IGN) for number in numbers]


def limit(which: int, maximum: int) -> Callable[[], object]:
    return lambda: resource.setrlimit(which, (maximum, maximum))


def extra_descriptor() -> None:
    fd = os.open("inherited", os.O_CREAT | os.O_WRONLY, 0o600)
    os.dup2(fd, 5)
    os.close(fd)


def delete_current_folder() -> None:
    os.mkdir("gone")
    os.chdir("gone")
    os.rmdir("../gone")


def package(folder: Path) -> None:
    (folder / "pkg").mkdir()
    (folder / "pkg" / "__init__.py").write_text("print('init', __name__)\n")
    (folder / "pkg" / "__main__.py").write_text(_WHO)
    (folder / "pkg" / "mod.py").write_text(_WHO + "1 / 0\n")


def zipped(folder: Path) -> None:
    with zipfile.ZipFile(folder / "app.zip", "w") as archive:
        # ZipInfo has a fixed date: the archives of two runs are compared.
        archive.writestr(zipfile.ZipInfo("__main__.py"), _WHO + "import helper\n")
        archive.writestr(zipfile.ZipInfo("helper.py"), "print(__file__)\n")


def compiled(folder: Path) -> None:
    (folder / "source.py").write_text(_WHO)
    py_compile.compile(
        str(folder / "source.py"),
        cfile=str(folder / "script.pyc"),
        dfile="source.py",
        invalidation_mode=py_compile.PycInvalidationMode.UNCHECKED_HASH,  # the file holds no time
    )


def customised(folder: Path) -> None:
    (folder / "own").mkdir()
    (folder / "own" / "sitecustomize.py").write_text("print('site', __name__, __file__)\n")


_WHO = """\
import sys
print(sys.argv, sys.orig_argv[1:], sys.path, __name__, __package__, __file__)
print(__spec__ and (__spec__.name, __spec__.origin), type(__loader__).__name__)
"""

_LOOKS = (
    _WHO
    + """\
import builtins, faulthandler, gc, inspect, locale, os, resource, signal, threading, tracemalloc, warnings
print(sorted(globals()), __cached__, __doc__, __annotations__, __builtins__ is builtins)
print(sys.modules["__main__"].__dict__ is globals(), sys.executable, sys.flags, sys.warnoptions)
print(sys._xoptions, sys.prefix, sys.base_prefix, sys.dont_write_bytecode, sys.getrecursionlimit())
print(sys.gettrace(), sys.getprofile(), sys.getswitchinterval(), sys.getdlopenflags())
print(sys.excepthook is sys.__excepthook__, sys.displayhook is sys.__displayhook__)
print(sys.unraisablehook is sys.__unraisablehook__, threading.excepthook is threading.__excepthook__)
print([type(finder).__name__ if not isinstance(finder, type) else finder for finder in sys.meta_path])
print(len(inspect.stack()), sys._getframe().f_back, sys._getframe().f_trace, threading.enumerate())
print([(n.name, signal.getsignal(n)) for n in signal.valid_signals() if isinstance(n, signal.Signals)])
print(signal.pthread_sigmask(signal.SIG_BLOCK, []), signal.getitimer(signal.ITIMER_REAL))
print([(n, resource.getrlimit(n)) for n in range(16)], os.umask(0o22), os.getcwd(), os.getpriority(0, 0))
print(sorted(os.environ.items()), sorted(os.listdir("/proc/self/fd")))
print(warnings.filters, gc.isenabled(), gc.get_threshold(), gc.get_freeze_count(), gc.callbacks)
print(faulthandler.is_enabled(), tracemalloc.is_tracing(), locale.getlocale(), sys.getfilesystemencoding())
print([(s.encoding, s.errors, s.line_buffering, s.isatty()) for s in (sys.stdin, sys.stdout, sys.stderr)])
print(sorted(dir(builtins)), "sitecustomize" in sys.modules, "startup" in str(sys.path_importer_cache))
try:
    os.waitpid(-1, 0)
except ChildProcessError as error:
    print(error)
import traceback
traceback.print_stack()
"""
)

_CLOSES = """\
import os
os.closerange(3, 2000)
files = [open(f"file{i}", "w") for i in range(5)]
for file in files:
    print("unflushed", file.fileno(), file=file)
"""

_TAKES_ALL = """\
import os
f = open("file", "w")
for number in range(3, 256):
    if number != f.fileno():
        os.dup2(f.fileno(), number)
late = os.fdopen(205, "w")
late.write("written at exit")
"""

_DAEMON = """\
import os, sys
ready, done = os.pipe()
sys.stdout.flush()
if os.fork() == 0:
    os.setsid()
    if os.fork():
        os._exit(0)
    os.dup2(done, 0)
    os.closerange(1, 256)
    for name in ("out", "err"):
        os.open(name, os.O_CREAT | os.O_WRONLY, 0o600)
    print("the daemon's", sorted(os.listdir("/proc/self/fd"))[:3])
    sys.exit("the daemon ends")
os.close(done)
os.wait()
print(os.read(ready, 1))
"""

_STDIO = """\
import os
os.closerange(0, 256)
for name in ("in", "out", "err"):
    os.open(name, os.O_CREAT | os.O_RDWR, 0o600)
print("to the file")
1 / 0
"""

_DEPTH = """\
import sys
def depth(n=1):
    try:
        return depth(n + 1)
    except RecursionError:
        return n
print(depth())
def last(n):
    return last(n - 1) if n else n
def at_the_end(n, source):
    return at_the_end(n - 1, source) if n else eval(source)
for room in range(1, 26):
    try:
        print(at_the_end(sys.getrecursionlimit() - 30 + room - 3, "[i for i in range(3)]"))
    except RecursionError as error:
        print(room, error)
sys.setrecursionlimit(5000)
print(last(4000), depth())
def forever():
    forever()
forever()
"""

_LATE = """\
import sys
sys.path.insert(0, ".")
def down(n):
    if n:
        return down(n - 1)
    import late
    return late.value()
for n in range(sys.getrecursionlimit() - 60, sys.getrecursionlimit()):
    sys.modules.pop("late", None)
    try:
        print(n, down(n))
    except RecursionError:
        print(n, "too deep")
"""

_ATEXIT = """\
import atexit, concurrent.futures, logging, multiprocessing.util, threading, weakref, sys
class Ending:
    def __init__(self, name): self.name = name
    def __del__(self): print("del", self.name, flush=True)
kept = Ending("global")
cycle = Ending("cycle"); cycle.itself = cycle
atexit.register(print, "first")
weakref.finalize(kept, print, "finalize")
def fails(): raise ValueError("in atexit")
atexit.register(fails)
atexit.register(lambda: sys.exit(9))
atexit.register(print, "last", threading.enumerate())
threading.Thread(target=lambda: (threading.Event().wait(0.05), print("thread"))).start()
print("end of main", file=sys.stderr)
"""

_THREADS = """\
import threading, time, sys, _thread, signal
def work(n):
    print(n, sys.gettrace(), threading.current_thread().name, flush=True)
    if n == 1: raise ValueError("in a thread")
    if n == 2: sys.exit("no one sees this")
for n in range(3):
    t = threading.Thread(target=work, args=(n,)); t.start(); t.join()
lock = _thread.allocate_lock(); lock.acquire()
_thread.start_new_thread(lambda: (print("raw"), lock.release()), ()); lock.acquire()
try:
    _thread.interrupt_main(); time.sleep(1)
except KeyboardInterrupt:
    print("interrupted")
threading.Thread(target=time.sleep, args=(60,), daemon=True).start()
later = threading.Timer(0.05, lambda: print("not joined"))
later.start()
"""

_SIGNALS = """\
import os, signal, time
seen = []
for name in ("SIGTERM", "SIGHUP", "SIGINT", "SIGUSR1", "SIGALRM", "SIGCHLD"):
    signal.signal(getattr(signal, name), lambda n, f: seen.append((signal.Signals(n).name, f.f_code.co_name)))
for name in ("SIGTERM", "SIGHUP", "SIGINT", "SIGUSR1"):
    os.kill(os.getpid(), getattr(signal, name))
signal.setitimer(signal.ITIMER_REAL, 0.02)
time.sleep(0.1)
if os.fork() == 0: os._exit(3)
print(os.wait()[1], seen)
signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGUSR2])
os.kill(os.getpid(), signal.SIGUSR2)
print(signal.sigpending(), signal.sigwait([signal.SIGUSR2]))
signal.signal(signal.SIGTERM, signal.SIG_DFL)
os.kill(os.getpid(), signal.SIGTERM)
"""

_FORKS = """\
import os, sys, threading
os.register_at_fork(before=lambda: print("before"), after_in_child=lambda: print("in child"))
print("once", flush=True)
def fork():
    pid = os.fork()
    if pid == 0:
        t = threading.Thread(target=lambda: print("its thread", sys.gettrace())); t.start(); t.join()
        total = sum(i for i in range(100))
        sys.exit(total % 7)
    print(os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]))
fork()
t = threading.Thread(target=fork); t.start(); t.join()
"""

_PROCESSES = """\
import multiprocessing, os, subprocess, sys
def double(n):
    return 2 * n, multiprocessing.parent_process() is not None
if __name__ == "__main__":
    show = "import os, sys; print(sys.argv, sys.path[:1], sys.flags, os.listdir('/proc/self/fd'))"
    show += "; print(os.environ.get('PYTHONPATH'))"
    print(subprocess.run([sys.executable, "-c", show], capture_output=True, text=True).stdout)
    print(subprocess.run("echo $0; exit 3", shell=True).returncode, flush=True)
    for method in ("fork", "spawn"):
        with multiprocessing.get_context(method).Pool(1) as pool:
            print(method, pool.map(double, [1, 2, 3]))
"""

_TRACES = """\
import sys, threading
def f(n):
    m = n + 1
    return m
events = []
def tracer(frame, event, arg):
    events.append((frame.f_code.co_name, event, frame.f_lineno))
    return tracer
sys.settrace(tracer); f(1); print(sys.gettrace() is tracer); sys.settrace(None); f(2)
sys.setprofile(lambda frame, event, arg: events.append(event)); f(3); sys.setprofile(None)
threading.settrace(tracer); t = threading.Thread(target=f, args=(4,), name="t"); t.start(); t.join()
threading.settrace(None)
print(events, sys.gettrace(), len(sys._current_frames()))
"""

_ASYNC = """\
import asyncio, os, signal
async def main():
    loop = asyncio.get_running_loop()
    done = asyncio.Event()
    for number in (signal.SIGTERM, signal.SIGINT):
        loop.add_signal_handler(number, lambda number=number: (print(number.name), done.set()))
        os.kill(os.getpid(), number)
        await done.wait(); done.clear()
    async def endless():
        try:
            yield 1
            yield 2
        finally:
            print("closed")
    async for x in endless():
        break
    process = await asyncio.create_subprocess_exec("sh", "-c", "cat; exit 4", stdin=asyncio.subprocess.DEVNULL)
    print(await process.wait(), await asyncio.gather(*(asyncio.sleep(0, n) for n in range(3))))
    asyncio.create_task(asyncio.sleep(60), name="left")
asyncio.run(main())
"""

_WARNS = """\
import warnings, tempfile, os
def old(): warnings.warn("old", DeprecationWarning, stacklevel=2)
old(); old()
warnings.warn("user")
import imp
open("left", "w").write("x")
folder = tempfile.TemporaryDirectory(dir=".")
warnings.simplefilter("error"); warnings.warn("raised")
"""

_ERRORS = """\
import gc, sys
class Bad(Exception):
    def __str__(self): raise RuntimeError("no text")
class Del:
    def __del__(self): raise ValueError("in del")
Del()
def inner(): raise ExceptionGroup("several", [ValueError("größer"), Bad()])
try:
    eval(compile("inner()", "<made>", "eval"))
except ExceptionGroup as error:
    error.add_note("a note")
    sys.stdout.write("half a line")
    raise KeyError("last") from error
"""

_BYTES = r"""
import os, sys
sys.stdout.buffer.write(bytes(range(256))); sys.stdout.write("text without end"); sys.stdout.flush()
os.write(1, b"raw"); print("\udcff".encode("utf-8", "surrogateescape"), end=""); sys.stderr.write("err")
r, w = os.pipe(); os.close(r); os.dup2(w, 1)
print("to no one")
"""

CASES: dict[str, Case] = {
    "looks around": Case(_LOOKS, process=lambda: signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGUSR1])),
    "looks around in development mode": Case(_LOOKS, environment={"PYTHONDEVMODE": "1", "PYTHONPATH": "own"}),
    "a package with -m": Case(arguments=("-m", "pkg", "y"), folder=package),
    "a module that fails": Case(arguments=("-m", "pkg.mod"), folder=package),
    "a module that is not there": Case(arguments=("-m", "pkg.nothing"), folder=package),
    "-c": Case(arguments=("-c", _WHO.replace("__file__", "0") + "raise SystemExit('ö')", "z"), lines=False),
    "from stdin": Case(arguments=("-",), stdin=_WHO.replace("__file__", "0").encode() + b"1 / 0", lines=False),
    "a zip": Case(arguments=("app.zip", "q"), folder=zipped),
    "a folder": Case(arguments=("pkg", "q"), folder=package),
    "bytecode": Case(arguments=("script.pyc",), folder=compiled),
    "a link": Case(arguments=("pkg/link.py",), folder=lambda f: (package(f), (f / "pkg/link.py").symlink_to("mod.py"))),
    "a sitecustomize of the user's": Case(_WHO, environment={"PYTHONPATH": "own"}, folder=customised),
    "no such script": Case(arguments=("missing.py",), lines=False),
    "bad encoding cookie": Case(b"# coding: nonsense\nprint(1)\n", lines=False),
    "not UTF-8": Case(b"x = 1\nprint('\xe9')\n", lines=False),
    "null byte": Case(b"print(1)\nx = '\0'\n", lines=False),
    "bad indent": Case("if 1:\nx = 2\n", lines=False),
    "latin-1": Case(b"# -*- coding: latin-1 -*-\nprint('\xe9')\nraise ValueError('\xe9')\n"),
    "BOM and CRLF": Case(b"\xef\xbb\xbfprint('\xc3\xa9')\r\nif 1:\r\n\tprint(__name__)\r\n\x0c1/0"),
    "bytes that are not text": Case(
        "import os, sys; print(ascii(sys.argv), ascii(os.environ['ODD']), ascii(os.getcwd()))\nopen(b'\\xfe', 'w')",
        arguments=(b"scr\xffipt.py", b"\xfe"), environment={"ODD": b"\xfd"},
        folder=lambda f: (f / "script.py").rename(os.fsdecode(os.fsencode(f) + b"/scr\xffipt.py")),
    ),
    "the C locale": Case(
        _WHO + "print(ascii(os.listdir(b'.')), sys.stdout.encoding)\n1/0".replace("os.", "__import__('os')."),
        arguments=(b"\xc3\xb6.py", b"\xff"), folder=lambda f: (f / "script.py").rename(f / "ö.py"),
        environment={"LC_ALL": "C", "PYTHONCOERCECLOCALE": "0", "PYTHONUTF8": "0"},
    ),
    "a deleted folder": Case(
        "import os, sys\ntry: os.getcwd()\nexcept OSError as e: print(e)\nprint(sys.path[0])",
        arguments=("../script.py",), process=delete_current_folder,
    ),
    "closes what it inherited": Case(_CLOSES),
    "takes every number": Case(_TAKES_ALL),
    "a daemon": Case(_DAEMON),
    "other standard streams": Case(_STDIO),
    "dup2": Case(
        "import os\nf = open('o', 'w')\nos.dup2(f.fileno(), 1)\nprint('there')\nos.system('echo and this')"
    ),
    "an inherited descriptor": Case(
        "import os; os.write(5, b'mine'); print(os.listdir('/proc/self/fd'))", process=extra_descriptor
    ),
    "stdin closed": Case("import sys; print(sys.stdin); f = open('a', 'w'); print(f.fileno())", stdin="closed"),
    "stdout closed": Case("import sys; print(sys.stdout, file=sys.stderr); print(1)", process=lambda: os.close(1)),
    "all closed": Case("open('a', 'w').write(str(open('b', 'w').fileno()))", process=lambda: os.closerange(0, 3)),
    "reads stdin": Case("import sys; print(sys.stdin.readline(), input('? '), sys.stdin.read())\ninput()"),
    "asks at a terminal": Case(
        "print(input('name? '), input())\nimport sys, os\nprint(os.ttyname(0) > '', input())", stdin="tty"
    ),
    "debugs itself": Case("x = 1\nbreakpoint()\nx = 2\nprint(x)", stdin=b"p x\nn\nw\nc\n", lines=True),
    "bytes and a broken pipe": Case(_BYTES),
    "closes stdout": Case("import sys; print('x'); sys.stdout.close(); sys.stdout = None; print('y')"),
    "depth": Case(_DEPTH),
    "new code at the limit": Case(_LATE, folder=lambda f: (f / "late.py").write_text("def value():\n    return 7\n")),
    "ends": Case(_ATEXIT),
    "threads": Case(_THREADS),
    "signals": Case(_SIGNALS),
    "nohup": Case("import os, signal; os.killpg(0, signal.SIGHUP); print('on')", process=ignoring(signal.SIGHUP)),
    "ignored ctrl+c": Case(
        "import os, signal; print(signal.getsignal(2)); os.killpg(0, signal.SIGINT); print('on')",
        process=ignoring(signal.SIGINT, signal.SIGQUIT, signal.SIGTERM, signal.SIGPIPE),
    ),
    "ctrl+c": Case(
        "import os, signal, time\ntry: os.killpg(0, signal.SIGINT); time.sleep(1)\nfinally: print('clean')"
    ),
    "alarm": Case("import signal, time; signal.setitimer(signal.ITIMER_REAL, 0.01); time.sleep(5)"),
    "killed": Case("import os; print('lost', end=''); os.kill(os.getpid(), 9)"),
    "crashes": Case("import faulthandler, ctypes; faulthandler.enable(); ctypes.string_at(0)"),
    "aborts": Case("import os; os.abort()", process=limit(resource.RLIMIT_CORE, 0)),
    "forks": Case(_FORKS),
    "processes": Case(_PROCESSES),
    "becomes another program": Case(
        "import os; os.execl('/bin/sh', 'sh', '-c', 'ls /proc/self/fd; echo $PYTHONPATH; kill -9 $$')"
    ),
    "becomes Python": Case(
        "import os, sys; os.execv(sys.executable, [sys.executable, '-c', 'import sys; sys.exit(9)'])"
    ),
    "traces and profiles": Case(_TRACES),
    "asyncio": Case(_ASYNC),
    "warnings": Case(_WARNS, environment={"PYTHONWARNINGS": "always::ResourceWarning"}),
    "errors": Case(_ERRORS),
    "own excepthook": Case(
        "import sys\nsys.excepthook = lambda k, e, t: print(k, e, t.tb_frame.f_code.co_name, t.tb_next)\n1/0"
    ),
    "exit None": Case("raise SystemExit"),
    "exit text": Case("import sys; sys.exit('größer')"),
    "exit 300": Case("import sys; sys.exit(300)"),
    "exit with an object": Case("import sys; sys.exit((1, [2]))"),
    "os._exit": Case("import os; print('lost'); os._exit(7)"),
    "few descriptors": Case(
        "import os\nopened = []\ntry:\n    while 1: opened.append(os.open('/dev/null', 0))\n"
        "except OSError as e: print(e, len(opened))",
        process=limit(resource.RLIMIT_NOFILE, 32),
    ),
    "little memory": Case(
        "import resource\nhere = int(open('/proc/self/statm').read().split()[0]) * 4096 + (64 << 20)\n"
        "resource.setrlimit(resource.RLIMIT_AS, (here, here))\n"
        "try: bytearray(1 << 30)\nexcept MemoryError as e: print(repr(e))"
    ),
    "umask and chdir": Case(
        "import os, sys; os.mkdir('d'); open('d/mod.py', 'w').write('print(__file__)'); os.chdir('d')\n"
        "sys.path.insert(0, ''); import mod; open('x', 'w'); print(oct(os.stat('x').st_mode), os.umask(0))",
        process=lambda: os.umask(0o27),
    ),
    "gc": Case(
        "import gc\ngc.disable(); gc.freeze(); print(gc.isenabled())\nclass A: pass\na = A(); a.a = a; del a\n"
        "print(gc.collect(), gc.unfreeze())"
    ),
    "odd environment": Case(
        _WHO + "print(sys.stdout.encoding, sys.flags)\nprint('é')",
        environment={
            "PYTHONIOENCODING": "latin-1", "PYTHONUNBUFFERED": "1", "PYTHONPATH": "",
            "PYTHONSAFEPATH": "1", "PYTHONOPTIMIZE": "2",
        },
    ),
    "continues at the prompt": Case("x = 3", environment={"PYTHONINSPECT": "1"}, stdin=b"print(x)\n1/0\n"),
}  # fmt: skip
