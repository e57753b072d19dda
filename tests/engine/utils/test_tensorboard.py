"""SummaryWriter writes what TensorBoard reads: the records of the event files are decoded again."""

from __future__ import annotations

import struct
import subprocess
import sys

import pytest

import engine

pytest.importorskip("tensorboardX")

from engine.utils.tensorboard import SummaryWriter  # after the skip


def events(folder):
    """Return the decoded records of the only event file: length, checksum, bytes, checksum."""
    from tensorboardX.proto.event_pb2 import Event

    (path,) = folder.glob("events.out.tfevents.*")
    data, position, result = path.read_bytes(), 0, []
    while position < len(data):
        (length,) = struct.unpack_from("<Q", data, position)
        start = position + 12
        event = Event()
        event.ParseFromString(data[start : start + length])
        result.append(event)
        position = start + length + 4
    return result


def test_tensors_are_written(tmp_path):
    with SummaryWriter(tmp_path) as writer:
        writer.add_scalar("loss", engine.tensor(0.5, requires_grad=True), 3)
        writer.add_scalars("both", {"a": engine.tensor(1.0), "b": 2.0}, 1)
        writer.add_histogram("weights", engine.arange(10.0), 4)
        writer.add_text("note", "hello", 5)
    assert writer.log_dir == writer.get_logdir() == str(tmp_path)
    values = {v.tag: (e.step, v) for e in events(tmp_path) for v in e.summary.value}
    assert values["loss"][0] == 3
    assert values["loss"][1].simple_value == 0.5
    assert values["weights"][1].histo.num == 10
    assert values["weights"][1].histo.sum == 45
    assert "note/text_summary" in values
    assert {p.name for p in (tmp_path / "both").iterdir()} == {"a", "b"}  # a run for each


def test_images_are_written(tmp_path):
    pytest.importorskip("PIL")
    with SummaryWriter(tmp_path) as writer:
        writer.add_image("image", engine.rand(3, 4, 5), 1)
    (value,) = [v for e in events(tmp_path) for v in e.summary.value]
    assert (value.image.height, value.image.width) == (4, 5)


def test_graphs_are_refused(tmp_path):
    with SummaryWriter(tmp_path) as writer, pytest.raises(NotImplementedError, match="add_graph"):
        writer.add_graph(engine.nn.Linear(1, 1))


def test_the_package_is_named_where_it_is_missing():
    code = "import sys; sys.modules['tensorboardX'] = None; import engine.utils.tensorboard"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert "pip install 'underhood[tensorboard]'" in done.stderr
