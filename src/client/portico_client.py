"""The runtime of a Portico client in Python: calls, server streams, errors, deadlines, retries.

`portico client <service> --lang python` writes it, and after it the messages and endpoints of the
service. It uses httpx.
Needs Python 3.10 or later and httpx: pip install httpx
"""

from __future__ import annotations

import asyncio
import base64
import concurrent.futures
import contextlib
import dataclasses
import datetime
import enum
import functools
import inspect
import itertools
import json
import math
import os
import random
import re
import threading
import time
import types
import typing

import httpx

if typing.TYPE_CHECKING:
    from typing_extensions import Self

_DEFAULT_URL = "http://127.0.0.1:8080"
_DEFAULT_TIMEOUT = 30.0
_DEFAULT_RETRIES = 2
# Seconds. The maximum wait before the first retry, which doubles with each retry, and its upper
# bound.
_FIRST_WAIT = 0.1
_MAX_WAIT = 2.0
# A stream without a deadline is not retried if the response asks for a longer wait.
_MAX_RETRY_AFTER = 30.0
# Portico sends an empty line every 15 s while a stream has no message.
_MAX_SILENCE = 45.0
# Bytes of one message of a stream.
_MAX_MESSAGE = 64 * 1024 * 1024
# The maximum of the header Grpc-Timeout in milliseconds: it has at most eight digits.
_MAX_GRPC_TIMEOUT = 99_999_999

# Statuses of responses without content.
_NO_CONTENT = (204, 205)

_T = typing.TypeVar("_T")


class PorticoError(Exception):
    """A call that failed: it was refused, or got no response."""

    id: str
    """The service that was called, or `gateway` if none was found, or a limit refused the call."""
    code: int
    """HTTP status. 503 also if Portico could not be reached, 504 also if the deadline passed."""
    detail: str
    """What is wrong, in words for the caller."""
    status: str
    """Name of the code, such as `Unauthorized`."""
    details: list[dict[str, typing.Any]]
    """Details from the service: messages of google.rpc, such as BadRequest, named by `@type`."""
    request_id: str | None
    """`X-Request-Id` of the response. With it an operator finds the call in the log."""
    retry_after: float | None
    """Seconds to wait before a retry, if the response said so."""
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
    """Raw bytes as a request or response instead of a message (`google.api.HttpBody`)."""

    content_type: str = ""
    """For example `image/png`."""
    data: bytes = b""


class _OpenEnum(str, enum.Enum):
    """A value that the contract does not name is represented by the digits of its number."""

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
    """Whether a field must be sent. Not if it is absent, or zero when zero means absent."""
    if value is None:
        return False
    if isinstance(value, float) and math.copysign(1, value) < 0:
        return True  # -0.0 equals 0.0
    if isinstance(value, (list, dict)):
        return len(value) > 0 or field.default is None
    return bool(field.default is None or value != field.default)


def _parse(text: bytes) -> typing.Any:
    """Parses JSON. `-0` becomes a float, because an integer would lose the sign."""
    return json.loads(text, parse_int=lambda digits: -0.0 if digits == "-0" else int(digits))


def _decode(hint: typing.Any, value: typing.Any) -> typing.Any:
    """Converts a JSON value to the type of a type hint."""
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
    # Without the names in the class, because a field may have the same name as a type.
    return typing.get_type_hints(message, globals(), {})


def _decode_time(text: str) -> datetime.datetime:
    """Drops digits beyond microseconds, because Python's datetime has none."""
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
    """The path without a version: `/helloworld/Call`."""
    idempotent: bool
    """Whether the contract declares the endpoint free of side effects or idempotent."""
    answer: type[_T]
    request: object
    timeout: float | None
    retries: int | None


class _Deadline:
    def __init__(self, timeout: float | None, max_silence: float = math.inf) -> None:
        """`max_silence` is the maximum time in seconds of each wait for the next bytes."""
        self.timeout = timeout
        self._max_silence = max_silence
        self._end = None if timeout is None else time.monotonic() + timeout

    @property
    def left(self) -> float | None:
        """Seconds, 0 when the deadline has passed, None without a deadline."""
        return None if self._end is None else max(0.0, self._end - time.monotonic())

    @property
    def wait(self) -> float:
        """The maximum seconds of a wait for the next bytes."""
        return min(self._max_silence, math.inf if self.left is None else self.left)

    @property
    def has_passed(self) -> bool:
        """Whether the deadline ended a wait. Clocks may differ by some milliseconds."""
        return self.left is not None and self.left < 0.1

    def check(self, service: str) -> None:
        if self.left == 0:
            raise PorticoError(service, 504, f"No answer within {self.timeout} s", "Gateway Timeout")


TokenFunction = typing.Callable[[str | None], str | None | typing.Awaitable[str | None]]
"""Gives the token of the calls. It is called before the first call, with None.

When a token is refused with 401, it is called once more with that token, and the call is repeated
once. Only AsyncPortico takes a function that is awaited.
"""

# Seconds that a call without a deadline waits for the token function.
_MAX_TOKEN_WAIT = 30.0


class _Tokens:
    """The token of a client's calls: a text, or a function that gives one when it is needed."""

    def __init__(self, given: str | TokenFunction | None) -> None:
        self._give = given if callable(given) else None
        self.current = None if callable(given) else given or None

    @property
    def given(self) -> str | TokenFunction:
        return self._give or self.current or ""

    @property
    def must_ask(self) -> bool:
        return self._give is not None and self.current is None

    def may_renew(self, failure: PorticoError, refused: str | None) -> bool:
        return failure.code == 401 and self._give is not None and refused is not None

    def ask(self, call: _Call[typing.Any], deadline: _Deadline, refused: str | None = None) -> None:
        if self._give is None or self.current != refused:
            return  # Another call has renewed it in the meantime.
        try:
            token = _in_thread(self._give, refused).result(_token_wait(deadline))
        except concurrent.futures.TimeoutError:
            raise _token_late(call) from None
        except Exception as thrown:
            raise _token_failed(call, f"failed: {thrown}") from thrown
        self._keep(call, token)

    async def ask_async(self, call: _Call[typing.Any], deadline: _Deadline, refused: str | None = None) -> None:
        if self._give is None or self.current != refused:
            return
        try:
            token = await asyncio.wait_for(_awaited(self._give, refused), _token_wait(deadline))
        except asyncio.TimeoutError:
            raise _token_late(call) from None
        except Exception as thrown:
            raise _token_failed(call, f"failed: {thrown}") from thrown
        self._keep(call, token)

    def _keep(self, call: _Call[typing.Any], token: object) -> None:
        if not isinstance(token, (str, types.NoneType)):
            raise _token_failed(call, f"gave no text, but {type(token).__name__}")
        self.current = token or None


def _in_thread(give: TokenFunction, refused: str | None) -> concurrent.futures.Future[typing.Any]:
    """Calls the function in a thread that does not keep the program running: it may hang."""
    future: concurrent.futures.Future[typing.Any] = concurrent.futures.Future()

    def run() -> None:
        try:
            future.set_result(give(refused))
        except Exception as thrown:  # noqa: BLE001 (the caller of the future gets it)
            future.set_exception(thrown)

    threading.Thread(target=run, daemon=True).start()
    return future


async def _awaited(give: TokenFunction, refused: str | None) -> object:
    if inspect.iscoroutinefunction(give):
        token: object = await give(refused)
        return token
    given = await asyncio.wrap_future(_in_thread(give, refused))
    return await given if inspect.isawaitable(given) else given


def _token_wait(deadline: _Deadline) -> float:
    return _MAX_TOKEN_WAIT if deadline.left is None else min(_MAX_TOKEN_WAIT, deadline.left)


def _token_late(call: _Call[typing.Any]) -> PorticoError:
    return PorticoError(call.service, 504, "The token function gave no token in time", "Gateway Timeout")


def _token_failed(call: _Call[typing.Any], what: str) -> PorticoError:
    return PorticoError(call.service, 401, f"The token function {what}", "Unauthorized")


class _Settings:
    """What both clients share: address and headers, reading responses and errors, and retries."""

    def __init__(
        self,
        url: str | None,
        token: str | TokenFunction | None,
        namespace: str | None,
        timeout: float | None,
        retries: int | None,
    ) -> None:
        self.url = (url or os.environ.get("PORTICO_URL") or _DEFAULT_URL).rstrip("/")
        self.tokens = _Tokens(os.environ.get("PORTICO_TOKEN") if token is None else token)
        self.namespace = os.environ.get("PORTICO_NAMESPACE") if namespace is None else namespace
        self.timeout = _DEFAULT_TIMEOUT if timeout is None else timeout
        self.retries = _DEFAULT_RETRIES if retries is None else retries

    def address(self, call: _Call[typing.Any], deadline: _Deadline) -> tuple[str, dict[str, str]]:
        """The URL of a call, and the headers with the caller, the namespace and the remaining time.

        With a token the path begins with /v1, where the token must be valid. But a token is valid
        in its own namespace only, so a call that names a namespace has no /v1.
        """
        deadline.check(call.service)
        headers = {}
        token = self.tokens.current
        if token:
            headers["Authorization"] = f"Bearer {token}"
        if self.namespace:
            headers["Platform-Namespace"] = self.namespace
        if deadline.left is not None:
            headers["Grpc-Timeout"] = f"{min(math.ceil(deadline.left * 1000), _MAX_GRPC_TIMEOUT)}m"
        version = "/v1" if token and not self.namespace else ""
        return self.url + version + call.path, headers

    def build(
        self, http: httpx.Client | httpx.AsyncClient, call: _Call[typing.Any], deadline: _Deadline
    ) -> httpx.Request:
        """The request for one attempt."""
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
        detail = f"No response from {self.url}: {str(thrown) or type(thrown).__name__}"
        return PorticoError(call.service, 503, detail, "Service Unavailable", never_sent=never_sent)

    def wait_before(self, call: _Call[typing.Any], failure: PorticoError, tried: int, deadline: _Deadline) -> float:
        """Seconds to wait before the next retry.

        Raises the failure if the call must not be retried. A call is retried if no connection could
        be opened, or if the gateway refused it with 429 or 503 before it called a service. An
        idempotent endpoint is also retried after any 429 and 503. Waits have jitter, so that
        clients that failed at the same time do not retry at the same time.
        """
        left = deadline.left
        wait = (failure.retry_after or 0.0) + random.random() * min(_MAX_WAIT, _FIRST_WAIT * (1 << tried))
        is_busy = failure.code in (429, 503)
        is_safe = failure.never_sent or (is_busy and (call.idempotent or failure.id == "gateway"))
        tries_left = tried < (self.retries if call.retries is None else call.retries)
        if not tries_left or not is_safe or wait > (_MAX_RETRY_AFTER if left is None else left):
            raise failure
        return wait


def _is_answer(response: httpx.Response, answer: object) -> bool:
    content_type = response.headers.get("content-type", "")
    is_json = content_type.startswith(("application/json", "application/x-ndjson"))
    return response.is_success and (is_json or answer is HttpBody or response.status_code in _NO_CONTENT)


def _refusal(service: str, response: httpx.Response, body: bytes) -> PorticoError:
    """The error of a response that is not a result."""
    failure = _failure_in(body)
    if failure is None:
        detail = f"{response.url} answered {response.status_code}, but not as Portico does"
        failure = PorticoError(service, response.status_code, detail, response.reason_phrase)
    after = response.headers.get("retry-after", "")
    failure.request_id = response.headers.get("x-request-id")
    failure.retry_after = float(after) if re.fullmatch(r"\d{1,9}", after) else None
    return failure


def _failure_in(body: bytes | str) -> PorticoError | None:
    """The error object in a JSON text, or None for any other text."""
    try:
        error = json.loads(body)
        return PorticoError(error["Id"], error["Code"], error["Detail"], error["Status"], error.get("Details"))
    except (ValueError, TypeError, KeyError):
        return None


def _read(answer: type[_T], response: httpx.Response, body: bytes) -> _T:
    if answer is HttpBody:
        return typing.cast(_T, HttpBody(response.headers.get("content-type", ""), body))
    # Without content it is an empty message, because an option of the service sets the status.
    message = {} if response.status_code in _NO_CONTENT else _parse(body)
    return typing.cast(_T, _decode(answer, message))


class _MessageReader(typing.Generic[_T]):
    """Reads messages from chunks of a stream: one JSON object in each line, or raw bytes.

    Only a line feed ends a line, because strings in JSON may contain other line separators.
    """

    def __init__(self, answer: type[_T], response: httpx.Response) -> None:
        self._answer = answer
        self._response = response
        self._rest: list[bytes] = []
        self._size = 0

    def messages_in(self, chunk: bytes) -> typing.Iterator[_T]:
        """The messages that a chunk completes. Raises the error in the last line of a stream."""
        if self._answer is HttpBody:
            yield _read(self._answer, self._response, chunk)
            return
        *complete, rest = chunk.split(b"\n")
        if complete:
            complete[0] = b"".join(self._rest) + complete[0]
            self._rest.clear()
            self._size = 0
        self._rest.append(rest)
        self._size += len(rest)
        if self._size > _MAX_MESSAGE:
            raise httpx.DecodingError(f"a message has more than {_MAX_MESSAGE >> 20} MiB")
        for line in complete:
            if line:  # An empty line is a heartbeat.
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
        token: str | TokenFunction | None = None,
        *,
        namespace: str | None = None,
        timeout: float | None = None,
        retries: int | None = None,
    ) -> None:
        """A value that is not given is read from PORTICO_URL, PORTICO_TOKEN and PORTICO_NAMESPACE.

        `token` is an access token or API key, or a function that gives one (TokenFunction).
        `timeout` is the maximum time of a call in seconds, including its retries. Default 30. A
        stream has a deadline only if its call gives one. `retries` is the maximum number of retries
        of a call. A call is retried only when that is safe. Default 2.
        """
        self._settings = _Settings(url, token, namespace, timeout, retries)
        self._bind()

    def _bind(self) -> None:
        """Creates the services. The generated class overrides this."""

    def _deadline(self, call: _Call[typing.Any]) -> _Deadline:
        return _Deadline(self._settings.timeout if call.timeout is None else call.timeout)


class PorticoClient(_Client):
    """The base class of a generated client. Close it, or use it in a `with` statement."""

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
        tokens, renewed = self._settings.tokens, False
        if tokens.must_ask:
            tokens.ask(call, deadline)
        for tried in itertools.count():
            token = tokens.current
            try:
                return attempt()
            except httpx.HTTPError as thrown:
                failure = self._settings.failure_of(call, thrown, deadline)
            except PorticoError as refused:
                failure = refused
            if not renewed and tokens.may_renew(failure, token):
                renewed = True
                tokens.ask(call, deadline, token)
                if tokens.current == token:
                    raise failure
                continue
            time.sleep(self._settings.wait_before(call, failure, tried, deadline))
        raise AssertionError("the loop above has no end")

    def _open(self, call: _Call[typing.Any], deadline: _Deadline) -> httpx.Response:
        """The response, after only its headers have arrived."""
        response = self._http.send(self._settings.build(self._http, call, deadline), stream=True)
        if _is_answer(response, call.answer):
            return response
        with contextlib.closing(response):
            raise _refusal(call.service, response, response.read())

    def _unary(self, call: _Call[_T]) -> _T:
        deadline = self._deadline(call)

        def attempt() -> _T:
            with contextlib.closing(self._open(call, deadline)) as response:
                chunks = []
                for chunk in response.iter_bytes():
                    chunks.append(chunk)
                    deadline.check(call.service)
                return _read(call.answer, response, b"".join(chunks))

        return self._retry(call, deadline, attempt)

    def _stream(self, call: _Call[_T]) -> typing.Iterator[_T]:
        deadline = _Deadline(call.timeout, _MAX_SILENCE)
        with contextlib.closing(self._retry(call, deadline, lambda: self._open(call, deadline))) as response:
            reader = _MessageReader(call.answer, response)
            try:
                for chunk in response.iter_bytes():
                    yield from reader.messages_in(chunk)
                    deadline.check(call.service)
            except httpx.HTTPError as thrown:
                raise self._settings.failure_of(call, thrown, deadline) from thrown


class AsyncPorticoClient(_Client):
    """The base class of a generated client for asyncio. Cancelling a task cancels its call."""

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
        tokens, renewed = self._settings.tokens, False
        if tokens.must_ask:
            await tokens.ask_async(call, deadline)
        for tried in itertools.count():
            token = tokens.current
            try:
                return await asyncio.wait_for(attempt(), deadline.left)
            except (asyncio.TimeoutError, httpx.HTTPError) as thrown:
                failure = self._settings.failure_of(call, thrown, deadline)
            except PorticoError as refused:
                failure = refused
            if not renewed and tokens.may_renew(failure, token):
                renewed = True
                await tokens.ask_async(call, deadline, token)
                if tokens.current == token:
                    raise failure
                continue
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
                async for chunk in response.aiter_bytes():
                    for message in reader.messages_in(chunk):
                        yield message
                    deadline.check(call.service)
            except httpx.HTTPError as thrown:
                raise self._settings.failure_of(call, thrown, deadline) from thrown
