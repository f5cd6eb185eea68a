/** The clients of the services that run in one process with the authority: their calls stay in the process where they can. */
import type { Caller } from "../../src/call/caller.js";
import { NO_METADATA } from "../../src/call/metadata.js";
import { DEFAULT_NAMESPACE } from "../../src/contract/names.js";
import { Clients } from "../../src/kit/clients.js";
import type { ProcessContext } from "../../src/process/context.js";
import type { Call, CallListener, CallStart, Channel } from "../../src/rpc/channel.js";
import type { Dispatcher } from "../../src/rpc/dispatch.js";
import { InProcessChannel } from "../../src/rpc/in-process/channel.js";

/**
 * The clients of a service of this process. The authority judges the service and its caller as those of any other process,
 * and the contexts that it gives pass the same guard.
 * @param dispatcher answers the calls to every service of this process
 */
export function clientsWithin(
  service: string,
  { transport, shutdown }: Pick<ProcessContext, "transport" | "shutdown">,
  dispatcher: Dispatcher,
): Clients {
  const inProcess = new InProcessChannel(dispatcher);
  const names = new Set(dispatcher.endpoints.map((endpoint) => endpoint.service));
  const clients = new Clients({
    channel: new EnrolledChannel(service, dispatcher, inProcess),
    metadata: NO_METADATA,
    connect: transport.connect,
    local: (name) => (names.has(name) ? inProcess : undefined),
  });
  shutdown.add(() => {
    clients.close();
    inProcess.close();
  });
  return clients;
}

/** A channel to the authority and the registry whose calls are those of an enrolled service, without a token of its own. */
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

  open(start: CallStart, listener: CallListener): Call {
    const endpoint = this.#dispatcher.endpoints.find(({ path }) => path === start.path);
    if (endpoint === undefined) throw new Error(`this process does not serve ${start.path}`);
    const admission = { endpoint, caller: callerOf(this.#service), namespace: DEFAULT_NAMESPACE };
    return this.#channel.open({ ...start, admission }, listener);
  }

  close(): void {}
}

/** The caller that an enrolment token of the service would stand for. */
function callerOf(enrolment: string): Caller {
  const expires = Number.POSITIVE_INFINITY;
  return { enrolment, account: "", namespace: DEFAULT_NAMESPACE, scopes: [], resources: [], expires };
}
