"""Paths of the recorder as users write them: `net.fc1.weight`, `optimizer.param_groups[0].lr`."""

from __future__ import annotations

import re
from functools import lru_cache

_MEMBER = re.compile(r"\._(?:modules|parameters|buffers)\['([^'\]]*)'\]")


_STATE = re.compile(r"\.state\[key (\d+)\]\['([^'\]]*)'\]")


@lru_cache(maxsize=8192)  # every step asks for the names of everything that lives
def parameter_path(name: str) -> str:
    """Return `net.fc1.weight` of `net._modules['fc1']._parameters['weight']`: where a user would look; and
    `optimizer.state[0].exp_avg` of the state that an optimizer keeps per parameter."""
    if ".state[key " in name:
        name = _STATE.sub(r".state[\1].\2", name)
    return _MEMBER.sub(r".\1", name) if "._" in name else name
