import logging
import re

import pytest

from service.triton.logs import reason, relay


@pytest.mark.parametrize(
    ("line", "level", "text"),
    [
        ('I1121 04:01:17.723768 10726 server.cc:25] "All models are ready"\n', logging.DEBUG, "All models are ready"),
        ("W1121 04:01:17.723768 10726 model.cc:9] Something odd\n", logging.WARNING, "Something odd"),
        ('E1121 04:01:17.723768 10726 model.cc:9] "failed to load"\n', logging.ERROR, "failed to load"),
        ("F1121 04:01:17.723768 10726 model.cc:9] the end\n", logging.CRITICAL, "the end"),
        ("W1121 04:01:17.723768 10726 cuda.cc:9] CUDA driver not found\n", logging.DEBUG, "CUDA driver not found"),
        (
            "E1121 04:01:17.723768 10726 cuda.cc:9] CudaDriverHelper is missing\n",
            logging.DEBUG,
            "CudaDriverHelper is missing",
        ),
        (
            "E1121 04:01:17.7 1 cc.cc:9] \"failed to load 'qa_bert' version 1: Internal: CUDA out of memory\"\n",
            logging.ERROR,
            "failed to load 'qa_bert' version 1: Internal: CUDA out of memory",
        ),
        (
            "E1121 04:01:17.7 1 pb_stub.cc:9] there is no GPU 0 here: leave the parameter out\n",
            logging.ERROR,
            "there is no GPU 0 here: leave the parameter out",
        ),
        (
            "ValueError: there is no GPU 0 here: leave the parameter out\n",
            logging.WARNING,
            "ValueError: there is no GPU 0 here: leave the parameter out",
        ),
        ("CUDA driver: a model speaks\n", logging.WARNING, "CUDA driver: a model speaks"),
        (
            "W1121 04:01:17.7 1 cuda_memory_manager.cc:9] Failed to allocate CUDA memory: out of memory\n",
            logging.WARNING,
            "Failed to allocate CUDA memory: out of memory",
        ),
        (
            'W1121 04:01:17.7 1 pinned_memory_manager.cc:273] "Unable to allocate pinned system memory: no driver"\n',
            logging.DEBUG,
            "Unable to allocate pinned system memory: no driver",
        ),
        (
            "W1121 04:01:17.7 1 metrics.cc:9] Cannot get CUDA device count, GPU metrics will not be available\n",
            logging.DEBUG,
            "Cannot get CUDA device count, GPU metrics will not be available",
        ),
        (
            "E1121 04:01:17.7 1 ensemble_scheduler.cc:9] unable to create stream for qa: CUDA driver version\n",
            logging.DEBUG,
            "unable to create stream for qa: CUDA driver version",
        ),
        ("| server_id | triton |\n", logging.DEBUG, "| server_id | triton |"),
        ("\n", logging.DEBUG, ""),
        ("Signal (15) received.\n", logging.DEBUG, "Signal (15) received."),
        ("error: creating server: Internal\n", logging.ERROR, "error: creating server: Internal"),
        ("UserWarning: something a model says\n", logging.WARNING, "UserWarning: something a model says"),
    ],
)
def test_a_line_is_logged_at_its_own_level(caplog: pytest.LogCaptureFixture, line: str, level: int, text: str):
    caplog.set_level(logging.DEBUG, logger="vivavoce.triton")
    assert relay(line) == level
    assert caplog.record_tuples == [("vivavoce.triton", level, text)]


@pytest.mark.parametrize(
    ("lines", "wanted"),
    [
        (["W1121 04:01:17.7 1 a.cc:9] odd", "error: creating server: no model 'asr'", "At:", ";"], "creating server"),
        (["W1121 04:01:17.7 1 a.cc:9] odd", 'E1121 04:01:17.7 1 a.cc:9] "out of memory"'], "^out of memory$"),
        ([], "no reason"),
    ],
)
def test_the_reason_is_one_line(lines: list[str], wanted: str):
    assert re.search(wanted, reason(lines))
    assert "\n" not in reason(lines)
