/** Greets people. The smallest complete service, and the one to copy. */
import { type CallResponse, HelloworldService, type StreamRequest } from "../../src/gen/helloworld/helloworld.js";
import { invalidArgument, part } from "../../src/kit/index.js";

const MAX_MESSAGES = 10_000n;

function greet(name: string): CallResponse {
  const greeting = `Hello ${name}`;
  return { message: greeting, msg: greeting };
}

async function* stream({ name, messages }: StreamRequest): AsyncGenerator<CallResponse> {
  if (messages < 0n || messages > MAX_MESSAGES) {
    throw invalidArgument(`messages: must be from 0 to ${MAX_MESSAGES}, got ${messages}`);
  }
  for (let sent = 0n; sent < messages; sent++) yield greet(name);
}

/** The service `helloworld`. */
export const parts = [part(HelloworldService, { call: ({ name }) => greet(name), stream })];
