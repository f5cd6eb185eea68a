// The JSON of an error for clients of grpc-gateway (gateway/dialects/http-rule/grpc-gateway).
import t from "tap";
import type { EndpointTarget } from "../../../../gateway/catalog/target.js";
import { writeStatus } from "../../../../gateway/dialects/http-rule/grpc-gateway/status.js";
import { toFailure } from "../../../../gateway/http/errors.js";
import { Code, StatusError } from "../../../../src/errors.js";

const failure = toFailure(new StatusError(Code.NOT_FOUND, "no such shelf"));

for (const [omitZeros, expected] of [
  [false, '{"code":5,"message":"no such shelf","details":[]}'],
  [true, '{"code":5,"message":"no such shelf"}'],
] as const) {
  t.test(`an error without details, where zeros are ${omitZeros ? "left out" : "written"}`, async (t) => {
    t.equal(writeStatus(failure, { style: { omitZeros } } as EndpointTarget), expected);
  });
}
