/**
 * The service of probe.proto. Messages that it only returns stay bytes, so that it can respond with
 * malformed ones.
 */
import { create, fromBinary, toBinary } from "@bufbuild/protobuf";
import { CLIENT_ADDRESS, CONTEXT } from "../../src/call/metadata.js";
import { readDescriptors } from "../../src/contract/endpoint.js";
import { type Code, StatusError } from "../../src/errors.js";
import { type BuiltInContext, part, type Service } from "../../src/rpc/service.js";
import { BYTES } from "../rpc/raw-service.js";
import { buildDescriptors } from "../support/descriptors.js";

const descriptors = buildDescriptors("test/gateway", "test/gateway/probe.proto");
const types = readDescriptors(descriptors);

function bytesOf(type: string, fields: Record<string, unknown>): Buffer {
  const schema = types.getMessage(type);
  if (schema === undefined) throw new Error(`no ${type}`);
  return Buffer.from(toBinary(schema, create(schema, fields)));
}

function fieldsOf(type: string, bytes: Buffer): Record<string, unknown> {
  const schema = types.getMessage(type);
  if (schema === undefined) throw new Error(`no ${type}`);
  return fromBinary(schema, bytes) as unknown as Record<string, unknown>;
}

const method = (path: string) => ({ path, requestStream: false, responseStream: false, ...BYTES }) as const;

const NOTHING = Buffer.alloc(0);

/**
 * Makes the service. `onCall` is called for every call, with its canonical name, and `onCancel` for
 * every cancelled call.
 */
export function createProbe(
  events: { onCall?: (endpoint: string) => void; onCancel?: (endpoint: string) => void } = {},
): Service {
  const heard =
    <T>(response: (request: Buffer, context: BuiltInContext) => T) =>
    (request: Buffer, context: BuiltInContext): T => {
      events.onCall?.(context.endpoint);
      return response(request, context);
    };
  const probe = {
    call: method("/probe.Probe/Call"),
    tell: method("/probe.Probe/Tell"),
    fail: method("/probe.Probe/Fail"),
    break: method("/probe.Probe/Break"),
    hang: method("/probe.Probe/Hang"),
    count: { ...method("/probe.Probe/Count"), responseStream: true as const },
  };
  return {
    name: "probe",
    descriptors,
    parts: [
      part(probe, {
        call: heard((request) => request),
        tell: heard((_request, context) => bytesOf("probe.Told", told(context))),
        fail: heard((request) => {
          const { code, message, detailType, detailValue } = fieldsOf("probe.Failure", request);
          const details =
            detailType === "" ? [] : [{ typeUrl: String(detailType), value: Buffer.from(detailValue as Uint8Array) }];
          throw new StatusError(code as Code, String(message), { details });
        }),
        break: heard(() => Buffer.from([0xff])),
        hang: heard((_request, { signal, endpoint }) => {
          return new Promise<Buffer>((resolve) => {
            signal.addEventListener("abort", () => {
              events.onCancel?.(endpoint);
              resolve(NOTHING);
            });
          });
        }),
        count: heard(async function* () {
          yield NOTHING;
        }),
      }),
      part({ call: method("/probe.Closed/Call") }, { call: heard(() => NOTHING) }),
      part({ call: method("/probe.Members/Call") }, { call: heard(() => NOTHING) }),
    ],
  };
}

/**
 * The value of metadata. Two values are replaced. A caller assertion changes every few seconds, and
 * a client has an address only over a socket.
 */
function shown(name: string, value: string): string {
  if (name === CONTEXT) return "signed";
  return name === CLIENT_ADDRESS && ["127.0.0.1", "192.0.2.1"].includes(value) ? "its address" : value;
}

function told({
  caller,
  namespace,
  clientAddress,
  metadata,
  deadlineMonotonicMs,
}: BuiltInContext): Record<string, unknown> {
  return {
    caller: caller?.account ?? "",
    namespace,
    clientAddress,
    metadata: Object.fromEntries(metadata.map(([name, value]) => [name, shown(name, String(value))])),
    timeLeft: BigInt(deadlineMonotonicMs === undefined ? 0 : Math.round(deadlineMonotonicMs - performance.now())),
  };
}
