"""Sentences of lessons about PyTorch that no step tests: the lesson has each, and PyTorch agrees."""

from __future__ import annotations

import itertools
import re
from collections.abc import Callable
from pathlib import Path

import pytest

torch = pytest.importorskip("torch")

LESSONS = Path(__file__).resolve().parents[2] / "lessons"
Keys = torch._C.DispatchKey


def after(key: object) -> object:
    """The keys below `key`."""
    return torch._C._dispatch_keyset_full_after(key)


def keys_of_a_tensor() -> bool:
    keys = str(torch._C._dispatch_keys(torch.ones(1)))
    return keys == "DispatchKeySet(CPU, ADInplaceOrView, AutogradCPU, AutocastCPU)"


def order_of_keys() -> bool:
    order = [Keys.AutocastCPU, Keys.AutogradCPU, Keys.ADInplaceOrView, Keys.Python, Keys.CPU]
    return all(
        after(key).has(lower) and not after(lower).has(key)
        for key, lower in itertools.pairwise(order)
    )


def keys_of_an_inference_tensor() -> bool:
    with torch.inference_mode():
        keys = torch._C._dispatch_keys(torch.ones(1))
    return not keys.has(Keys.AutogradCPU) and not keys.has(Keys.ADInplaceOrView)


def classes_of_errors() -> bool:
    classes = {
        ValueError: ([[1, 2], [3]], ["1"], 2**70),
        TypeError: ([[1, 2], 3], [1, [2, 3]]),
        RuntimeError: ([1, None], {1, 2}),
    }
    for error, all_data in classes.items():
        for data in all_data:
            with pytest.raises(error) as caught:
                torch.tensor(data)
            if caught.type is not error:
                return False
    return True


def number_of_a_leaf() -> bool:
    x = torch.ones(1, requires_grad=True)
    return (x * 2).grad_fn.next_functions[0][0]._sequence_nr() == 2**64 - 1


def versions_of_detached() -> bool:
    x = torch.zeros(2)
    x.detach().add_(1)
    return x._version == 1


def versions_of_data() -> bool:
    x = torch.zeros(2)
    x.data.add_(1)
    return x._version == 0


def tracer_is_above_autograd() -> bool:
    below = after(torch._C._parse_dispatch_key("Tracer"))
    return below.has(Keys.AutogradCPU) and below.has(Keys.CPU) and not below.has(Keys.AutocastCPU)


def header(path: str) -> str:
    return (Path(torch.__file__).parent / "include" / path).read_text()


def fields_of_a_tensors_object() -> bool:
    struct = header("torch/csrc/autograd/python_variable.h").partition("struct THPVariable {")[2]
    fields = re.findall(
        r"^ *(?:\S+ )?(\w+)(?: = nullptr)?;", struct.partition("};")[0], re.MULTILINE
    )
    return "PyObject_HEAD" in struct and fields == [
        "cdata", "backward_hooks", "post_accumulate_grad_hooks",
    ]  # fmt: skip


def a_deleter_takes_the_context() -> bool:
    return "using DeleterFnPtr = void (*)(void*);" in header("c10/util/UniqueVoidPtr.h")


SENTENCES: list[tuple[str, str, Callable[[], bool]]] = [
    (
        "02",
        "the native tensor, then two pointers for hooks, `backward_hooks` and "
        "`post_accumulate_grad_hooks`",
        fields_of_a_tensors_object,
    ),
    ("07", "or an integer needs more than 64 bits, as 2**70 does", classes_of_errors),
    ("09", "`CPU, ADInplaceOrView, AutogradCPU, AutocastCPU`", keys_of_a_tensor),
    ("09", "Autocast, Tracer, Autograd, ADInplaceOrView, Python, and then the", order_of_keys),
    ("09", "has neither AutogradCPU nor ADInplaceOrView", keys_of_an_inference_tensor),
    ("12", "Since the deleter gets the context only", a_deleter_takes_the_context),
    ("14", "always has the highest number there is, 2**64 - 1", number_of_a_leaf),
    ("17", "over the same memory *and with the same counter*", versions_of_detached),
    ("17", "it gives a tensor over the same memory with its own counter", versions_of_data),
    ("21", "in PyTorch only Autocast and a few others are higher", tracer_is_above_autograd),
]


@pytest.mark.parametrize(("lesson", "sentence", "holds"), SENTENCES)
def test_a_sentence_about_pytorch_is_true(
    lesson: str, sentence: str, holds: Callable[[], bool]
) -> None:
    (page,) = LESSONS.glob(f"{lesson}_*/lesson.md")
    text = " ".join(page.read_text().split())
    assert " ".join(sentence.split()) in text
    assert holds()
