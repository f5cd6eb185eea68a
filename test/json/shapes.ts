/** Shapes of JSON that a body may have from end to end, as what is repeated in it, and what stands before and after. */
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
  // Two bytes of JSON become eight on the wire, or eleven.
  doubles: list("double", () => "1"),
  values: list("value", () => "1"),
  messages: list("message", (at) => `{"double":0.5,"int32":${at},"bool":true,"string":"number ${at}"}`),
  map: map("string", (at) => `"key number ${at}":"value ${at}"`),
  "map of short keys": map("int32", (at) => `"${at}":1`),
  // Two bytes on the wire become some two hundred of JSON.
  "empty messages": { type: "Tree", before: '{"leaves":[', element: () => "{}", after: "]}" },
  struct: { type: "google.protobuf.Struct", before: "{", element: (at) => `"${at}":1`, after: "}" },
};
