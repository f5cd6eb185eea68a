/**
 * Reads the contract of a service by gRPC server reflection, over HTTP/1.1 in the form of Connect
 * with JSON: the questions are one request, and the responses one body
 * (https://connectrpc.com/docs/protocol/#streaming-rpcs).
 */
import { CommandError } from "../terminal/exit.js";

export const REFLECTION_PATH = "/grpc.reflection.v1.ServerReflection/ServerReflectionInfo";
export const REFLECTION_HEADERS = { "content-type": "application/connect+json", "connect-protocol-version": "1" };

/** Servers have these beside their own gRPC services. */
const INFRASTRUCTURE = /^grpc\.(?:reflection|health|channelz)\./;
/** Bytes before each message: flags, and the length. */
const PREFIX = 5;
/** The flag of the last message, which tells whether the call failed. */
const END = 2;

interface Reflected {
  readonly listServicesResponse?: { readonly service?: readonly { readonly name: string }[] };
  readonly fileDescriptorResponse?: { readonly fileDescriptorProto: readonly string[] };
  readonly errorResponse?: { readonly errorMessage: string };
  readonly error?: { readonly message?: string; readonly code: string };
}

/**
 * The files of a service's contract with all imports, each a google.protobuf.FileDescriptorProto.
 * @param post sends a body, and resolves with the body of the response
 * @throws {CommandError} when the caller sees no such service.
 */
export async function reflect(service: string, post: (body: Uint8Array) => Promise<Buffer>): Promise<Uint8Array[]> {
  const ask = async (questions: readonly object[]) => responsesIn(await post(Buffer.concat(questions.map(enveloped))));
  const [listed] = await ask([{ listServices: "*" }]);
  const names = (listed?.listServicesResponse?.service ?? []).map(({ name }) => name);
  const own = names.filter((name) => !INFRASTRUCTURE.test(name));
  if (own.length === 0) throw new CommandError(`There is no service ${service} that you may call`);
  const described = await ask(own.map((name) => ({ fileContainingSymbol: name })));
  return described.flatMap(({ fileDescriptorResponse }) =>
    (fileDescriptorResponse?.fileDescriptorProto ?? []).map((file) => Buffer.from(file, "base64")),
  );
}

function enveloped(message: object): Buffer {
  const json = Buffer.from(JSON.stringify(message));
  const prefix = Buffer.alloc(PREFIX);
  prefix.writeUInt32BE(json.length, 1);
  return Buffer.concat([prefix, json]);
}

function responsesIn(body: Buffer): Reflected[] {
  const responses: Reflected[] = [];
  for (let start = 0; start + PREFIX <= body.length; ) {
    const end = start + PREFIX + body.readUInt32BE(start + 1);
    const response = JSON.parse(body.toString("utf8", start + PREFIX, end)) as Reflected;
    const message = response.error?.message ?? response.errorResponse?.errorMessage ?? response.error?.code;
    if (message !== undefined) throw new CommandError(message);
    if (((body[start] ?? 0) & END) === 0) responses.push(response);
    start = end;
  }
  return responses;
}
