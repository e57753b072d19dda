"""Loads, runs and grades lessons. The explorer and `underhood lessons check` use these names.

Nothing here imports `engine`: the engine lives in the processes that run the learner's code.
"""

from lessons._runner.lesson import Lesson, LessonError, Look, Step
from lessons._runner.loader import load, load_all
from lessons._runner.progress import Progress
from lessons._runner.runner import Runner, RunResult, Verdict

__all__ = [
    "Lesson",
    "LessonError",
    "Look",
    "Progress",
    "RunResult",
    "Runner",
    "Step",
    "Verdict",
    "load",
    "load_all",
]
