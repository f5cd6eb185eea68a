/** What an error costs that has many details. */
import { createRegistry, type Registry } from "@bufbuild/protobuf";
import { anyPack, DurationSchema } from "@bufbuild/protobuf/wkt";
import t from "tap";
import { toErrorReply } from "../../gateway/error-object.js";
import { Code, StatusError } from "../../src/errors.js";

t.test("a service's types are looked through once, however many errors and details there are", async (t) => {
  let times = 0;
  const types: Registry = {
    ...createRegistry(DurationSchema),
    [Symbol.iterator]() {
      times++;
      return [DurationSchema][Symbol.iterator]();
    },
  };
  const detail = anyPack(DurationSchema, { $typeName: DurationSchema.typeName, seconds: 1n, nanos: 0 });
  const details = Array(20).fill({ typeUrl: detail.typeUrl, value: Buffer.from(detail.value) });
  const error = new StatusError(Code.NOT_FOUND, "none", { details });
  const bodies = [toErrorReply("shop", error, { types }).body, toErrorReply("shop", error, { types }).body];
  const Details = Array(20).fill({ "@type": "type.googleapis.com/google.protobuf.Duration", value: "1s" });
  for (const body of bodies) t.same(JSON.parse(body).Details, Details);
  t.equal(times, 1);
});
