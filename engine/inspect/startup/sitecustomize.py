"""Begins the recording of a program in its own process, before Python runs it.

Python imports a module of this name when it starts, and `recorder.py` puts this folder first in
PYTHONPATH. So Python itself runs the program: no frame of ours is on the stack, and errors are
Python's own. The path, the variables, this module and the ring's descriptor are removed before the
program begins.
"""

import importlib
import json
import os
import sys


def _begin() -> None:
    order = os.environ.pop("UNDERHOOD_RECORD", None)
    folder = os.path.dirname(__file__)
    if folder in sys.path:
        sys.path.remove(folder)
    sys.path_importer_cache.pop(folder, None)
    sys.modules.pop("sitecustomize", None)
    if order is None:
        return
    details = json.loads(order)
    fd = details["fd"]
    if details["pythonpath"] is None:
        os.environ.pop("PYTHONPATH", None)
    else:
        os.environ["PYTHONPATH"] = details["pythonpath"]
    try:
        from engine.inspect import child

        if details["alias"]:
            from engine.inspect import alias

            alias.install(details["alias"])
        child.begin(fd, details["script"], details["module"], details["steps"])
    except (
        Exception
    ) as error:  # the program runs anyway; the recorder explains why there are no lines
        reason = f"{type(error).__name__}: {error}".encode("utf-8", "replace")[:2000]
        try:
            os.pwrite(fd, len(reason).to_bytes(8, "little") + reason, 2048)
            os.close(fd)
        except OSError:
            pass


_begin()
importlib.import_module("sitecustomize")  # the user's sitecustomize, if there is one
