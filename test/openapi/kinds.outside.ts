// The same of a service with every kind of field.
import { disagreements } from "./schemathesis.js";

await disagreements([
  {
    title: "as JSON",
    service: "kinds",
    // Plain requests do not open WebSockets.
    args: ["--include-path-regex=^/v1/", "--exclude-path-regex=Converse"],
  },
  {
    title: "as parameters",
    service: "kinds",
    // Parameters cannot say that they exclude each other, as members of a oneof do.
    args: ["--include-method=GET", "--exclude-path-regex=Converse|Choice"],
  },
]);
