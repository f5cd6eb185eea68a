/** A name server on UDP that knows the SRV records of a test (RFC 1035, RFC 2782). */
import { createSocket } from "node:dgram";
import { Resolver } from "node:dns/promises";
import { once } from "node:events";
import type { Test } from "tap";

export interface SrvRecord {
  readonly priority: number;
  readonly weight: number;
  readonly port: number;
  readonly host: string;
}

const HEADER = 12;
const SRV = 33;
const NAME_ERROR = 3;

/**
 * Starts the server.
 * @param records by name; may be changed later
 * @returns a resolver that asks it
 */
export async function dnsServer(t: Test, records: Map<string, readonly SrvRecord[]>): Promise<Resolver> {
  const socket = createSocket("udp4");
  socket.on("message", (query, { port, address }) => socket.send(responseTo(query, records), port, address));
  socket.bind(0, "127.0.0.1");
  await once(socket, "listening");
  t.teardown(() => socket.close());
  const resolver = new Resolver({ timeout: 1_000, tries: 2 });
  resolver.setServers([`127.0.0.1:${socket.address().port}`]);
  return resolver;
}

function responseTo(query: Buffer, records: ReadonlyMap<string, readonly SrvRecord[]>): Buffer {
  let at = HEADER;
  const labels: string[] = [];
  for (let length = query[at] as number; length > 0; length = query[at] as number) {
    labels.push(query.toString("latin1", at + 1, at + 1 + length));
    at += length + 1;
  }
  const question = query.subarray(HEADER, at + 5);
  const isSrv = question.readUInt16BE(question.length - 4) === SRV;
  const found = isSrv ? records.get(labels.join(".").toLowerCase()) : undefined;
  const header = Buffer.alloc(HEADER);
  query.copy(header, 0, 0, 2);
  header.writeUInt16BE(0x8180 | (found === undefined ? NAME_ERROR : 0), 2);
  header.writeUInt16BE(1, 4);
  header.writeUInt16BE(found?.length ?? 0, 6);
  return Buffer.concat([header, question, ...(found ?? []).map(answerOf)]);
}

function answerOf({ priority, weight, port, host }: SrvRecord): Buffer {
  const name = host.split(".").map((label) => Buffer.concat([Buffer.of(label.length), Buffer.from(label)]));
  const target = Buffer.concat([...name, Buffer.of(0)]);
  const fixed = Buffer.alloc(18);
  fixed.writeUInt16BE(0xc00c, 0); // The name of the question.
  fixed.writeUInt16BE(SRV, 2);
  fixed.writeUInt16BE(1, 4);
  fixed.writeUInt32BE(1, 6);
  fixed.writeUInt16BE(6 + target.length, 10);
  fixed.writeUInt16BE(priority, 12);
  fixed.writeUInt16BE(weight, 14);
  fixed.writeUInt16BE(port, 16);
  return Buffer.concat([fixed, target]);
}
