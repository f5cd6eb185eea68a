"""Calls a running gateway with the clients that `portico client --lang python` generated.

Run by python.outside.ts.
"""

from __future__ import annotations

import asyncio
import datetime
import itertools
import math
import os
import threading
import time
import typing

import auth_client
import awkward_client as awk
import feed_client
import helloworld_client
import kinds_client
import probe_client
import studio_client

FAULTY = os.environ["FAULTY_DOOR"]
ADA = helloworld_client.CallResponse(message="Hello Ada", msg="Hello Ada")


def error_of(call: typing.Callable[[], object], kind: type[typing.Any]) -> typing.Any:
    try:
        call()
    except kind as error:
        return error
    raise AssertionError(f"the call did not fail with a {kind.__name__}")


def calls_and_streams() -> None:
    with helloworld_client.Portico() as portico:
        assert portico.helloworld.call(helloworld_client.CallRequest(name="Ada")) == ADA
        request = helloworld_client.StreamRequest(name="Ada", messages=3)
        assert list(portico.helloworld.stream(request)) == [ADA] * 3


def every_type() -> None:
    with kinds_client.Portico() as portico:
        kinds = portico.kinds
        nested = kinds_client.Implicit(int64=-1, color=kinds_client.Color.COLOR_RED)
        sent = kinds_client.Implicit(
            double=math.inf,
            float_=1.5,
            int32=-5,
            int64=2**63 - 1,
            uint64=2**64 - 1,
            bool_=True,
            string='\u2028 """ \\',
            bytes_=b"\0\xff",
            color=kinds_client.Color.COLOR_BLUE,
            nested=nested,
        )
        assert kinds.call(sent) == sent
        assert math.isnan(kinds.call(kinds_client.Implicit(double=math.nan)).double)
        assert math.copysign(1, kinds.call(kinds_client.Implicit(double=-0.0)).double) == -1
        assert kinds.call(kinds_client.Implicit(color=kinds_client.Color("7"))).color == "7"
        present = kinds_client.Optional(int64=0, string="", bytes_=b"", bool_=False)
        assert kinds.optional(present) == present
        lists = kinds_client.Lists(int64=[1, -2], double=[math.inf, 0.5], bytes_=[b"a"], wrapped=["a"], value=[None, {"a": 1}])
        assert kinds.lists(lists) == lists
        maps = kinds_client.Maps(int64={-5: 5}, bool_={True: False}, message={"a": kinds_client.Optional(int32=1)})
        assert kinds.maps(maps) == maps
        assert kinds.choice(kinds_client.Choice(number=0, yes=True)) == kinds_client.Choice(number=0, yes=True)
        known = kinds_client.WellKnown(
            timestamp=datetime.datetime(2026, 1, 31, 12, 0, 0, 125_001, datetime.timezone(datetime.timedelta(hours=2))),
            duration=-datetime.timedelta(seconds=1, microseconds=500_000),
            mask="a,b",
            struct={"a": [None, 1.5]},
            list_=["a"],
            int64=0,
            string="",
        )
        assert kinds.well_known(known) == known
        assert kinds.wrapped(2**63 - 1) == 2**63 - 1


def awkward_names() -> None:
    inner = awk.EverythingInnerInner(type=awk.EverythingInnerInnerType.class_, self=-(2**63))
    outer = awk.EverythingInner(inner=inner, inners=[inner])
    sent = awk.Everything(
        class_=outer,
        def_={"": outer, 'a "b"': awk.EverythingInner(inner=awk.EverythingInnerInner())},
        lambda_={-(2**63): b"\0", 0: b""},
        range={True: awk.Error.mro_, False: awk.Error.ERROR_5},
        func={2**32 - 1: math.inf},
        import_=[awk.Error.None_, awk.Error("7")],
        with_=inner,
        int_=0,
        str_="",
        bytes_=b"",
        error=awk.Error.ERROR_UNSPECIFIED,
        int64=2**63 - 1,
        uint64=2**64 - 1,
        id=1,
        code=404,
        float_=-(2**31),
        double=0.5,
        wrapped_double=-0.0,
        wrapped_uint64=2**64 - 1,
        wrapped_bool=False,
        wrapped_string="",
        wrapped_bytes=b"",
        wrapped_list=[0, -1],
        datetime_=datetime.datetime(9999, 12, 31, 23, 59, 59, 999_999, datetime.timezone.utc),
        time=[datetime.timedelta(microseconds=-1)],
        dict_={"then": [None, {"a": True}]},
        any="text",
        list_=[1.5, "a"],
        typing_="a,bC.d",
        empty=awk.Empty(),
        dataclasses_={"@type": "type.googleapis.com/awkward.Class", "class": "x"},
        abc="odd",
        send="a",
        close="b",
        then="c",
        constructor="d",
        init="e",
        to_json="f",
        _5="g",
        url_path="h",
        metadata="i",
    )
    with awk.Portico() as portico:
        client = portico.awkward
        assert client.call(sent) == sent, client.call(sent)
        assert client.import_(awk.Everything(go=0)) == awk.Everything(go=0)
        assert client.class_(awk.AwkwardClass(class_="x")).class_ == "x"
        deep = awk.Type(interface=awk.Type(package=awk.AwkwardClass_(type="x")))
        assert client.func(deep) == deep
        assert client.close() == awk.Empty()
        assert client.constructor(awk.Client(client=awk.Client())) == awk.Client(client=awk.Client())
        thenable = awk.Promise(then=awk.Portico_(socket=awk.BidiStream_(send=awk.Error.ERROR_CLASS)))
        assert client.then(thenable) == thenable
        tree = awk.Tree(children=[awk.Tree()], by_name={"": awk.Tree()})
        assert client.typing_(tree) == tree
        with client.contextlib_() as trees:
            trees.send(tree)
            assert next(trees) == tree
        assert list(client.bind(awk.Portico_())) == [awk.Portico_()]
        with client.send() as everything:
            everything.send(sent)
            everything.close_send()
            assert list(everything) == [sent]
        assert client.recv([awk.Everything(id=1), sent]) == sent
        assert client.int_(2**63 - 1) == 2**63 - 1
        assert client.value({"a": [1.5]}) == {"a": [1.5]}
        assert client.time(sent.datetime_ or datetime.datetime.min) == sent.datetime_
        assert client.default.default(awk.AwkwardClass(class_="y")).class_ == "y"


def raw_bytes() -> None:
    with studio_client.Portico() as portico:
        studio = portico.studio
        assert studio.upload(studio_client.HttpBody("image/png", b"123")).content_type == "image/png"
        assert studio.store(studio_client.HttpBody("video/mp4", b"123")).bytes_ == 3
        studio.add(studio_client.AddRequest(title="Bob", file=b"\0\xff"))
        assert studio.show(studio_client.ShowRequest(title="Bob")) == studio_client.HttpBody("image/png", b"\0\xff")


def errors_and_deadlines() -> None:
    with probe_client.Portico() as portico:
        detail = probe_client.Failure(
            code=9, message="not now", detail_type="type.googleapis.com/google.rpc.ErrorInfo", detail_value=b"\n\1A"
        )
        error = error_of(lambda: portico.probe.fail(detail), probe_client.PorticoError)
        assert (error.id, error.code, error.detail, error.status) == ("probe", 400, "not now", "Bad Request"), error
        assert error.details == [{"@type": "type.googleapis.com/google.rpc.ErrorInfo", "reason": "A", "domain": "", "metadata": {}}]
        assert error.request_id
        late = error_of(lambda: portico.probe.hang(timeout=0.3), probe_client.PorticoError)
        assert (late.id, late.code) == ("probe", 504), late
        assert 0 < portico.probe.tell(timeout=20.0).time_left <= 20_000
    with helloworld_client.Portico(token="pta_wrong") as wrong:
        refused = error_of(lambda: list(wrong.helloworld.stream()), helloworld_client.PorticoError)
        assert refused.code == 401, refused


def retries() -> None:
    for failure, times in (("busy", 3), ("limited", 2), ("broken", 2)):
        with probe_client.Portico(f"{FAULTY}/{failure}/python") as portico:
            portico.probe.tell()
            error = error_of(portico.probe.call, probe_client.PorticoError)
            assert error.code in (503, 429), error
    with probe_client.Portico(f"{FAULTY}/used-up/python") as portico:
        portico.probe.call()
    with probe_client.Portico(f"{FAULTY}/used-up-for-long/python") as portico:
        assert error_of(portico.probe.call, probe_client.PorticoError).retry_after == 3600
    with probe_client.Portico(f"{FAULTY}/busy-for-long/python") as portico:
        assert error_of(portico.probe.tell, probe_client.PorticoError).retry_after == 3600
    with probe_client.Portico(f"{FAULTY}/no-portico/python") as portico:
        assert "not as Portico does" in error_of(portico.probe.tell, probe_client.PorticoError).detail
    for status in ("no-content", "reset-content"):
        with probe_client.Portico(f"{FAULTY}/{status}/python") as portico:
            assert portico.probe.call() == probe_client.Fields()
    with probe_client.Portico("http://127.0.0.1:1") as portico:
        error = error_of(portico.probe.call, probe_client.PorticoError)
        assert error.never_sent and error.code == 503, error
    with probe_client.Portico(f"{FAULTY}/cut/python") as portico:
        messages: list[probe_client.Nothing] = []

        def read() -> None:
            messages.extend(portico.probe.count())

        assert error_of(read, probe_client.PorticoError).code == 503


def token_functions() -> None:
    asked: list[str | None] = []

    def give(refused: str | None) -> str:
        asked.append(refused)
        return "pta_wrong" if refused is None else os.environ["PORTICO_TOKEN"]

    with studio_client.Portico(token=give) as studio, studio.studio.talk() as talk:
        talk.send(studio_client.Line(text="Hello"))
        assert next(talk).text == "Hello to you"
    with probe_client.Portico(token=give) as portico:
        asked.clear()
        assert portico.probe.tell().caller == "admin"
        assert portico.probe.tell().caller == "admin"
        assert asked == [None, "pta_wrong"], asked
    always_wrong = probe_client.Portico(token=lambda refused: "pta_wrong")
    assert error_of(always_wrong.probe.tell, probe_client.PorticoError).code == 401
    never = threading.Event()
    hangs = probe_client.Portico(token=lambda refused: str(never.wait()))
    late = error_of(lambda: hangs.probe.tell(timeout=0.3), probe_client.PorticoError)
    assert (late.code, late.detail) == (504, "The token function gave no token in time"), late
    fails = probe_client.Portico(token=lambda refused: os.environ["NO_SUCH_VARIABLE"])
    failed = error_of(fails.probe.tell, probe_client.PorticoError)
    assert (failed.code, failed.detail) == (401, "The token function failed: 'NO_SUCH_VARIABLE'"), failed


async def awaited_tokens() -> None:
    async def give(refused: str | None) -> str:
        await asyncio.sleep(0)
        return "pta_wrong" if refused is None else os.environ["PORTICO_TOKEN"]

    async def hang(refused: str | None) -> str:
        await asyncio.Event().wait()
        return ""

    async with probe_client.AsyncPortico(token=give) as portico:
        assert (await portico.probe.tell()).caller == "admin"
    async with probe_client.AsyncPortico(token=lambda refused: os.environ["PORTICO_TOKEN"]) as portico:
        assert (await portico.probe.tell()).caller == "admin"
    async with probe_client.AsyncPortico(token=hang) as portico:
        try:
            await portico.probe.tell(timeout=0.3)
            raise AssertionError("the deadline did not end the wait for a token")
        except probe_client.PorticoError as late:
            assert (late.code, late.detail) == (504, "The token function gave no token in time"), late


def sent_streams() -> None:
    ticks = [feed_client.Tick(number=number) for number in (1, 2)]
    with feed_client.Portico() as portico:
        feed = portico.feed
        assert feed.collect(iter(ticks)) == feed_client.Sum(count=2, total=3)
        assert feed.collect([]) == feed_client.Sum()
        with feed.chat() as chat:
            for tick in ticks:
                chat.send(tick)
                assert next(chat) == tick
            chat.close_send()
            assert list(chat) == []
            assert "ended the call" in str(error_of(lambda: chat.send(ticks[0]), EOFError))
        with feed.chat() as chat:  # More messages than fit into any buffer, with two threads.
            padding = "x" * 10_000

            def send() -> None:
                for number in range(2_000):
                    chat.send(feed_client.Tick(number=number, padding=padding))
                chat.close_send()

            sending = threading.Thread(target=send)
            sending.start()
            assert [tick.number for tick in chat] == list(range(2_000))
            sending.join()
        sent = itertools.count()
        many = (feed_client.Tick(padding="x" * 64 * 1024) for _ in sent)
        late = error_of(lambda: feed.stall(many, timeout=1), feed_client.PorticoError)
        assert (late.id, late.code) == ("feed", 504), late
        assert next(sent) < 512, "sent faster than the service took them"
        broken = (feed_client.Tick(number=1 // number) for number in (1, 0))
        error_of(lambda: feed.collect(broken), ZeroDivisionError)
    with feed_client.Portico(token="pta_wrong") as wrong:
        refused = error_of(lambda: wrong.feed.collect(ticks), feed_client.PorticoError)
        assert refused.code == 401 and refused.request_id, refused
    with feed_client.Portico("http://127.0.0.1:1") as nowhere:
        assert error_of(lambda: nowhere.feed.collect(ticks), feed_client.PorticoError).never_sent


def limits() -> None:
    def faulty(failure: str) -> feed_client.Portico:
        return feed_client.Portico(f"{FAULTY}/{failure}/python", retries=0)

    def read(portico: feed_client.Portico, into: list[feed_client.Tick]) -> None:
        with portico.feed.chat() as chat:
            chat.send(feed_client.Tick())
            into.append(next(chat))
            chat.send(feed_client.Tick())
            into.extend(chat)

    with faulty("endless") as portico:
        error = error_of(lambda: list(portico.feed.count()), feed_client.PorticoError)
        assert error.code == 503 and "more than 64 MiB" in error.detail, error
    with faulty("flood") as portico, portico.feed.chat() as chat:
        chat.send(feed_client.Tick())
        next(chat)
        time.sleep(0.5)  # python.outside.ts checks how much the gateway could send in this time.
    with faulty("looks-like-an-error") as portico:
        answers: list[feed_client.Tick] = []
        error = error_of(lambda: read(portico, answers), feed_client.PorticoError)
        assert (error.id, error.code, [tick.number for tick in answers]) == ("last", 503, [0, 0, 2]), (error, answers)
    feed_client._MAX_SILENCE = 0.6
    for failure in ("mute", "silent"):
        with faulty(failure) as portico:
            error = error_of(lambda: list(portico.feed.count(timeout=60)), feed_client.PorticoError)
            assert error.code == 503, error
    with faulty("silent") as portico:
        error = error_of(lambda: read(portico, []), feed_client.PorticoError)
        assert error.code == 503 and "ping timeout" in error.detail, error
    feed_client._MAX_SILENCE = 45.0


async def awaited_streams() -> None:
    async def ticks() -> typing.AsyncIterator[feed_client.Tick]:
        for number in (1, 2):
            yield feed_client.Tick(number=number)

    async with feed_client.AsyncPortico() as portico:
        feed = portico.feed
        assert await feed.collect(ticks()) == feed_client.Sum(count=2, total=3)
        assert await feed.collect([feed_client.Tick(number=5)]) == feed_client.Sum(count=1, total=5)
        async with feed.chat() as chat:
            async for tick in ticks():
                await chat.send(tick)
                assert await chat.__anext__() == tick
            await chat.close_send()
            assert [tick async for tick in chat] == []
        stalled = asyncio.create_task(feed.stall(feed_client.Tick(padding="x" * 65_536) for _ in itertools.count()))
        await asyncio.sleep(0.2)
        stalled.cancel()
        try:
            await asyncio.wait_for(stalled, 10)
            raise AssertionError("the call was not cancelled")
        except asyncio.CancelledError:
            pass


async def awaited() -> None:
    async with helloworld_client.AsyncPortico() as portico:
        assert await portico.helloworld.call(helloworld_client.CallRequest(name="Ada")) == ADA
        request = helloworld_client.StreamRequest(name="Ada", messages=3)
        assert [answer async for answer in portico.helloworld.stream(request)] == [ADA] * 3
    async with probe_client.AsyncPortico(f"{FAULTY}/busy/asyncio") as portico_:
        await portico_.probe.tell()
    async with probe_client.AsyncPortico() as probe:
        try:
            await probe.probe.hang(timeout=0.3)
            raise AssertionError("the deadline did not end the call")
        except probe_client.PorticoError as late:
            assert late.code == 504, late
        task = asyncio.create_task(probe.probe.hang())
        await asyncio.sleep(0)
        task.cancel()
        try:
            await task
            raise AssertionError("the call was not cancelled")
        except asyncio.CancelledError:
            pass
        assert (await probe.probe.tell()).caller == "admin"


def rules() -> None:
    everyone = auth_client.CreateRuleRequest(
        rule=auth_client.Rule(id="accounts", access=auth_client.Access.GRANTED, scope="*", resource="*:*:*")
    )
    with auth_client.Portico() as portico:
        portico.auth.rules.create(everyone)
        portico.auth.rules.delete(auth_client.DeleteRuleRequest(id="default"))
        assert [rule.id for rule in portico.auth.rules.list().rules] == ["accounts"]
    with helloworld_client.Portico(token="") as nobody:
        error = error_of(nobody.helloworld.call, helloworld_client.PorticoError)
        assert error.detail == "Unauthorized call made to helloworld:Helloworld.Call", error


for part in (calls_and_streams, every_type, awkward_names, raw_bytes, errors_and_deadlines, retries):
    part()
    print(part.__name__)
for part in (token_functions, sent_streams, limits):
    part()
    print(part.__name__)
asyncio.run(awaited_tokens())
print("awaited_tokens")
asyncio.run(awaited_streams())
print("awaited_streams")
asyncio.run(awaited())
print("awaited")
rules()
print("rules")
