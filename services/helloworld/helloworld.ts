/** Greets people: the smallest whole service, and the one to copy. */
import { Code, StatusError } from "../../src/errors.js";
import { descriptors } from "../../src/gen/descriptors.js";
import { type CallResponse, HelloworldService, type StreamRequest } from "../../src/gen/helloworld/helloworld.js";
import { part, type Service } from "../../src/rpc/service.js";

const MOST_MESSAGES = 10_000n;

function greet(name: string): CallResponse {
  const greeting = `Hello ${name}`;
  return { message: greeting, msg: greeting };
}

async function* stream({ name, messages }: StreamRequest): AsyncGenerator<CallResponse> {
  if (messages < 0n || messages > MOST_MESSAGES) {
    throw new StatusError(Code.INVALID_ARGUMENT, `messages: must be from 0 to ${MOST_MESSAGES}, got ${messages}`);
  }
  for (let sent = 0n; sent < messages; sent++) yield greet(name);
}

export const helloworld: Service = {
  name: "helloworld",
  descriptors,
  parts: [part("helloworld.Helloworld", HelloworldService, { call: ({ name }) => greet(name), stream })],
};
