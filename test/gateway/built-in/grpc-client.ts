/** A client of the gateway's built-in gRPC services, at the HTTP port. */
import { fromBinary } from "@bufbuild/protobuf";
import { FileDescriptorProtoSchema } from "@bufbuild/protobuf/wkt";
import type { Test } from "tap";
import type { Metadata } from "../../../src/call/metadata.js";
import {
  type ServerReflectionRequest,
  type ServerReflectionResponse,
  ServerReflectionService,
} from "../../../src/gen/grpc/reflection/v1/reflection.js";
import { stream } from "../../../src/rpc/client.js";
import { Http2Channel } from "../../../src/rpc/http2/channel.js";
import { inTime } from "../../support/until.js";
import type { Deployment } from "../deployment.js";

export type Asked = NonNullable<ServerReflectionRequest["messageRequest"]>;
export type Answered = NonNullable<ServerReflectionResponse["messageResponse"]>;

/** A channel to the HTTP port. */
export function channelOf(t: Test, { gateway }: Deployment): Http2Channel {
  const channel = new Http2Channel(gateway.address);
  t.teardown(() => channel.close());
  return channel;
}

export function bearer(token: string): Metadata {
  return [["authorization", `Bearer ${token}`]];
}

/** One stream of reflection. */
export class Reflection {
  readonly #stream;
  readonly #responses: AsyncIterator<ServerReflectionResponse>;

  constructor(channel: Http2Channel, metadata: Metadata = []) {
    this.#stream = stream(channel, ServerReflectionService.serverReflectionInfo, { metadata });
    this.#responses = this.#stream.responses[Symbol.asyncIterator]();
  }

  /** @throws (rejects) the error with which the stream ended */
  async ask(messageRequest: Asked): Promise<Answered> {
    this.#stream.send({ host: "", messageRequest });
    const { value } = await inTime(this.#responses.next(), `an answer to ${JSON.stringify(messageRequest)}`);
    if (value?.messageResponse === undefined) throw new Error("there is no answer");
    return value.messageResponse;
  }

  /** The end of the stream, when no more requests are sent. */
  async ended(): Promise<unknown> {
    return inTime(this.#responses.next(), "the end of a reflection stream").catch((error) => error);
  }

  async services(): Promise<string[]> {
    const response = await this.ask({ $case: "listServices", value: "" });
    return response.$case === "listServicesResponse" ? response.value.service.map(({ name }) => name) : [];
  }

  /** Names of the files, or the code of the error. */
  async files(messageRequest: Asked): Promise<string[] | number> {
    const response = await this.ask(messageRequest);
    if (response.$case === "errorResponse") return response.value.errorCode;
    return response.$case === "fileDescriptorResponse" ? response.value.fileDescriptorProto.map(nameOf) : [];
  }

  /** The messages that a file declares. */
  async fileNamed(name: string): Promise<{ readonly messageTypes: readonly string[] }> {
    const response = await this.ask(file(name));
    if (response.$case !== "fileDescriptorResponse") throw new Error(`there is no ${name}`);
    const [bytes] = response.value.fileDescriptorProto;
    const { messageType } = fromBinary(FileDescriptorProtoSchema, bytes ?? Buffer.alloc(0));
    return { messageTypes: messageType.map((message) => message.name) };
  }

  close(): void {
    this.#stream.cancel();
  }
}

export function nameOf(file: Uint8Array): string {
  return fromBinary(FileDescriptorProtoSchema, file).name;
}

export const symbol = (value: string): Asked => ({ $case: "fileContainingSymbol", value });
export const file = (value: string): Asked => ({ $case: "fileByFilename", value });
