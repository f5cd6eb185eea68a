/**
 * gRPC health checking (https://github.com/grpc/grpc/blob/master/doc/health-checking.md). All
 * services of the process have the same state. The server itself has this state too; its name is
 * the empty string.
 */
import { descriptorsOf } from "../contract/built-in-files.js";
import { Code, StatusError } from "../errors.js";
import {
  type HealthCheckRequest,
  type HealthCheckResponse,
  HealthService,
  HealthCheckResponse_ServingStatus as Serving,
} from "../gen/grpc/health/v1/health.js";
import { type Context, part, type Service } from "./service.js";

/** Full name of the gRPC health service. */
export const HEALTH_SERVICE = "grpc.health.v1.Health";

export class HealthStatuses {
  readonly service: Service;
  readonly #names: ReadonlySet<string>;
  readonly #watchers = new Set<() => void>();
  #serving = true;
  #closed = false;

  /** @param names full names of the gRPC services that are served */
  constructor(names: readonly string[]) {
    this.#names = new Set(["", ...names]);
    this.service = {
      name: "health",
      descriptors: descriptorsOf("grpc.health.v1"),
      parts: [
        part(HealthService, {
          check: ({ service }) => this.#check(service),
          list: () => ({ statuses: Object.fromEntries([...this.#names].map((name) => [name, this.#state(name)])) }),
          watch: (request, context) => this.#watch(request, context),
        }),
      ],
    };
  }

  /** Whether the services can serve now. No effect after `close`. */
  set serving(serving: boolean) {
    if (this.#closed || serving === this.#serving) return;
    this.#serving = serving;
    for (const wake of this.#watchers) wake();
  }

  /** Sets NOT_SERVING for good. The open watches report it and end. */
  close(): void {
    this.#closed = true;
    this.#serving = false;
    for (const wake of this.#watchers) wake();
  }

  #check(name: string): HealthCheckResponse {
    if (!this.#names.has(name)) throw new StatusError(Code.NOT_FOUND, `no service ${name} is served here`);
    return this.#state(name);
  }

  #state(name: string): HealthCheckResponse {
    if (!this.#names.has(name)) return { status: Serving.SERVICE_UNKNOWN };
    return { status: this.#serving ? Serving.SERVING : Serving.NOT_SERVING };
  }

  async *#watch({ service }: HealthCheckRequest, { signal }: Context): AsyncGenerator<HealthCheckResponse> {
    let reported: Serving | undefined;
    while (!signal.aborted) {
      const state = this.#state(service);
      if (state.status !== reported) {
        reported = state.status;
        yield state;
      } else if (this.#closed) {
        return;
      } else {
        await this.#change(signal);
      }
    }
  }

  #change(signal: AbortSignal): Promise<void> {
    return new Promise((resolve) => {
      const wake = (): void => {
        this.#watchers.delete(wake);
        signal.removeEventListener("abort", wake);
        resolve();
      };
      this.#watchers.add(wake);
      signal.addEventListener("abort", wake);
    });
  }
}
