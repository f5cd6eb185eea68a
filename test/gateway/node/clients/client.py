"""Calls each path of the test server with httpx, and prints one line for each result.

Over HTTP/2 if an argument says so.
"""

import sys

import httpx

MIB = 1024 * 1024


def shown(text: str) -> str:
    return f"{len(text)} bytes" if len(text) > 100 else text


http2 = sys.argv[2:] == ["HTTP/2"]
limits = httpx.Limits(max_connections=1)

with httpx.Client(base_url=sys.argv[1], timeout=60, limits=limits, http2=http2, http1=not http2) as client:

    def call(name: str, method: str, path: str, **more) -> None:
        response = client.request(method, path, **more)
        print(name, response.status_code, shown(response.text))

    call("hello", "GET", "/hello")
    call("length", "POST", "/length", content=b"x" * 3 * MIB)
    call("chunks", "POST", "/length", content=(b"x" * 1024 for _ in range(1024)))
    call("stream", "GET", "/stream")
    call("continue", "POST", "/length", content=b"hello", headers={"Expect": "100-continue"})
    call("missing", "GET", "/missing")
    call("head", "HEAD", "/hello")
    call("again", "GET", "/hello")
    call("large", "POST", "/length", content=b"x" * 5 * MIB)
