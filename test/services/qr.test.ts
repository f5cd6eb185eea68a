import { create } from "qrcode";
import t from "tap";
import { parts } from "../../services/qr/qr.js";
import { Code } from "../../src/errors.js";
import { serveCatalogue } from "../support/catalogue.js";

const { call } = serveCatalogue(t, "qr", parts);

/** The size in the header of a PNG (RFC 2083 §4.1.1). */
function sizeOf(image: Buffer): [width: number, height: number] {
  return [image.readUInt32BE(16), image.readUInt32BE(20)];
}

t.test("generates a PNG of 256 pixels by default", async (t) => {
  const { image, mediaType } = await call("Generate", { text: "https://example.com/" });
  const bytes = Buffer.from(image, "base64");
  t.equal(mediaType, "image/png");
  t.same(bytes.subarray(0, 8), Buffer.from("\x89PNG\r\n\x1a\n", "latin1"));
  t.same(sizeOf(bytes), [256, 256]);
});

t.test("a PNG has the requested size", async (t) => {
  const { image } = await call("Generate", { text: "https://example.com/", size: 512 });
  t.same(sizeOf(Buffer.from(image, "base64")), [512, 512]);
});

t.test("a PNG is larger if the pattern has more modules", async (t) => {
  const text = "x".repeat(1024);
  const { image } = await call("Generate", { text, size: 64 });
  const [width] = sizeOf(Buffer.from(image, "base64"));
  t.ok(width > create(text, { errorCorrectionLevel: "M" }).modules.size, `has ${width} pixels`);
});

t.test("generates an SVG with the pattern of the text", async (t) => {
  const { image, mediaType } = await call("Generate", { text: "https://example.com/", format: "SVG" });
  const svg = Buffer.from(image, "base64").toString();
  t.equal(mediaType, "image/svg+xml");
  const { size } = create("https://example.com/", { errorCorrectionLevel: "M" }).modules;
  t.match(svg, new RegExp(`viewBox="0 0 ${size + 8} ${size + 8}"`), "with a margin of four modules on each side");
});

t.test("the longest text fits with the highest correction", async (t) => {
  const { image } = await call("Generate", { text: "é".repeat(512), correction: "HIGH", format: "SVG" });
  t.ok(image.length > 0);
});

t.test("more correction makes the pattern denser", async (t) => {
  const svg = async (correction: string) =>
    (await call("Generate", { text: "https://example.com/a/long/path", format: "SVG", correction })).image.length;
  t.ok((await svg("LOW")) < (await svg("HIGH")));
});

const WRONG = [
  { request: {}, field: "text" },
  { request: { text: "é".repeat(513) }, field: "text" },
  { request: { text: "a", size: 63 }, field: "size" },
  { request: { text: "a", size: 513 }, field: "size" },
  { request: { text: "a", format: 9 }, field: "format" },
  { request: { text: "a", correction: 9 }, field: "correction" },
];

for (const { request, field } of WRONG) {
  t.test(`refuses ${JSON.stringify(request).slice(0, 40)} and names the field`, async (t) => {
    await t.rejects(call("Generate", request), { code: Code.INVALID_ARGUMENT, message: new RegExp(`^${field}: `) });
  });
}
