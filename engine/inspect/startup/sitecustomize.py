"""Begins the recording of a program in its own process, before Python runs it.

Python imports a module of this name when it starts, and `recorder.py` puts this folder first in
PYTHONPATH. So it is Python itself that runs the program, as it always does: nothing of ours is on
the stack, and what is wrong with the program is said in Python's own words. What brought us here is
gone before the program begins: the path, the variables, this module, the ring's descriptor.
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
    ) as error:  # the program runs all the same; the recorder says why it has no lines
        reason = f"{type(error).__name__}: {error}".encode("utf-8", "replace")[:2000]
        try:
            os.pwrite(fd, len(reason).to_bytes(8, "little") + reason, 2048)
            os.close(fd)
        except OSError:
            pass


_begin()
importlib.import_module("sitecustomize")  # another one, the user's, if there is one
