import pg from "pg";

/**
 * A connection whose loss does not end the process, as it would without a listener: what it was busy with fails by itself. The
 * server may end a connection with the very bytes that say it is ready, so the listener is there from the beginning.
 */
export class PostgresClient extends pg.Client {
  constructor(config?: pg.ClientConfig) {
    super(config);
    this.on("error", () => undefined);
  }
}
