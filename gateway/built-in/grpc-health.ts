/**
 * gRPC health checking at the HTTP port
 * (https://github.com/grpc/grpc/blob/master/doc/health-checking.md). The empty name means the
 * gateway, which is SERVING while `/readyz` is 200. The name of a gRPC service is SERVING while one
 * of its instances can be reached. A caller learns nothing about a service if it may call none of
 * its endpoints.
 */
import { Code, StatusError } from "../../src/errors.js";
import {
  type HealthCheckRequest,
  type HealthCheckResponse,
  HealthService,
  HealthCheckResponse_ServingStatus as Serving,
} from "../../src/gen/grpc/health/v1/health.js";
import { type Context, part, type ServicePart } from "../../src/rpc/service.js";
import type { GrpcService, GrpcServices, ReflectionViewer } from "./grpc-services.js";
import type { HealthRoutes } from "./health.js";

/** How soon a watch reports a change, in milliseconds. */
const WATCH_MS = 1_000;
/** Maximum open watches in a process. */
const MAX_WATCHES = 10_000;

export interface GrpcHealthOptions {
  readonly services: GrpcServices;
  readonly health: Pick<HealthRoutes, "isReady" | "isLeaving">;
  /** The caller, as the guard knows it at the moment of the call. */
  readonly viewerOf: (context: Context) => Promise<ReflectionViewer>;
}

export class GrpcHealth {
  readonly part: ServicePart;
  readonly #options: GrpcHealthOptions;
  #watches = 0;
  /** Resolves when all watches must check the status again. */
  #next: Promise<void> | undefined;

  constructor(options: GrpcHealthOptions) {
    this.#options = options;
    this.part = part(HealthService, {
      check: async ({ service }, context) => {
        const status = this.#statusOf(service, await options.viewerOf(context));
        if (status === undefined) throw new StatusError(Code.NOT_FOUND, `no service ${service.slice(0, 256)} is known`);
        return { status };
      },
      list: async (_request, context) => {
        const viewer = await options.viewerOf(context);
        const names = ["", ...options.services.namesSeenBy(viewer)];
        return { statuses: Object.fromEntries(names.map((name) => [name, { status: this.#shown(name, viewer) }])) };
      },
      watch: (request, context) => this.#watch(request, context),
    });
  }

  /** Undefined for a name that the viewer may not see. */
  #statusOf(name: string, viewer: ReflectionViewer): Serving | undefined {
    const { services, health } = this.#options;
    if (name === "") return health.isReady ? Serving.SERVING : Serving.NOT_SERVING;
    const seen = services.byName.get(name)?.filter(services.seenBy(viewer)) ?? [];
    if (seen.length === 0) return undefined;
    return seen.some(isReachable) ? Serving.SERVING : Serving.NOT_SERVING;
  }

  #shown(name: string, viewer: ReflectionViewer): Serving {
    return this.#statusOf(name, viewer) ?? Serving.SERVICE_UNKNOWN;
  }

  /** Reports the status, and each change of it. A gateway that stops ends its watches. */
  async *#watch({ service }: HealthCheckRequest, context: Context): AsyncGenerator<HealthCheckResponse> {
    const { health, viewerOf } = this.#options;
    if (this.#watches >= MAX_WATCHES) throw new StatusError(Code.RESOURCE_EXHAUSTED, "too many watches are open");
    this.#watches++;
    try {
      let reported: Serving | undefined;
      while (!context.signal.aborted) {
        const status = this.#shown(service, await viewerOf(context));
        if (status !== reported) yield { status };
        reported = status;
        if (health.isLeaving) return;
        await this.#nextCheck();
      }
    } finally {
      this.#watches--;
    }
  }

  /** One timer for all watches. */
  #nextCheck(): Promise<void> {
    this.#next ??= new Promise((resolve) => {
      const check = (): void => {
        this.#next = undefined;
        resolve();
      };
      setTimeout(check, WATCH_MS).unref();
    });
    return this.#next;
  }
}

/** A channel is idle only after its server responded, so an idle channel counts as reachable. */
function isReachable({ targets }: GrpcService): boolean {
  return targets.some(({ channel: { state } }) => state === "ready" || state === "idle");
}
