// A body that arrived in chunks is joined in the buffer of the body before. Messages that were read
// from the earlier body do not change.
import { fromBinary, toJson } from "@bufbuild/protobuf";
import t from "tap";
import type { EndpointTarget } from "../../../../gateway/catalog/target.js";
import { readMessage } from "../../../../gateway/dialects/json/message.js";
import { RequestHeaders } from "../../../../gateway/http/headers.js";
import type { GatewayRequest } from "../../../../gateway/http/message.js";
import { readDescriptors } from "../../../../src/contract/endpoint.js";
import { compileCodecs } from "../../../../src/json/compile.js";
import { buildDescriptors } from "../../../support/descriptors.js";

const types = readDescriptors(buildDescriptors("test/gateway/dialects/json/streams"));
const codecOf = compileCodecs(types);

const base64 = (text: string): string => Buffer.from(text).toString("base64");
const disposition = (name: string): string => `Content-Disposition: form-data; name="${name}"`;

const KINDS: [
  kind: string,
  typeName: string,
  contentType: string,
  body: (text: string) => string,
  fields: (text: string) => object,
][] = [
  [
    "JSON",
    "studio.AddRequest",
    "application/json",
    (text) => JSON.stringify({ title: text, file: base64(text) }),
    (text) => ({ title: text, file: base64(text) }),
  ],
  [
    "a form",
    "studio.AddRequest",
    "multipart/form-data; boundary=xyz",
    (text) =>
      `--xyz\r\n${disposition("title")}\r\n\r\n${text}\r\n` +
      `--xyz\r\n${disposition("file")}; filename="f"\r\n\r\n${text}\r\n--xyz--\r\n`,
    (text) => ({ title: text, file: base64(text) }),
  ],
  [
    "raw bytes",
    "google.api.HttpBody",
    "image/png",
    (text) => text,
    (text) => ({ contentType: "image/png", data: base64(text) }),
  ],
];

/** Two sizes that fit in the buffer (256 KiB) in which chunks are joined, and one that does not. */
const SIZES = [10, 60_000, 300_000];

for (const [kind, typeName, contentType, body, fields] of KINDS) {
  const input = types.getMessage(typeName)!;
  const target = { input, request: codecOf(input) } as EndpointTarget;
  const read = (text: string): Uint8Array => {
    const bytes = Buffer.from(body(text));
    const chunks = [bytes.subarray(0, 3), bytes.subarray(3, 7), bytes.subarray(7)];
    const headers = Object.assign(new RequestHeaders(), { contentType });
    return readMessage({ method: "POST", target: "/", headers } as GatewayRequest, target, chunks);
  };
  for (const size of SIZES) {
    t.test(`${kind} of ${size} bytes`, async (t) => {
      const [first, second] = ["a".repeat(size), "b".repeat(size)];
      const messages = [read(first), read(second)];
      t.same(
        messages.map((message) => toJson(input, fromBinary(input, message))),
        [fields(first), fields(second)],
      );
    });
  }
}
