"""Answers recorded while an event loop goes on: in groups, by a thread."""

import asyncio

from target_bench.models.remote.answer_cache import Answer, AnswerCache

_GATHER = 0.01  # seconds in which answers come together; each waits so long, and holds no place


class Recorder:
    """The cache of answers as one event loop uses it.

    A transaction for each answer, and the locks of the file it takes, would hold up the loop; and
    a slow disk, or another process that writes, would stop it.

    Args:
        cache: where answers are recorded; closed with the recorder.
    """

    def __init__(self, cache: AnswerCache) -> None:
        self._cache = cache
        self._waiting: list[tuple[str, Answer, asyncio.Future[None]]] = []
        self._writer: asyncio.Task[None] | None = None
        self._at_rest = asyncio.Event()
        self._at_rest.set()

    async def get(self, key: str) -> Answer | None:
        """Return the recorded answer, read while no group of answers is being written.

        Raises:
            StoreError: the file cannot be read.
        """
        while not self._at_rest.is_set():
            await self._at_rest.wait()
        return self._cache.get(key)

    async def put(self, key: str, answer: Answer) -> None:
        """Record an answer; it is in the file when this returns.

        It gets there too if the caller is cancelled meanwhile.

        Raises:
            StoreError: there is no room, or the file cannot be written.
        """
        written: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._waiting.append((key, answer, written))
        if self._writer is None:
            self._writer = asyncio.create_task(self._write())
        await written

    async def aclose(self) -> None:
        """Write the pending records and close the file."""
        if self._writer is not None:
            await self._writer
        self._cache.close()

    async def _write(self) -> None:
        while self._waiting:
            await asyncio.sleep(_GATHER)
            group, self._waiting = self._waiting, []
            error = await self._failure([(key, answer) for key, answer, _ in group])
            for _, _, written in group:
                if written.cancelled():
                    continue
                if error is None:
                    written.set_result(None)
                else:
                    written.set_exception(error)
        self._writer = None

    async def _failure(self, answers: list[tuple[str, Answer]]) -> Exception | None:
        """Return the error for all waiting calls: any error ends every wait."""
        self._at_rest.clear()
        try:
            await asyncio.to_thread(self._cache.put_many, answers)
        except Exception as error:
            return error
        finally:
            self._at_rest.set()
        return None
