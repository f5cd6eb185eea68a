// The document of a service with every kind of field agrees with the gateway's query parameters.
import { disagreements } from "./schemathesis.js";

// Parameters cannot say that they exclude each other, like the members of a oneof. Plain requests
// do not open WebSockets.
const args = ["--include-method=GET", "--exclude-path-regex=Converse|Choice"];
await disagreements([{ title: "as parameters", service: "kinds", args }]);
