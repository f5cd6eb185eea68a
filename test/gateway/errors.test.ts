/** The cost of an error with many details. */
import { createRegistry, type DescMessage } from "@bufbuild/protobuf";
import { AnySchema, anyPack, DurationSchema } from "@bufbuild/protobuf/wkt";
import t from "tap";
import { toErrorReply } from "../../gateway/http/error-object.js";
import { Code, StatusError } from "../../src/errors.js";
import { compileCodecs } from "../../src/json/compile.js";

t.test("a service's codec is looked up once for each error, not for each detail", async (t) => {
  let times = 0;
  const detail = anyPack(DurationSchema, { $typeName: DurationSchema.typeName, seconds: 1n, nanos: 0 });
  const details = Array(20).fill({ typeUrl: detail.typeUrl, value: Buffer.from(detail.value) });
  const error = new StatusError(Code.NOT_FOUND, "none", { details });
  const findOther = (name: string): DescMessage | undefined =>
    name === DurationSchema.typeName ? DurationSchema : undefined;
  const codecs = compileCodecs(createRegistry(), { findOther });
  const target = {
    get any() {
      times++;
      return codecs(AnySchema);
    },
  };
  const bodies = [toErrorReply("shop", error, target).body, toErrorReply("shop", error, target).body];
  const Details = Array(20).fill({ "@type": "type.googleapis.com/google.protobuf.Duration", value: "1s" });
  for (const body of bodies) t.same(JSON.parse(body).Details, Details);
  t.equal(times, 2, "once an error");
});
