/** The installation of the test of backups, before and after the restore. */
import type { Test } from "tap";
import { parseAddress } from "../../src/address/address.js";
import { Code, type StatusError } from "../../src/errors.js";
import { RegistryService } from "../../src/gen/portico/registry/v1/registry.js";
import { stream } from "../../src/rpc/client.js";
import { Http2Channel } from "../../src/rpc/http2/channel.js";
import { Watch } from "../services/auth/watch.js";
import { declaring, greeter } from "../services/registry/instances.js";
import { ADMIN_PASSWORD } from "../support/installation.js";
import { call, type Portico } from "../support/process.js";

export interface Login {
  readonly accessToken: string;
  readonly refreshToken: string;
}

export const bearer = (token: string) => ({ authorization: `Bearer ${token}` });

/** An installation whose process is replaced during the test. */
export class Installation {
  /** The process that is running now. */
  portico: Portico;
  readonly #t: Test;
  readonly #admin: Record<string, string>;

  /** @param admin the header of an administrator's token */
  constructor(t: Test, portico: Portico, admin: Record<string, string>) {
    this.#t = t;
    this.portico = portico;
    this.#admin = admin;
  }

  /**
   * Calls an endpoint of the authority as the administrator.
   * @throws {Error} if the call is refused
   */
  async auth<Response>(endpoint: string, message: object = {}): Promise<Response> {
    const { status, body } = await this.#call(`/v1/auth/${endpoint}`, message, this.#admin);
    if (status !== 200) throw new Error(`${endpoint}: ${JSON.stringify(body)}`);
    return body as Response;
  }

  /** The HTTP status of a call. */
  async status(path: string, message: object, headers: Record<string, string> = {}): Promise<number> {
    return (await this.#call(path, message, headers)).status;
  }

  whoAmI(token: string): Promise<number> {
    return this.status("/v1/auth/WhoAmI", {}, bearer(token));
  }

  refresh({ refreshToken }: Login): Promise<number> {
    return this.status("/auth/refresh", { refreshToken });
  }

  login(account: string, password: string, namespace = ""): Promise<number> {
    return this.status("/auth/login", { account, password, namespace });
  }

  async administrator(): Promise<Login> {
    return (await this.#call("/auth/login", { account: "admin", password: ADMIN_PASSWORD })).body as Login;
  }

  /** The audit trail, the newest record first. */
  async trail(): Promise<{ readonly revision: string }[]> {
    return (await this.auth<{ records: { revision: string }[] }>("Audit/List")).records;
  }

  /**
   * Joins as a guard, with an enrolment token.
   * @returns the keys that sign caller assertions, as the guard receives them, or the error's code
   */
  async join(token: string): Promise<string[] | Code> {
    const channel = this.#channel();
    try {
      const watch = new Watch(this.#t, channel, token);
      watch.start();
      for (;;) {
        const { last, contextKeys } = await watch.next("snapshot");
        if (last) return contextKeys.map(({ name, key }) => `${name} ${key.toString("hex")}`);
      }
    } catch (error) {
      return (error as StatusError).code;
    } finally {
      channel.close();
    }
  }

  /**
   * Registers an instance of a service.
   * @returns the code of the response
   */
  async register(service: string, token: string): Promise<Code> {
    const channel = this.#channel();
    const metadata = Object.entries(bearer(token));
    const registration = stream(channel, RegistryService.register, { metadata });
    try {
      const grpcServices = [`${service}.Service`];
      registration.send({ instance: greeter({ service, grpcServices, descriptors: declaring(...grpcServices) }) });
      await registration.responses[Symbol.asyncIterator]().next();
      return Code.OK;
    } catch (error) {
      return (error as StatusError).code;
    } finally {
      registration.cancel();
      channel.close();
    }
  }

  #call(path: string, message: object, headers: Record<string, string> = {}) {
    return call(this.portico.address("HTTP") + path, message, headers);
  }

  #channel(): Http2Channel {
    return new Http2Channel(parseAddress(this.portico.address("gRPC")));
  }
}
