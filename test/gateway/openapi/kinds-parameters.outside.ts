// What the document of a service with every kind of field says of query parameters and the gateway agree.
import { disagreements } from "./schemathesis.js";

// Parameters cannot say that they exclude each other, as members of a oneof do; plain requests do not open WebSockets.
const args = ["--include-method=GET", "--exclude-path-regex=Converse|Choice"];
await disagreements([{ title: "as parameters", service: "kinds", args }]);
