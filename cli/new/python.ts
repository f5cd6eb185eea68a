/** The files of a new service in Python, as text. */
import { filled, joined, protoOf } from "./proto.js";

/** The versions with which the service was tried. */
const REQUIREMENTS = ["grpcio-tools==1.85.1", "grpcio-reflection==1.85.1"];

/** @returns texts by path. */
export function pythonFilesOf(name: string): ReadonlyMap<string, string> {
  const { json, readme } = joined(name);
  return new Map([
    [`proto/${name}.proto`, protoOf(name)],
    ["service.py", filled(SERVICE, name)],
    ["test_service.py", filled(TESTS, name)],
    ["requirements.txt", `${REQUIREMENTS.join("\n")}\n`],
    ["portico.json", json],
    [".gitignore", ".venv/\n__pycache__/\n.portico/\n"],
    ["README.md", filled(README, name) + readme],
  ]);
}

const SERVICE = `"""The service: one method for each endpoint in proto/{{name}}.proto."""

import signal
import sys
import threading
from concurrent.futures import ThreadPoolExecutor

import grpc
from grpc_reflection.v1alpha import reflection

messages, services = grpc.protos_and_services("proto/{{name}}.proto")

# Each running call has a thread.
MAX_CALLS = 64


def account_of(context):
    """The account that calls; empty for a caller who is not logged in."""
    return dict(context.invocation_metadata()).get("x-portico-account", "")


def check(request, context):
    # The message of INVALID_ARGUMENT begins with the name of the field. Callers see it.
    if not request.name:
        context.abort(grpc.StatusCode.INVALID_ARGUMENT, "name: must not be empty")


class {{Service}}(services.{{Service}}Servicer):
    def Call(self, request, context):
        check(request, context)
        # A call to another service must end before this one: timeout=context.time_remaining()
        return messages.CallResponse(message=f"Hello {request.name}", account=account_of(context))

    def Repeat(self, request, context):
        check(request, context)
        # Set when the caller has gone, or when the deadline has passed.
        ended = threading.Event()
        if not context.add_callback(ended.set):
            return
        while not ended.is_set():
            yield messages.CallResponse(message=f"Hello {request.name}", account=account_of(context))
            ended.wait(1)


def serve(address):
    """Starts a server. Returns it with its port."""
    server = grpc.server(ThreadPoolExecutor(MAX_CALLS), maximum_concurrent_rpcs=MAX_CALLS)
    services.add_{{Service}}Servicer_to_server({{Service}}(), server)
    # Portico reads the contract by reflection.
    reflection.enable_server_reflection(["{{name}}.{{Service}}"], server)
    port = server.add_insecure_port(address)
    server.start()
    return server, port


if __name__ == "__main__":
    server, port = serve(sys.argv[1] if len(sys.argv) > 1 else "127.0.0.1:9000")
    print(f"listening on port {port}", flush=True)
    # At SIGTERM, calls in flight have ten seconds to end.
    signal.signal(signal.SIGTERM, lambda *_: server.stop(10))
    server.wait_for_termination()
`;

const TESTS = `"""python -m unittest"""

import unittest

import grpc

from service import messages, serve, services


class {{Service}}Test(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.server, port = serve("127.0.0.1:0")
        cls.channel = grpc.insecure_channel(f"127.0.0.1:{port}")
        cls.stub = services.{{Service}}Stub(cls.channel)

    @classmethod
    def tearDownClass(cls):
        cls.channel.close()
        cls.server.stop(0).wait()

    def test_greets_a_name_and_knows_the_caller(self):
        # Portico sends this metadata, and lets no caller set it.
        response = self.stub.Call(messages.CallRequest(name="Ada"), metadata=[("x-portico-account", "ada")])
        self.assertEqual((response.message, response.account), ("Hello Ada", "ada"))

    def test_refuses_an_empty_name(self):
        with self.assertRaises(grpc.RpcError) as refused:
            self.stub.Call(messages.CallRequest())
        self.assertEqual(refused.exception.code(), grpc.StatusCode.INVALID_ARGUMENT)
        self.assertEqual(refused.exception.details(), "name: must not be empty")

    def test_a_stream_ends_at_the_deadline(self):
        responses = self.stub.Repeat(messages.CallRequest(name="Ada"), timeout=0.5)
        self.assertEqual(next(responses).message, "Hello Ada")
        with self.assertRaises(grpc.RpcError) as late:
            next(responses)
        self.assertEqual(late.exception.code(), grpc.StatusCode.DEADLINE_EXCEEDED)
`;

const README = `# {{name}}

A service of Portico in Python: gRPC inside, called as JSON from outside.

    python3 -m venv .venv
    .venv/bin/pip install -r requirements.txt
    .venv/bin/python service.py

In another terminal:

    portico dev        # a Portico, which finds the service by portico.json

    $ curl 'http://127.0.0.1:8080/{{name}}?name=Ada'
    {"message":"Hello Ada","account":""}

| file | what it is |
|---|---|
| \`proto/{{name}}.proto\` | what the service offers |
| \`service.py\` | what it does |
| \`test_service.py\` | its tests: \`.venv/bin/python -m unittest\` |
| \`portico.json\` | where \`portico dev\` finds it |

After a change, start \`service.py\` again. Portico reads the new contract by itself.

`;
