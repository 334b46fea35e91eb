import logging

import pytest

from service.triton.logs import relay


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
        ("| server_id | triton |\n", logging.DEBUG, "| server_id | triton |"),
        ("\n", logging.DEBUG, ""),
        ("error: creating server: Internal\n", logging.ERROR, "error: creating server: Internal"),
        ("UserWarning: something a model says\n", logging.WARNING, "UserWarning: something a model says"),
    ],
)
def test_a_line_is_logged_at_its_own_level(caplog: pytest.LogCaptureFixture, line: str, level: int, text: str):
    caplog.set_level(logging.DEBUG, logger="vivavoce.triton")
    assert relay(line) == level
    assert caplog.record_tuples == [("vivavoce.triton", level, text)]
