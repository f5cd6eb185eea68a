// Runs the tests of streams and uploads again over HTTP/2. Their client reads the version from this
// variable.
process.env.TEST_HTTP_VERSION = "2";

await import("./ndjson.test.js");
await import("./sse.test.js");
await import("./upload.test.js");
await import("./failures.test.js");
await import("./first-message.test.js");
await import("./heartbeat.test.js");
await import("./stream-heartbeat.test.js");
await import("./cancel.test.js");
await import("./backpressure.test.js");
await import("./revoked.test.js");
await import("./drain.test.js");
await import("./stall.test.js");
await import("./external-service.test.js");
await import("../bodies/http-body.test.js");
await import("../../mcp/subscriptions.test.js");
