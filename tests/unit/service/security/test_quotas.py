"""What principals have, counted by a clock of the test's own."""

import pytest

from service.admission.quotas import QuotaError, Quotas
from service.security.principal import Principal, PrincipalLimits, acting_for


class Clock:
    now = 100.0

    def __call__(self) -> float:
        return self.now


def principal(name: str = "kiosk", **limits: float) -> Principal:
    return Principal(name, "token", PrincipalLimits(**limits))  # type: ignore[arg-type]


def test_audio_is_a_minutes_worth_that_fills_up_evenly():
    clock = Clock()
    quotas = Quotas(clock)
    with acting_for(principal(audio_seconds_per_minute=60)):
        quotas.charge_audio(60)
        quotas.check_audio()
        quotas.charge_audio(6)
        with pytest.raises(QuotaError) as caught:
            quotas.check_audio()
        assert caught.value.retry_seconds == 6
        clock.now += 6
        quotas.check_audio()
        clock.now += 3600
        quotas.charge_audio(61)
        with pytest.raises(QuotaError):
            quotas.check_audio()
    with acting_for(principal("other", audio_seconds_per_minute=60)):
        quotas.check_audio()
    assert quotas.refused == 2


def test_two_kinds_of_one_name_are_two_principals():
    quotas = Quotas()
    limits = PrincipalLimits(conversations=1)
    with acting_for(Principal("kiosk", "token", limits)), quotas.conversation():
        with pytest.raises(QuotaError), quotas.conversation():
            pass
        with acting_for(Principal("kiosk", "jwt", limits)), quotas.conversation():
            assert quotas.present == 2
    assert quotas.present == 0


def test_recordings_count_together():
    quotas = Quotas()
    with acting_for(principal(recording_bytes=1000)), quotas.recording(600):
        with pytest.raises(QuotaError, match="over 1,000 bytes"), quotas.recording(500):
            pass
        with quotas.recording(400):
            pass


def test_without_limits_nothing_is_counted_against_anybody():
    quotas = Quotas()
    quotas.charge_audio(1e9)
    quotas.check_audio()
    with quotas.recording(1 << 40), quotas.conversation(), quotas.conversation():
        assert quotas.present == 1


async def test_very_many_principals_are_not_all_kept():
    quotas = Quotas()
    for number in range(10_000):
        with acting_for(principal(str(number), audio_seconds_per_minute=60, typed_turns_per_second=100)):
            quotas.charge_audio(1)
            await quotas.typed_turn()
    assert len(quotas._audio) <= 4096
    assert len(quotas._throttlers) <= 4096


async def test_less_than_one_text_a_second_is_possible():
    quotas = Quotas()
    with acting_for(principal(typed_turns_per_second=0.5)):
        await quotas.typed_turn()
    (throttler,) = quotas._throttlers.values()
    assert (throttler.rate_limit, throttler.period) == (1, 2.0)
