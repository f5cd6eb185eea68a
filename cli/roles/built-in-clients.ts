/**
 * The clients of services that run in one process with the authority. Their calls stay in the
 * process if possible.
 */
import type { Caller } from "../../src/call/caller.js";
import { NO_METADATA } from "../../src/call/metadata.js";
import { DEFAULT_NAMESPACE } from "../../src/contract/names.js";
import { Clients } from "../../src/kit/clients.js";
import type { CallListener, CallStart, Channel, OutgoingCall } from "../../src/rpc/channel.js";
import type { Dispatcher } from "../../src/rpc/dispatch.js";
import type { InProcessChannel } from "../../src/rpc/in-process/channel.js";
import type { Transport } from "../../src/rpc/transport.js";

/**
 * The clients of a service of this process. The authority authorizes the service and its caller as
 * if the service were in another process, and the caller assertions that it issues pass the same
 * guard.
 * @param dispatcher handles the calls to every service of this process
 * @param inProcess a channel to the dispatcher
 */
export function clientsWithin(
  service: string,
  dispatcher: Dispatcher,
  inProcess: InProcessChannel,
  connect: Transport["connect"],
): Clients {
  const names = new Set(dispatcher.endpoints.map((endpoint) => endpoint.service));
  return new Clients({
    channel: new EnrolledChannel(service, dispatcher, inProcess),
    metadata: NO_METADATA,
    connect,
    local: (name) => (names.has(name) ? inProcess : undefined),
  });
}

/**
 * A channel to the authority and the registry. Its calls are the calls of an enrolled service,
 * without a token.
 */
class EnrolledChannel implements Channel {
  readonly #service: string;
  readonly #dispatcher: Dispatcher;
  readonly #channel: Channel;

  constructor(service: string, dispatcher: Dispatcher, channel: Channel) {
    this.#service = service;
    this.#dispatcher = dispatcher;
    this.#channel = channel;
  }

  get state(): Channel["state"] {
    return this.#channel.state;
  }

  open(start: CallStart, listener: CallListener): OutgoingCall {
    const endpoint = this.#dispatcher.endpoints.find(({ path }) => path === start.path);
    if (endpoint === undefined) throw new Error(`this process does not serve ${start.path}`);
    const admission = { endpoint, caller: callerOf(this.#service), namespace: DEFAULT_NAMESPACE };
    return this.#channel.open({ ...start, admission }, listener);
  }

  close(): void {}
}

/** The caller as which the authority would know the service by an enrolment token. */
function callerOf(enrolment: string): Caller {
  const expires = Number.POSITIVE_INFINITY;
  return { enrolment, account: "", namespace: DEFAULT_NAMESPACE, scopes: [], resources: [], expires };
}
