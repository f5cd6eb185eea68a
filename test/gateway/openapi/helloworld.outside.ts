// What the document of helloworld says and what the gateway does agree, whatever schemathesis thinks of to send.
import { disagreements } from "./schemathesis.js";

await disagreements([
  { title: "with a token", service: "helloworld", args: ["--exclude-path-regex=Stream"] },
  { title: "without one", service: "helloworld", args: ["--exclude-path-regex=Stream"], token: false },
  // That there may be at most 10,000 greetings is the service's own rule, which no type says: so a request may be
  // refused that fits the document.
  {
    title: "a stream",
    service: "helloworld",
    args: ["--include-path-regex=Stream", "--exclude-checks=positive_data_acceptance"],
  },
]);
