"""The runtime of a client of Portico in Python: calls, server streams, errors, deadlines and retries over httpx.

`portico client <service> --lang python` writes it, and after it the messages and endpoints of the service.
Needs Python 3.10 or later and httpx: pip install httpx
"""

from __future__ import annotations

import asyncio
import base64
import contextlib
import dataclasses
import datetime
import enum
import functools
import itertools
import json
import math
import os
import random
import re
import time
import types
import typing

import httpx

if typing.TYPE_CHECKING:
    from typing_extensions import Self

_DEFAULT_URL = "http://127.0.0.1:8080"
_DEFAULT_TIMEOUT = 30.0
_DEFAULT_RETRIES = 2
# Seconds: the longest first wait before another try, and the longest of all. Each may be twice as long as the one before.
_FIRST_WAIT = 0.1
_MAX_WAIT = 2.0
# A stream that has no deadline does not wait longer for another try than this.
_MAX_RETRY_AFTER = 30.0
# Portico sends an empty line every 15 s while a stream has no message.
_MAX_SILENCE = 45.0
# Bytes of one message of a stream.
_MAX_MESSAGE = 64 * 1024 * 1024
# Of the header Grpc-Timeout in milliseconds: eight digits.
_MAX_GRPC_TIMEOUT = 99_999_999

_T = typing.TypeVar("_T")


class PorticoError(Exception):
    """A call that failed: refused, or not answered."""

    id: str
    """The service that was called; `gateway` where none was found."""
    code: int
    """HTTP status. 503 also where Portico could not be reached, 504 also where the deadline passed."""
    detail: str
    """What is wrong, in words for the caller."""
    status: str
    """Name of the code, such as `Unauthorized`."""
    details: list[dict[str, typing.Any]]
    """What the service said besides: messages of google.rpc, such as BadRequest. `@type` names each."""
    request_id: str | None
    """`X-Request-Id` of the answer, by which an operator finds the call in the log."""
    retry_after: float | None
    """Seconds to wait before another try, where the answer said so."""
    never_sent: bool
    """Whether the call certainly did not reach Portico, because no connection could be opened."""

    def __init__(
        self,
        id: str,
        code: int,
        detail: str,
        status: str,
        details: list[dict[str, typing.Any]] | None = None,
        *,
        request_id: str | None = None,
        retry_after: float | None = None,
        never_sent: bool = False,
    ) -> None:
        super().__init__(f"{detail} ({code} {status})")
        self.id = id
        self.code = code
        self.detail = detail
        self.status = status
        self.details = details or []
        self.request_id = request_id
        self.retry_after = retry_after
        self.never_sent = never_sent


@dataclasses.dataclass
class HttpBody:
    """Raw bytes, which an endpoint takes or answers instead of a message (`google.api.HttpBody`)."""

    content_type: str = ""
    """Such as `image/png`."""
    data: bytes = b""


class _OpenEnum(str, enum.Enum):
    """A value that the contract does not name is the digits of its number."""

    @classmethod
    def _missing_(cls, value: object) -> _OpenEnum:
        member = str.__new__(cls, value)
        member._name_ = str(value)
        member._value_ = str(value)
        return member


# Messages as proto3 JSON: https://protobuf.dev/programming-guides/json/


def _encode(value: typing.Any) -> typing.Any:
    if isinstance(value, enum.Enum):
        return int(value.value) if re.fullmatch(r"-?\d+", value.value) else value.value
    if isinstance(value, float) and not math.isfinite(value):
        return "NaN" if math.isnan(value) else "Infinity" if value > 0 else "-Infinity"
    if isinstance(value, bytes):
        return base64.b64encode(value).decode()
    if isinstance(value, datetime.datetime):
        utc = value.astimezone(datetime.timezone.utc)
        return utc.replace(tzinfo=None).isoformat() + "Z"
    if isinstance(value, datetime.timedelta):
        micros = value // datetime.timedelta(microseconds=1)
        seconds, fraction = divmod(abs(micros), 1_000_000)
        return f"{'-' if micros < 0 else ''}{seconds}.{fraction:06d}s"
    if isinstance(value, list):
        return [_encode(one) for one in value]
    if isinstance(value, dict):
        return {_encode_key(key): _encode(one) for key, one in value.items()}
    if dataclasses.is_dataclass(value):
        fields = ((field, getattr(value, field.name)) for field in dataclasses.fields(value))
        return {_json_name(field): _encode(one) for field, one in fields if _is_set(field, one)}
    return value


def _encode_key(key: typing.Any) -> str:
    return str(key).lower() if isinstance(key, bool) else str(key)


def _json_name(field: dataclasses.Field[typing.Any]) -> str:
    name: str = field.metadata.get("json", field.name)
    return name


def _is_set(field: dataclasses.Field[typing.Any], value: typing.Any) -> bool:
    """Whether a field has to be sent: not if it is absent, or zero where that means the same."""
    if value is None:
        return False
    if isinstance(value, float) and math.copysign(1, value) < 0:
        return True  # -0.0 equals 0.0
    if isinstance(value, (list, dict)):
        return len(value) > 0 or field.default is None
    return bool(field.default is None or value != field.default)


def _parse(text: bytes) -> typing.Any:
    """JSON, whose `-0` is a float: as an integer it would lose its sign."""
    return json.loads(text, parse_int=lambda digits: -0.0 if digits == "-0" else int(digits))


def _decode(hint: typing.Any, value: typing.Any) -> typing.Any:
    """Reads a JSON value as a type hint says."""
    origin, parameters = typing.get_origin(hint), typing.get_args(hint)
    if origin in (types.UnionType, typing.Union):
        inner = next(one for one in parameters if one is not types.NoneType)
        return None if value is None else _decode(inner, value)
    if origin is list:
        return [_decode(parameters[0], one) for one in value]
    if origin is dict:
        return {_decode_key(parameters[0], key): _decode(parameters[1], one) for key, one in value.items()}
    if hint in (int, float):
        return hint(value)
    if hint is bytes:
        return base64.b64decode(value)
    if hint is datetime.datetime:
        return _decode_time(value)
    if hint is datetime.timedelta:
        return _decode_duration(value)
    if isinstance(hint, type) and issubclass(hint, enum.Enum):
        return hint(str(value))
    if dataclasses.is_dataclass(hint) and isinstance(hint, type):
        given = {field: value[_json_name(field)] for field in dataclasses.fields(hint) if _json_name(field) in value}
        hints = _hints(hint)
        return hint(**{field.name: _decode(hints[field.name], one) for field, one in given.items()})
    return value


def _decode_key(hint: typing.Any, key: str) -> typing.Any:
    return key == "true" if hint is bool else hint(key)


@functools.cache
def _hints(message: type) -> dict[str, typing.Any]:
    # Without the names in the class: a field may be called like a type.
    return typing.get_type_hints(message, globals(), {})


def _decode_time(text: str) -> datetime.datetime:
    """Nanoseconds are cut off, because Python's times have none."""
    seconds, _, fraction = text.removesuffix("Z").partition(".")
    at = datetime.datetime.fromisoformat(seconds)
    return at.replace(microsecond=int(fraction[:6].ljust(6, "0")), tzinfo=datetime.timezone.utc)


def _decode_duration(text: str) -> datetime.timedelta:
    seconds, _, fraction = text.removesuffix("s").removeprefix("-").partition(".")
    duration = datetime.timedelta(seconds=int(seconds), microseconds=int(fraction[:6].ljust(6, "0")))
    return -duration if text.startswith("-") else duration


# Calls


@dataclasses.dataclass(frozen=True)
class _Call(typing.Generic[_T]):
    service: str
    path: str
    """Without a version: `/helloworld/Call`."""
    idempotent: bool
    """Whether the contract declares the endpoint free of side effects or idempotent."""
    answer: type[_T]
    request: object
    timeout: float | None
    retries: int | None


class _Deadline:
    def __init__(self, timeout: float | None, max_silence: float = math.inf) -> None:
        """`max_silence` is how long a wait for the next bytes may take, whatever time is left."""
        self.timeout = timeout
        self._max_silence = max_silence
        self._end = None if timeout is None else time.monotonic() + timeout

    @property
    def left(self) -> float | None:
        """Seconds, 0 when it has passed; None without a deadline."""
        return None if self._end is None else max(0.0, self._end - time.monotonic())

    @property
    def wait(self) -> float:
        """Seconds that a wait for the next bytes may take."""
        return min(self._max_silence, math.inf if self.left is None else self.left)

    @property
    def has_passed(self) -> bool:
        """Whether it is what ended a wait: clocks differ by some milliseconds."""
        return self.left is not None and self.left < 0.1

    def check(self, service: str) -> None:
        if self.left == 0:
            raise PorticoError(service, 504, f"No answer within {self.timeout} s", "Gateway Timeout")


class _Settings:
    """What both clients have in common: where and how a call goes, what its answer means, and whether it is repeated."""

    def __init__(
        self, url: str | None, token: str | None, namespace: str | None, timeout: float | None, retries: int | None
    ) -> None:
        self.url = (url or os.environ.get("PORTICO_URL") or _DEFAULT_URL).rstrip("/")
        self.token = os.environ.get("PORTICO_TOKEN") if token is None else token
        self.namespace = os.environ.get("PORTICO_NAMESPACE") if namespace is None else namespace
        self.timeout = _DEFAULT_TIMEOUT if timeout is None else timeout
        self.retries = _DEFAULT_RETRIES if retries is None else retries

    def address(self, call: _Call[typing.Any], deadline: _Deadline) -> tuple[str, dict[str, str]]:
        """The URL of a call, and the headers that say who calls, where, and how much time is left.

        With a token it goes below /v1, but a token counts in its own namespace only.
        """
        deadline.check(call.service)
        headers = {}
        if self.token:
            headers["Authorization"] = f"Bearer {self.token}"
        if self.namespace:
            headers["Platform-Namespace"] = self.namespace
        if deadline.left is not None:
            headers["Grpc-Timeout"] = f"{min(math.ceil(deadline.left * 1000), _MAX_GRPC_TIMEOUT)}m"
        version = "/v1" if self.token and not self.namespace else ""
        return self.url + version + call.path, headers

    def build(
        self, http: httpx.Client | httpx.AsyncClient, call: _Call[typing.Any], deadline: _Deadline
    ) -> httpx.Request:
        """The request for one try."""
        url, headers = self.address(call, deadline)
        headers |= {"Accept": "application/json", "Content-Type": "application/json"}
        if isinstance(call.request, HttpBody):
            content, headers["Content-Type"] = call.request.data, call.request.content_type
        else:
            message = {} if call.request is None else _encode(call.request)
            content = json.dumps(message, ensure_ascii=False).encode()
        timeout = httpx.Timeout(deadline.wait)
        return http.build_request("POST", url, content=content, headers=headers, timeout=timeout)

    def failure_of(self, call: _Call[typing.Any], thrown: Exception, deadline: _Deadline) -> PorticoError:
        """The error of a connection that could not be opened, or broke."""
        if deadline.has_passed and isinstance(thrown, (httpx.TimeoutException, asyncio.TimeoutError)):
            return PorticoError(call.service, 504, f"No answer within {deadline.timeout} s", "Gateway Timeout")
        never_sent = isinstance(thrown, (httpx.ConnectError, httpx.ConnectTimeout, httpx.PoolTimeout))
        detail = f"No answer from {self.url}: {str(thrown) or type(thrown).__name__}"
        return PorticoError(call.service, 503, detail, "Service Unavailable", never_sent=never_sent)

    def wait_before(self, call: _Call[typing.Any], failure: PorticoError, tried: int, deadline: _Deadline) -> float:
        """Seconds to wait before the next try.

        A call is tried again where no connection could be opened, and where the endpoint is idempotent also after 429
        and 503. Waits have jitter, so that clients that failed together do not come back together.
        """
        left = deadline.left
        wait = (failure.retry_after or 0.0) + random.random() * min(_MAX_WAIT, _FIRST_WAIT * (1 << tried))
        is_safe = failure.never_sent or (call.idempotent and failure.code in (429, 503))
        tries_left = tried < (self.retries if call.retries is None else call.retries)
        if not tries_left or not is_safe or wait > (_MAX_RETRY_AFTER if left is None else left):
            raise failure
        return wait


def _is_answer(response: httpx.Response, answer: object) -> bool:
    content_type = response.headers.get("content-type", "")
    is_json = content_type.startswith(("application/json", "application/x-ndjson"))
    return response.status_code == 200 and (is_json or answer is HttpBody)


def _refusal(service: str, response: httpx.Response, body: bytes) -> PorticoError:
    """The error of an answer that is none."""
    failure = _failure_in(body)
    if failure is None:
        detail = f"{response.url} answered {response.status_code}, but not as Portico does"
        failure = PorticoError(service, response.status_code, detail, response.reason_phrase)
    after = response.headers.get("retry-after", "")
    failure.request_id = response.headers.get("x-request-id")
    failure.retry_after = float(after) if re.fullmatch(r"\d{1,9}", after) else None
    return failure


def _failure_in(body: bytes | str) -> PorticoError | None:
    """The error object in a JSON text; None for any other text."""
    try:
        error = json.loads(body)
        return PorticoError(error["Id"], error["Code"], error["Detail"], error["Status"], error.get("Details"))
    except (ValueError, TypeError, KeyError):
        return None


def _read(answer: type[_T], response: httpx.Response, body: bytes) -> _T:
    if answer is HttpBody:
        return typing.cast(_T, HttpBody(response.headers.get("content-type", ""), body))
    return typing.cast(_T, _decode(answer, _parse(body)))


class _MessageReader(typing.Generic[_T]):
    """Takes messages out of pieces of a stream: a JSON object a line, or raw bytes.

    Only a line feed ends a line, because a text in JSON may have what else ends lines.
    """

    def __init__(self, answer: type[_T], response: httpx.Response) -> None:
        self._answer = answer
        self._response = response
        self._rest: list[bytes] = []
        self._size = 0

    def messages_in(self, piece: bytes) -> typing.Iterator[_T]:
        """The messages that a piece completes; raises the error in the last line of a stream."""
        if self._answer is HttpBody:
            yield _read(self._answer, self._response, piece)
            return
        *complete, rest = piece.split(b"\n")
        if complete:
            complete[0] = b"".join(self._rest) + complete[0]
            self._rest.clear()
            self._size = 0
        self._rest.append(rest)
        self._size += len(rest)
        if self._size > _MAX_MESSAGE:
            raise httpx.DecodingError(f"a message has more than {_MAX_MESSAGE >> 20} MiB")
        for line in complete:
            if line:  # An empty one is a heartbeat.
                yield self._message(line)

    def _message(self, line: bytes) -> _T:
        value = _parse(line)
        if line.startswith(b'{"error":{"Id":') and len(value) == 1:
            failure = _failure_in(json.dumps(value["error"]))
            if failure is not None:
                failure.request_id = self._response.headers.get("x-request-id")
                raise failure
        return typing.cast(_T, _decode(self._answer, value))


class _Client:
    def __init__(
        self,
        url: str | None = None,
        token: str | None = None,
        *,
        namespace: str | None = None,
        timeout: float | None = None,
        retries: int | None = None,
    ) -> None:
        """What is not given is read from PORTICO_URL, PORTICO_TOKEN and PORTICO_NAMESPACE.

        `timeout` is the seconds that a call may take with its retries, 30 by default. A stream has a deadline only where
        its call gives one. `retries` is how often a call is tried again where that is safe, 2 by default.
        """
        self._settings = _Settings(url, token, namespace, timeout, retries)
        self._bind()

    def _bind(self) -> None:
        """Makes the services, in the generated class."""

    def _deadline(self, call: _Call[typing.Any]) -> _Deadline:
        return _Deadline(self._settings.timeout if call.timeout is None else call.timeout)


class PorticoClient(_Client):
    """The client that a generated one extends by its services. Close it, or use it in a `with` statement."""

    @functools.cached_property
    def _http(self) -> httpx.Client:
        return httpx.Client()

    def close(self) -> None:
        self._http.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def _retry(self, call: _Call[typing.Any], deadline: _Deadline, attempt: typing.Callable[[], _T]) -> _T:
        for tried in itertools.count():
            try:
                return attempt()
            except httpx.HTTPError as thrown:
                failure = self._settings.failure_of(call, thrown, deadline)
            except PorticoError as refused:
                failure = refused
            time.sleep(self._settings.wait_before(call, failure, tried, deadline))
        raise AssertionError("the loop above has no end")

    def _open(self, call: _Call[typing.Any], deadline: _Deadline) -> httpx.Response:
        """The answer, of which only the headers have come."""
        response = self._http.send(self._settings.build(self._http, call, deadline), stream=True)
        if _is_answer(response, call.answer):
            return response
        with contextlib.closing(response):
            raise _refusal(call.service, response, response.read())

    def _unary(self, call: _Call[_T]) -> _T:
        deadline = self._deadline(call)

        def attempt() -> _T:
            with contextlib.closing(self._open(call, deadline)) as response:
                pieces = []
                for piece in response.iter_bytes():
                    pieces.append(piece)
                    deadline.check(call.service)
                return _read(call.answer, response, b"".join(pieces))

        return self._retry(call, deadline, attempt)

    def _stream(self, call: _Call[_T]) -> typing.Iterator[_T]:
        deadline = _Deadline(call.timeout, _MAX_SILENCE)
        with contextlib.closing(self._retry(call, deadline, lambda: self._open(call, deadline))) as response:
            reader = _MessageReader(call.answer, response)
            try:
                for piece in response.iter_bytes():
                    yield from reader.messages_in(piece)
                    deadline.check(call.service)
            except httpx.HTTPError as thrown:
                raise self._settings.failure_of(call, thrown, deadline) from thrown


class AsyncPorticoClient(_Client):
    """The same for asyncio. Cancelling the task that waits for a call ends the call."""

    @functools.cached_property
    def _http(self) -> httpx.AsyncClient:
        return httpx.AsyncClient()

    async def close(self) -> None:
        await self._http.aclose()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.close()

    async def _retry(
        self, call: _Call[typing.Any], deadline: _Deadline, attempt: typing.Callable[[], typing.Awaitable[_T]]
    ) -> _T:
        for tried in itertools.count():
            try:
                return await asyncio.wait_for(attempt(), deadline.left)
            except (asyncio.TimeoutError, httpx.HTTPError) as thrown:
                failure = self._settings.failure_of(call, thrown, deadline)
            except PorticoError as refused:
                failure = refused
            await asyncio.sleep(self._settings.wait_before(call, failure, tried, deadline))
        raise AssertionError("the loop above has no end")

    async def _open(self, call: _Call[typing.Any], deadline: _Deadline) -> httpx.Response:
        response = await self._http.send(self._settings.build(self._http, call, deadline), stream=True)
        if _is_answer(response, call.answer):
            return response
        async with contextlib.aclosing(response):
            raise _refusal(call.service, response, await response.aread())

    async def _unary(self, call: _Call[_T]) -> _T:
        deadline = self._deadline(call)

        async def attempt() -> _T:
            async with contextlib.aclosing(await self._open(call, deadline)) as response:
                return _read(call.answer, response, await response.aread())

        return await self._retry(call, deadline, attempt)

    async def _stream(self, call: _Call[_T]) -> typing.AsyncIterator[_T]:
        deadline = _Deadline(call.timeout, _MAX_SILENCE)
        opened = await self._retry(call, deadline, lambda: self._open(call, deadline))
        async with contextlib.aclosing(opened) as response:
            reader = _MessageReader(call.answer, response)
            try:
                async for piece in response.aiter_bytes():
                    for message in reader.messages_in(piece):
                        yield message
                    deadline.check(call.service)
            except httpx.HTTPError as thrown:
                raise self._settings.failure_of(call, thrown, deadline) from thrown
