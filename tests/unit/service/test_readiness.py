import asyncio
from typing import Self

from grpc_health.v1 import health, health_pb2

from service.admission.admission import Admission
from service.api.vivavoce.converters import SERVICE_NAME
from service.refusals import NotReadyError
from service.sessions.readiness import Readiness
from tests import virtual_time

SERVING = health_pb2.HealthCheckResponse.SERVING
NOT_SERVING = health_pb2.HealthCheckResponse.NOT_SERVING


class FakeModelServer:
    def __init__(self) -> None:
        self.not_ready = ["asr", "qa"]
        self.asked = 0
        self.warm_ups = 0

    async def missing(self) -> list[str]:
        self.asked += 1
        return self.not_ready

    async def warm_up(self) -> None:
        self.warm_ups += 1
        await asyncio.sleep(1)


class Watched:
    """A readiness that is being watched, with what a caller sees of it."""

    def __init__(self) -> None:
        self.models, self.admission = FakeModelServer(), Admission(1)
        self._health = health.aio.HealthServicer()
        self.readiness = Readiness(self.models, self._health, self.admission, [SERVICE_NAME])

    async def __aenter__(self) -> Self:
        self._task = asyncio.create_task(self.readiness.watch())
        return self

    async def __aexit__(self, *_: object) -> None:
        self._task.cancel()
        await asyncio.gather(self._task, return_exceptions=True)

    async def status(self) -> int:
        await asyncio.sleep(0)
        answer = await self._health.Check(health_pb2.HealthCheckRequest(service=SERVICE_NAME), None)
        return answer.status

    @property
    def lets_in(self) -> bool:
        try:
            self.admission.check()
        except NotReadyError:
            return False
        return True


def test_nobody_is_served_until_every_model_is_ready():
    async def main() -> None:
        async with Watched() as watched:
            await asyncio.sleep(1)
            assert (await watched.status(), watched.lets_in) == (NOT_SERVING, False)
            watched.models.not_ready = ["qa"]
            await asyncio.sleep(1)
            assert (await watched.status(), watched.lets_in) == (NOT_SERVING, False)
            watched.models.not_ready = []
            await watched.readiness.wait()
            assert (await watched.status(), watched.lets_in) == (SERVING, True)

    virtual_time.run(main())


def test_a_model_that_is_lost_shuts_the_door_and_one_that_returns_opens_it():
    async def main() -> None:
        async with Watched() as watched:
            watched.models.not_ready = []
            await watched.readiness.wait()
            watched.models.not_ready = ["asr"]
            await asyncio.sleep(2.5)
            assert (await watched.status(), watched.lets_in) == (NOT_SERVING, False)
            watched.models.not_ready = []
            await asyncio.sleep(0.5)
            assert (await watched.status(), watched.lets_in) == (NOT_SERVING, False)
            await asyncio.sleep(1)
            assert (await watched.status(), watched.lets_in) == (SERVING, True)
            assert watched.models.warm_ups == 2

    virtual_time.run(main())


def test_models_that_are_lost_while_they_are_warmed_up_do_not_open_the_door():
    async def main() -> None:
        async with Watched() as watched:
            watched.models.not_ready = []
            await asyncio.sleep(0.5)
            watched.models.not_ready = ["qa"]
            await asyncio.sleep(1)
            assert (await watched.status(), watched.lets_in) == (NOT_SERVING, False)

    virtual_time.run(main())


def test_the_end_of_the_model_server_is_told_at_once():
    async def main() -> None:
        async with Watched() as watched:
            watched.models.not_ready = []
            await watched.readiness.wait()
            assert await watched.readiness.lost()
            assert not await watched.readiness.lost()
            assert (await watched.status(), watched.lets_in) == (NOT_SERVING, False)

    virtual_time.run(main())


def test_a_ready_service_asks_seldom():
    async def main() -> None:
        async with Watched() as watched:
            watched.models.not_ready = []
            await asyncio.sleep(60)
            assert watched.models.asked < 40

    virtual_time.run(main())


def test_a_service_that_shuts_down_serves_nobody_whatever_its_models_do():
    async def main() -> None:
        async with Watched() as watched:
            watched.models.not_ready = []
            await asyncio.sleep(3)
            assert watched.readiness.is_serving()
            await watched.readiness.shut_down()
            assert await watched.status() == NOT_SERVING
            assert watched.readiness.is_ready()
            assert not watched.readiness.is_serving()
            await watched.readiness.lost()
            await asyncio.sleep(5)
            assert await watched.status() == NOT_SERVING
            assert not watched.lets_in

    virtual_time.run(main())
