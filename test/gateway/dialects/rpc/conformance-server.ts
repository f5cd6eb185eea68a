/**
 * A server for connectrpc's conformance runner: Portico's port with the real handler, in front of
 * the conformance service that the runner's authors wrote with grpc-go. It reads a
 * ServerCompatRequest from standard input, and writes its address to standard output. Both messages
 * have their length in front.
 *
 *     node server.js <grpcserver> <descriptors of its service> <data folder>
 */
import { spawn } from "node:child_process";
import { mkdtempSync, readFileSync } from "node:fs";
import { join } from "node:path";
import type { Readable } from "node:stream";
import { BinaryReader, BinaryWriter, WireType } from "@bufbuild/protobuf/wire";
import type { Channel } from "../../../../src/rpc/channel.js";
import { Http2Channel } from "../../../../src/rpc/http2/channel.js";
import { deploy, login, post } from "../../deployment.js";

const [grpcServer = "", descriptors = "", folder = ""] = process.argv.slice(2);

/** Fields of ServerCompatRequest, and of its TLSCreds. */
interface Wanted {
  maxMessage: number;
  /**
   * The certificate authority of the clients' certificates, PEM; undefined if clients send no
   * certificate.
   */
  ca?: Buffer | undefined;
  /** The certificate and its key for the port, PEM; undefined without TLS. */
  cert?: Buffer;
  key?: Buffer;
}

function readRequest(message: Uint8Array): Wanted {
  const wanted: Wanted = { maxMessage: 0 };
  const reader = new BinaryReader(message);
  while (reader.pos < reader.len) {
    const [field, type] = reader.tag();
    if (field === 5) wanted.ca = Buffer.from(reader.bytes());
    else if (field === 6) wanted.maxMessage = reader.uint32();
    else if (field === 7) Object.assign(wanted, readCredentials(reader.bytes()));
    else reader.skip(type, field);
  }
  return wanted;
}

function readCredentials(message: Uint8Array): Pick<Wanted, "cert" | "key"> {
  const read: Pick<Wanted, "cert" | "key"> = {};
  const reader = new BinaryReader(message);
  while (reader.pos < reader.len) {
    const [field, type] = reader.tag();
    if (field === 1) read.cert = Buffer.from(reader.bytes());
    else if (field === 2) read.key = Buffer.from(reader.bytes());
    else reader.skip(type, field);
  }
  return read;
}

/** The first message of a stream, which has its length in front. */
async function readSized(stream: Readable): Promise<Buffer> {
  const chunks: Buffer[] = [];
  for await (const chunk of stream.iterator({ destroyOnReturn: false })) {
    chunks.push(chunk);
    const all = Buffer.concat(chunks);
    if (all.length >= 4 && all.length >= 4 + all.readUInt32BE(0)) return all.subarray(4, 4 + all.readUInt32BE(0));
  }
  throw new Error("the message is incomplete");
}

/** A message with its length in front. */
function sized(message: Uint8Array): Buffer {
  const prefix = Buffer.alloc(4);
  prefix.writeUInt32BE(message.length);
  return Buffer.concat([prefix, message]);
}

/** Starts the service behind the gateway. @returns its port */
async function startService(maxMessage: number): Promise<number> {
  const child = spawn(grpcServer, ["-port", "0"], { stdio: ["pipe", "pipe", "inherit"] });
  process.once("exit", () => child.kill());
  for (const signal of ["SIGINT", "SIGTERM"]) process.once(signal, () => process.exit());
  const request = new BinaryWriter()
    .tag(1, WireType.Varint)
    .int32(2) // gRPC
    .tag(2, WireType.Varint)
    .int32(2) // over HTTP/2
    .tag(6, WireType.Varint)
    .uint32(maxMessage)
    .finish();
  child.stdin.write(sized(request));
  const reader = new BinaryReader(await readSized(child.stdout));
  while (reader.pos < reader.len) {
    const [field, type] = reader.tag();
    if (field === 2) return reader.uint32();
    reader.skip(type, field);
  }
  throw new Error("grpcserver named no port");
}

/**
 * Removes Portico's own deadline. If the client sets no deadline, Portico gives a unary call 30 s,
 * and sends this deadline to the service. The runner would take it for a deadline of the client.
 * The runner's own deadlines are shorter than 20 s.
 */
function withoutOwnDeadline(channel: Channel): Channel {
  return {
    open({ deadlineMonotonicMs: deadline, ...start }, listener) {
      const isOwn = deadline !== undefined && deadline > performance.now() + 20_000;
      return channel.open(isOwn ? start : { ...start, deadlineMonotonicMs: deadline }, listener);
    },
    get state() {
      return channel.state;
    },
    close: () => channel.close(),
  };
}

const { maxMessage, ...tls } = readRequest(await readSized(process.stdin));
const service = await startService(maxMessage);
const it = await deploy(mkdtempSync(join(folder, "data-")), {
  flags: { maxBody: String(maxMessage || 4_194_304) },
  level: "silent",
  tls: tls.cert === undefined ? undefined : tls,
  connect: (address, verify, ip) => withoutOwnDeadline(new Http2Channel(address, { verify, ip })),
});
it.add({
  service: "conformance",
  addresses: [`127.0.0.1:${service}`],
  descriptors: readFileSync(descriptors),
  grpcServices: ["connectrpc.conformance.v1.ConformanceService"],
  metadata: ["*"],
});
const admin = await login(it.handler, "admin");
await post(
  it.handler,
  "/v1/auth/rules/create",
  { rule: { id: "conformance", scope: "<public>", resource: "service:conformance:*", access: "GRANTED", priority: 1 } },
  admin,
);
const { port } = it.gateway.address;
const response = new BinaryWriter()
  .tag(1, WireType.LengthDelimited)
  .string("127.0.0.1")
  .tag(2, WireType.Varint)
  .uint32(port)
  .tag(3, WireType.LengthDelimited)
  .bytes(tls.cert ?? Buffer.alloc(0))
  .finish();
process.stdout.write(sized(response));
process.once("SIGTERM", () => process.exit());
