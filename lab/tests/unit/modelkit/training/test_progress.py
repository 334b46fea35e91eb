from __future__ import annotations

import re
from typing import TYPE_CHECKING

from modelkit.training.progress import LineDisplay, TerminalDisplay

if TYPE_CHECKING:
    from collections.abc import Iterable

    from tests.virtual_time import Clock


def go_on(display: LineDisplay, clock: Clock, steps: Iterable[float], seconds: float, loss: float | None) -> None:
    for step in steps:
        clock.seconds += seconds
        display.advance(step, loss)


def test_lines_tell_the_time_that_is_left_of_what_is_done(clock, capsys):
    display = LineDisplay(clock)
    go_on(display, clock, (0.25, 0.5, 0.75, 1.0), 60, None)
    go_on(display, clock, (0.1, 0.2, 0.3), 120, 0.5)
    lines = capsys.readouterr().err.splitlines()
    assert lines[:3] == [" 50%  2.0 min left", " 75%  1.0 min left", "100%  0.0 min left"]
    # The second thing goes on at a pace of its own, whatever came before.
    assert lines[3:] == [" 20%  loss 0.500  16.0 min left", " 30%  loss 0.500  14.0 min left"]


def test_a_run_that_is_gone_on_with_is_not_counted_from_its_beginning(clock, capsys):
    go_on(LineDisplay(clock), clock, (0.8, 0.9), 60, 0.25)
    assert capsys.readouterr().err == " 90%  loss 0.250  1.0 min left\n"


def test_lines_are_some_time_apart(clock, capsys):
    go_on(LineDisplay(clock), clock, (step / 100 for step in range(100)), 1, 0.5)
    assert len(re.findall("min left", capsys.readouterr().err)) == 6


def test_the_bar_begins_anew_with_what_is_done():
    with TerminalDisplay() as display:
        for step in (0.5, 1.0, 0.1):
            display.advance(step, None)
        (task,) = display._progress.tasks
    assert (task.completed, task.description) == (0.1, "")
