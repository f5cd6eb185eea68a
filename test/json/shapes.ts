/**
 * Shapes of JSON that may fill a body: the element that is repeated, and the text before and after
 * the elements.
 */
interface BodyShape {
  readonly type: string;
  readonly before: string;
  readonly element: (at: number) => string;
  readonly after: string;
}

const list = (field: string, element: BodyShape["element"]): BodyShape => ({
  type: "Lists",
  before: `{"${field}":[`,
  element,
  after: "]}",
});

const map = (field: string, element: BodyShape["element"]): BodyShape => ({
  type: "Maps",
  before: `{"${field}":{`,
  element,
  after: "}}",
});

export const SHAPES: Readonly<Record<string, BodyShape>> = {
  strings: list("string", (at) => `"${"text ".repeat(20)}${at}"`),
  unicode: list("string", (at) => `"${"漢字".repeat(20)}${at}"`),
  integers: list("int32", (at) => String(at * 7)),
  // Two bytes of JSON become eight or eleven bytes on the wire.
  doubles: list("double", () => "1"),
  values: list("value", () => "1"),
  messages: list("message", (at) => `{"double":0.5,"int32":${at},"bool":true,"string":"number ${at}"}`),
  map: map("string", (at) => `"key number ${at}":"value ${at}"`),
  "map of short keys": map("int32", (at) => `"${at}":1`),
  // Two bytes on the wire become some two hundred bytes of JSON.
  "empty messages": { type: "Tree", before: '{"leaves":[', element: () => "{}", after: "]}" },
  struct: { type: "google.protobuf.Struct", before: "{", element: (at) => `"${at}":1`, after: "}" },
};

const form = (head: string): BodyShape => ({
  type: "Implicit",
  before: `--form\r\nContent-Disposition: form-data; ${head}\r\n\r\n`,
  element: (at) => `${"text ".repeat(20)}${at}`,
  after: "\r\n--form--\r\n",
});

/** The same for forms with the boundary `form`. */
export const FORMS: Readonly<Record<string, BodyShape>> = {
  file: form('name="bytes"; filename="file"'),
  text: form('name="string"'),
};
