"""The one way from a function's arguments to the library's answer."""

from __future__ import annotations

from typing import Any

from . import _ebbing
from ._arrays import TaskSequence, as_sequence, native, two_of
from ._progress import listener
from ._settings import fields_of, given


def ask(command: str, arguments: dict[str, Any]) -> tuple[dict[str, Any], dict[str, Any]]:
    """What a command was asked for, and what every result of it has: the names of the tasks, and the settings."""
    drawn = draws(arguments["tasks"])
    names, asked = drawn[0].names, dict(arguments)
    if asked.get("pair") is not None:
        # Tasks may go by their names here.
        asked["pair"] = two_of(asked["pair"], names)
        names = [names[t - 1] for t in asked["pair"]]
    elif not isinstance(asked.get("order"), (str, type(None))):
        names = [names[t - 1] for t in asked["order"] if 0 < t <= len(names)]
    settings = described(drawn) | given(arguments)
    features, hears = bool(arguments.get("features", False)), listener(arguments["progress"], command)
    sequences = [(native(one), one.settings) for one in drawn]
    return _ebbing.ask(command, sequences, fields_of(asked), features, settings, hears), {"tasks": names, "settings": settings}


def draws(tasks: Any) -> list[TaskSequence]:
    """The sequences of a list of them, one per draw, or the one that is given."""
    several = isinstance(tasks, (list, tuple)) and tasks and all(isinstance(one, TaskSequence) for one in tasks)
    return list(tasks) if several else [as_sequence(tasks)]


def described(drawn: list[TaskSequence]) -> dict[str, str]:
    """The tasks in words, for what a result records."""
    words = repr(drawn[0]).strip("<>")
    return {"tasks": words if len(drawn) == 1 else f"{len(drawn)} draws of {words}"}
