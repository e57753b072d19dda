"""Files of weights by URL with a local cache, and models from a local folder with a `hubconf.py`."""

from __future__ import annotations

import hashlib
import importlib.util
import os
import re
import shutil
import sys
import tempfile
import urllib.parse
import urllib.request
import zipfile
from pathlib import Path
from types import ModuleType
from typing import Any

from engine.unsupported import placeholder

__all__ = [
    "download_url_to_file",
    "get_dir",
    "help",
    "list",
    "load",
    "load_state_dict_from_url",
    "set_dir",
]

_HASH = re.compile(r"-([a-f0-9]*)\.")
_directory: str | None = None
_refuse_github = placeholder(
    "hub.load(source='github')",
    "code from the network is not run; clone the repository and pass source='local' with its folder",
)


def get_dir() -> str:
    """Return the cache folder: the one set, else $TORCH_HOME/hub, else ~/.cache/torch/hub."""
    if _directory is not None:
        return _directory
    cache = os.getenv("XDG_CACHE_HOME", "~/.cache")
    home = os.path.expanduser(os.getenv("TORCH_HOME", os.path.join(cache, "torch")))
    return os.path.join(home, "hub")


def _get_torch_home() -> str:
    """Return the parent of the cache folder; torchvision calls this."""
    return os.path.dirname(get_dir())


def set_dir(d: str | os.PathLike[str]) -> None:
    """Set the folder of the cache."""
    global _directory
    _directory = os.path.expanduser(d)


def download_url_to_file(
    url: str, dst: str, hash_prefix: str | None = None, progress: bool = True
) -> None:
    """Download a file to a temporary name, and rename it once its SHA-256 starts with `hash_prefix`.

    Raises: RuntimeError for another hash, OSError if the file cannot be fetched.
    """
    path = Path(dst).expanduser()
    with tempfile.NamedTemporaryFile(dir=path.parent, delete=False) as file:
        try:
            digest = hashlib.sha256()
            with urllib.request.urlopen(url) as response:
                while block := response.read(1 << 20):
                    digest.update(block)
                    file.write(block)
            file.close()
            if hash_prefix and not digest.hexdigest().startswith(hash_prefix):
                raise RuntimeError(
                    f'invalid hash value (expected "{hash_prefix}", got "{digest.hexdigest()}")'
                )
            shutil.move(file.name, path)
        finally:
            Path(file.name).unlink(missing_ok=True)


def load_state_dict_from_url(
    url: str,
    model_dir: str | None = None,
    map_location: Any = None,
    progress: bool = True,
    check_hash: bool = False,
    file_name: str | None = None,
    weights_only: bool = False,
) -> Any:
    """Load a file of weights by URL from the cache, after downloading it if necessary.

    It is read as `load(weights_only=True)` does: nothing in it is executed. `check_hash` compares the hash that the
    file's name ends with. A zip file with one member is unpacked first.
    """
    import engine

    folder = Path(model_dir if model_dir is not None else os.path.join(get_dir(), "checkpoints"))
    folder.mkdir(parents=True, exist_ok=True)
    name = file_name or os.path.basename(urllib.parse.urlparse(url).path)
    path = folder / name
    if not path.exists():
        print(f'Downloading: "{url}" to {path}', file=sys.stderr)
        match = _HASH.search(name) if check_hash else None
        download_url_to_file(url, str(path), match.group(1) if match else None, progress)
    if zipfile.is_zipfile(path):
        with zipfile.ZipFile(path) as archive:
            members = archive.infolist()
            if len(members) == 1:
                path = Path(archive.extract(members[0], folder))
    return engine.load(path, map_location=map_location)


def _hubconf(repo_or_dir: Any, source: str) -> ModuleType:
    """Import the `hubconf.py` of a local folder."""
    if source == "github":
        _refuse_github()
    if source != "local":
        raise ValueError(f'Unknown source: "{source}". Allowed values: "github" | "local".')
    folder = Path(repo_or_dir)
    spec = importlib.util.spec_from_file_location("hubconf", folder / "hubconf.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.path.insert(0, str(folder))
    try:
        spec.loader.exec_module(module)
    finally:
        sys.path.remove(str(folder))
    return module


def _entry(module: ModuleType, model: Any) -> Any:
    if not isinstance(model, str):
        raise ValueError("Invalid input: model should be a string of function name")
    function = getattr(module, model, None)
    if not callable(function):
        raise RuntimeError(f"Cannot find callable {model} in hubconf")
    return function


def list(github: Any, *args: Any, source: str = "github", **options: Any) -> Any:
    """Return the names of the models in a local folder with a `hubconf.py`."""
    contents = vars(_hubconf(github, source))
    return [k for k, v in contents.items() if callable(v) and not k.startswith("_")]


def help(github: Any, model: str, *args: Any, source: str = "github", **options: Any) -> Any:
    """Return the docstring of a model in a local folder with a `hubconf.py`."""
    return _entry(_hubconf(github, source), model).__doc__


def load(repo_or_dir: Any, model: str, *args: Any, source: str = "github", **kwargs: Any) -> Any:
    """Return the model that the function `model` of a local folder's `hubconf.py` builds.

    `source="github"`, the default, is refused: it runs code from the network.
    """
    for option in ("trust_repo", "force_reload", "verbose", "skip_validation"):
        kwargs.pop(option, None)
    return _entry(_hubconf(repo_or_dir, source), model)(*args, **kwargs)
