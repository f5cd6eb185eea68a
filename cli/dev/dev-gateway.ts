/**
 * The gateway that `portico dev` starts: `portico server` in this process, and the instances that
 * register at it.
 */

import { formatGrpcTarget, formatHttpAddress } from "../../src/address/address.js";
import { SYSTEM } from "../../src/call/admission.js";
import type { Config } from "../../src/config/config.js";
import { RegistryService } from "../../src/gen/portico/registry/v1/registry.js";
import type { Logger } from "../../src/log.js";
import type { Channel } from "../../src/rpc/channel.js";
import { stream } from "../../src/rpc/client.js";
import { InProcessChannel } from "../../src/rpc/in-process/channel.js";
import { httpUrl } from "../roles/banner.js";
import { type OpenServer, openServer } from "../roles/server.js";
import { processOf } from "../roles/start.js";
import { tryPorts } from "../roles/try-ports.js";

export interface DevGateway {
  /** The address for callers. */
  readonly url: string;
  /** The address for services. */
  readonly grpc: string;
  readonly instances: RegisteredInstances;
  /** Allows a service of this name to register. Returns its enrolment token. */
  enrol(name: string): Promise<string>;
  close(): Promise<void>;
}

/** @throws {CommandError} when it cannot start, for example because a port is in use. */
export async function openDevGateway(config: Config, log: Logger, signal: AbortSignal): Promise<DevGateway> {
  let server: OpenServer | undefined;
  const start = processOf("server", async (opening) => {
    // Another portico dev may run in the same folder, with the same store.
    await tryPorts(["http"], config);
    server = await openServer(opening, {});
    return server;
  });
  const { grpc, stop } = await start(config, log, signal);
  const { http, dispatcher, enrol } = server!;
  const instances = new RegisteredInstances(new InProcessChannel(dispatcher));
  const close = async (): Promise<void> => {
    instances.close();
    await stop();
  };
  return {
    url: httpUrl(config, http) ?? formatHttpAddress(http),
    grpc: formatGrpcTarget(grpc!),
    instances,
    enrol,
    close,
  };
}

/** The instances that are registered now. */
export class RegisteredInstances {
  /** IDs of instances, by service. */
  readonly #ids = new Map<string, Set<string>>();
  readonly #closing = new AbortController();
  #changed: () => void = () => {};
  #change: Promise<void>;

  /** @param channel to the registry. */
  constructor(channel: Channel) {
    this.#change = this.#nextChange();
    void this.#follow(channel).catch(() => {}); // The stream ends when the registry closes.
  }

  /** The IDs of a service's instances. */
  of(service: string): ReadonlySet<string> {
    return this.#ids.get(service) ?? new Set();
  }

  /** Resolves when an instance joins or leaves. */
  get change(): Promise<void> {
    return this.#change;
  }

  close(): void {
    this.#closing.abort();
  }

  #nextChange(): Promise<void> {
    return new Promise((resolve) => {
      this.#changed = resolve;
    });
  }

  async #follow(channel: Channel): Promise<void> {
    const watch = stream(channel, RegistryService.watch, { admission: SYSTEM, signal: this.#closing.signal });
    watch.send({ confirmed: 0n });
    watch.end();
    for await (const { joined, left } of watch.responses) {
      for (const { service, id } of left) this.#ids.get(service)?.delete(id);
      for (const { service, id } of joined) this.#ids.set(service, new Set(this.#ids.get(service)).add(id));
      const changed = this.#changed;
      this.#change = this.#nextChange();
      changed();
    }
  }
}
