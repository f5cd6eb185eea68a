// The document of helloworld agrees with the gateway, whatever requests schemathesis invents.
import { disagreements } from "./schemathesis.js";

await disagreements([
  { title: "with a token", service: "helloworld", args: ["--exclude-path-regex=Stream"] },
  { title: "without a token", service: "helloworld", args: ["--exclude-path-regex=Stream"], token: false },
  // The service allows at most 10,000 greetings. No type expresses this limit, so a request that
  // fits the document may be refused.
  {
    title: "a stream",
    service: "helloworld",
    args: ["--include-path-regex=Stream", "--exclude-checks=positive_data_acceptance"],
  },
]);
