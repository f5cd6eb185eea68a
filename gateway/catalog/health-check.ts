/**
 * Asks one instance of a configured service by gRPC health whether it serves: on each new
 * connection before calls use it, and regularly after that. Only NOT_SERVING takes the instance out
 * of the balancer. A server without gRPC health is asked once for each connection.
 */
import { Code, StatusError } from "../../src/errors.js";
import { HealthService, HealthCheckResponse_ServingStatus as Serving } from "../../src/gen/grpc/health/v1/health.js";
import type { Channel } from "../../src/rpc/channel.js";
import { unary } from "../../src/rpc/client.js";

/** The maximum time of a check, in milliseconds. */
const CHECK_MS = 1_000;

export class HealthCheck {
  readonly #onResult: (serving: boolean) => void;
  #isAsking = false;
  #isKnownThere = true;

  /** @param onResult called with each result, also if it is the same as before */
  constructor(onResult: (serving: boolean) => void) {
    this.#onResult = onResult;
  }

  /** Asks the server of a new connection. It may be another one than before. */
  async begin(connection: Channel): Promise<void> {
    this.#isKnownThere = true;
    await this.ask(connection);
  }

  /** Does nothing while a check is open, so a server that does not respond is not asked again. */
  async ask(channel: Channel): Promise<void> {
    if (this.#isAsking || !this.#isKnownThere) return;
    this.#isAsking = true;
    try {
      const options = { deadlineMonotonicMs: performance.now() + CHECK_MS };
      const { status } = await unary(channel, HealthService.check, { service: "" }, options);
      if (status === Serving.SERVING || status === Serving.NOT_SERVING) this.#onResult(status === Serving.SERVING);
    } catch (error) {
      const { code } = StatusError.from(error);
      // The balancer itself backs off from an instance that fails otherwise.
      if (code !== Code.UNIMPLEMENTED && code !== Code.NOT_FOUND) return;
      this.#isKnownThere = false;
      this.#onResult(true);
    } finally {
      this.#isAsking = false;
    }
  }
}
