// The document of a service with every kind of field agrees with the gateway's JSON.
import { disagreements } from "./schemathesis.js";

// Plain requests do not open WebSockets.
const args = ["--include-path-regex=^/v1/", "--exclude-path-regex=Converse"];
await disagreements([{ title: "as JSON", service: "kinds", args }]);
