"""Streams that a client sends, by WebSocket.

Each text frame has one JSON message, in both directions. An empty frame follows the last message.
`portico client` adds this to the client of a service that takes streams. Needs websockets 14 or
later: pip install websockets
"""

import http
import sys
import threading

import websockets.asyncio.client
import websockets.exceptions

# Messages that are read ahead of the caller, so that Portico's pings get a response while the
# caller is busy.
_MAX_UNREAD_MESSAGES = 16
# A close code of Portico is this number plus an HTTP status.
_STATUS_CODES = 4000
# Maximum seconds for closing the connection, after the caller has ended a call without reading all
# its responses.
_CLOSE_TIMEOUT = 1.0
_ERROR_MEMBERS = {"Id", "Code", "Detail", "Status", "Details"}

_S = typing.TypeVar("_S")
_T2 = typing.TypeVar("_T2")


class AsyncBidiStream(typing.Generic[_S, _T]):
    """A call in which both sides stream: `await send(…)` sends, `async for` reads the responses.

    One task may send while another reads.
    """

    def __init__(
        self,
        socket: websockets.asyncio.client.ClientConnection,
        settings: _Settings,
        call: _Call[_T],
        deadline: _Deadline,
    ) -> None:
        self._socket = socket
        self._settings = settings
        self._call = call
        self._deadline = deadline
        self._next: str | None = None

    async def send(self, message: _S) -> None:
        """Sends a message. Waits while the service does not read.

        Raises EOFError when the service has ended the call and takes no more messages.
        """
        await self._write(json.dumps(_encode(message), ensure_ascii=False))

    async def close_send(self) -> None:
        """Sends the end of the message stream. More responses may arrive."""
        with contextlib.suppress(EOFError):
            await self._write("")

    async def _write(self, frame: str) -> None:
        try:
            await self._within(self._socket.send(frame))
        except websockets.exceptions.ConnectionClosed as closed:
            raise self._ending(closed) or EOFError("The service has ended the call") from closed

    def __aiter__(self) -> Self:
        return self

    async def __anext__(self) -> _T:
        frame, self._next = self._next, None
        try:
            if frame is None:
                frame = await self._read()
        except websockets.exceptions.ConnectionClosed as closed:
            raise self._ending(closed) or StopAsyncIteration from closed
        value = _parse(frame.encode())
        if isinstance(value, dict) and {"Id", "Code", "Detail", "Status"} <= value.keys() <= _ERROR_MEMBERS:
            await self._check_error(frame)
        return typing.cast(_T, _decode(self._call.answer, value))

    async def _check_error(self, frame: str) -> None:
        """Raises the error in a frame. It is one only if Portico then closes with its code."""
        try:
            self._next = await self._read()
        except websockets.exceptions.ConnectionClosed as closed:
            sent, ended = _failure_in(frame), self._ending(closed)
            if sent is not None and ended is not None and sent.code == ended.code:
                raise sent from closed

    async def _read(self) -> str:
        return str(await self._within(self._socket.recv()))

    async def _within(self, waiting: typing.Awaitable[_T2]) -> _T2:
        try:
            return await asyncio.wait_for(waiting, self._deadline.left)
        except asyncio.TimeoutError as thrown:
            raise self._settings.failure_of(self._call, thrown, self._deadline) from thrown

    def _ending(self, closed: websockets.exceptions.ConnectionClosed) -> PorticoError | None:
        """The error that ended the call, or None if the call succeeded."""
        code, reason = (closed.rcvd.code, closed.rcvd.reason) if closed.rcvd else (0, "")
        if code == 1000:
            return None
        if code > _STATUS_CODES:
            return PorticoError(self._call.service, code - _STATUS_CODES, reason, _phrase(code - _STATUS_CODES))
        return self._settings.failure_of(self._call, closed, _Deadline(None))


def _phrase(status: int) -> str:
    try:
        return http.HTTPStatus(status).phrase
    except ValueError:
        return "Closed"


class _Connect(websockets.asyncio.client.connect):
    def process_redirect(self, exc: Exception) -> Exception:
        """Follows no redirect, like the other calls."""
        return exc


async def _open_socket(
    settings: _Settings, call: _Call[typing.Any], deadline: _Deadline
) -> websockets.asyncio.client.ClientConnection:
    url, headers = settings.address(call, deadline)
    try:
        return await _Connect(
            re.sub("^http", "ws", url),
            additional_headers=headers,
            compression=None,
            open_timeout=_MAX_SILENCE,
            # The two add up to the maximum silence.
            ping_interval=_MAX_SILENCE / 3,
            ping_timeout=_MAX_SILENCE * 2 / 3,
            max_size=_MAX_MESSAGE,
            max_queue=_MAX_UNREAD_MESSAGES,
        )
    except websockets.exceptions.InvalidStatus as refused:
        answer = refused.response
        response = httpx.Response(
            answer.status_code, headers=list(answer.headers.raw_items()), content=bytes(answer.body or b"")
        )
        response.request = httpx.Request("GET", url)
        raise _refusal(call.service, response, response.content) from refused
    except (OSError, asyncio.TimeoutError, websockets.exceptions.WebSocketException) as thrown:
        failure = settings.failure_of(call, thrown, deadline)
        failure.never_sent = isinstance(thrown, OSError)
        raise failure from thrown


@contextlib.asynccontextmanager
async def _bidi_async(
    portico: AsyncPorticoClient, call: _Call[_T]
) -> typing.AsyncIterator[AsyncBidiStream[typing.Any, _T]]:
    """Every failure is safe to retry: the service is called only with the first message."""
    settings, deadline = portico._settings, _Deadline(call.timeout)
    call = dataclasses.replace(call, idempotent=True)
    socket = await portico._retry(call, deadline, lambda: _open_socket(settings, call, deadline))
    try:
        yield AsyncBidiStream(socket, settings, call, deadline)
        with contextlib.suppress(asyncio.TimeoutError):
            await asyncio.wait_for(socket.close(), _CLOSE_TIMEOUT)
    finally:
        socket.transport.abort()


async def _collect_async(
    portico: AsyncPorticoClient,
    call: _Call[_T],
    requests: typing.AsyncIterable[typing.Any] | typing.Iterable[typing.Any],
) -> _T:
    async with _bidi_async(portico, call) as stream:
        with contextlib.suppress(EOFError):
            if isinstance(requests, typing.AsyncIterable):
                async for request in requests:
                    await stream.send(request)
            else:
                for request in requests:
                    await stream.send(request)
        await stream.close_send()
        async for answer in stream:
            return answer
    raise PorticoError(call.service, 502, "The call ended without a response", "Bad Gateway")


class BidiStream(typing.Generic[_S, _T]):
    """A call in which both sides stream: `send(…)` sends, and `for` reads the responses.

    One thread may send while another reads.
    """

    def __init__(self, stream: AsyncBidiStream[_S, _T], loop: asyncio.AbstractEventLoop) -> None:
        self._stream = stream
        self._loop = loop

    def send(self, message: _S) -> None:
        """Sends a message. Waits while the service does not read.

        Raises EOFError when the service has ended the call and takes no more messages.
        """
        _wait(self._stream.send(message), self._loop)

    def close_send(self) -> None:
        """Sends the end of the message stream. More responses may arrive."""
        _wait(self._stream.close_send(), self._loop)

    def __iter__(self) -> Self:
        return self

    def __next__(self) -> _T:
        try:
            return _wait(self._stream.__anext__(), self._loop)
        except StopAsyncIteration:
            raise StopIteration from None


def _wait(working: typing.Coroutine[typing.Any, typing.Any, _T2], loop: asyncio.AbstractEventLoop) -> _T2:
    """The result of work in a loop's thread. Interrupting the wait (Ctrl-C) cancels the work."""
    future = asyncio.run_coroutine_threadsafe(working, loop)
    try:
        return future.result()
    except BaseException:
        future.cancel()
        raise


@contextlib.contextmanager
def _bidi(portico: PorticoClient, call: _Call[_T]) -> typing.Iterator[BidiStream[typing.Any, _T]]:
    """Each call has a thread that reads and writes the WebSocket and responds to its pings."""
    settings = portico._settings
    client = AsyncPorticoClient(
        settings.url, settings.tokens.given, namespace=settings.namespace or "", retries=settings.retries
    )
    loop = asyncio.new_event_loop()
    thread = threading.Thread(target=loop.run_forever, daemon=True, name=f"portico {call.path}")
    thread.start()
    opening = _bidi_async(client, call)
    try:
        stream = _wait(opening.__aenter__(), loop)
        try:
            yield BidiStream(stream, loop)
        finally:
            _wait(opening.__aexit__(*sys.exc_info()), loop)
    finally:
        loop.call_soon_threadsafe(loop.stop)
        thread.join()
        loop.close()


def _collect(portico: PorticoClient, call: _Call[_T], requests: typing.Iterable[typing.Any]) -> _T:
    with _bidi(portico, call) as stream:
        with contextlib.suppress(EOFError):
            for request in requests:
                stream.send(request)
        stream.close_send()
        for answer in stream:
            return answer
    raise PorticoError(call.service, 502, "The call ended without a response", "Bad Gateway")
