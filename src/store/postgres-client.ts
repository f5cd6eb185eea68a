import pg from "pg";

/**
 * A connection with an error listener. Without one, Node ends the process when the connection is
 * lost. The running operations fail by themselves. The listener is there from the beginning,
 * because the server may close a connection in the same packet that says that it is ready.
 */
export class PostgresClient extends pg.Client {
  constructor(config?: pg.ClientConfig) {
    super(config);
    this.on("error", () => undefined);
  }
}
