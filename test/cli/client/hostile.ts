/**
 * The OpenAPI document of a malicious service. Its names and comments try to end the comments and
 * literals that contain them, and to shadow names that the runtimes and the languages need.
 */

/** Each name or comment would set this marker if it became code. */
const MARKER = "INJECTED";

/** Texts that end a comment or literal in one of the languages, and continue with code. */
const BREAKERS: readonly string[] = [
  `*/ globalThis.${MARKER} = 1; /*`,
  `"""\nimport os; os.${MARKER} = 1\n"""`,
  `\\"""\nos.${MARKER} = 1`,
  `"; globalThis.${MARKER} = 1; "`,
  `' + globalThis.${MARKER} + '`,
  `\`); panic("${MARKER}") //`,
  `\${globalThis.${MARKER} = 1}`,
  `\n}\nfunc init() { panic("${MARKER}") }\n//go:embed /etc/passwd`,
  `\u2028globalThis.${MARKER} = 1;\u2029\r globalThis.${MARKER} = 1 \r\n`,
  `\u202e } ${MARKER} \u2066`,
  "ends in a backslash \\",
  'ends in a quote "',
  'ends in two quotes ""',
  "\0\u001b[31m\u007f\ud800",
  `</script><script>${MARKER}</script> {@link ${MARKER}} %s %d {0}`,
];

/** Names of types, fields and values that have a meaning in the languages or the runtimes. */
const NAMES: readonly string[] = [
  ..."__proto__ constructor prototype then toString toJSON hasOwnProperty self cls class def lambda None True import from".split(
    " ",
  ),
  ..."int str float bool bytes list dict object typing datetime dataclasses json httpx asyncio func type map range".split(
    " ",
  ),
  ..."string error nil any append len new package interface struct select chan go defer transport endpoint unary stream".split(
    " ",
  ),
  ..."Portico PorticoClient PorticoError Client Error Options New Ptr HTTPBody HttpBody CallOptions CallScope Socket".split(
    " ",
  ),
  ..."Promise Date Array Object Uint8Array Record AsyncGenerator Response Exception name value mro close bind".split(
    " ",
  ),
  ..."a-b a_b aB a.b 5 _ é 名 Call call CALL".split(" "),
];

const ref = (name: string) => ({ $ref: `#/components/schemas/${name}` });
const field = (name: string, at: number) =>
  [
    name,
    [
      { type: "string" },
      ref("number-int64-input"),
      { type: "array", items: ref("h.Error-input") },
      ref("h.Colour-input"),
    ][at % 4],
  ] as const;

function operation(resource: string, comment: string): object {
  return {
    tags: [comment],
    summary: comment,
    description: comment,
    "x-resource": resource,
    requestBody: { content: { "application/json": { schema: ref("h.Everything-input") } } },
    responses: { 200: { content: { "application/json": { schema: ref("h.Everything-output") } } } },
  };
}

/** @param words the comment of every element */
export function hostileDocument(words: string = BREAKERS.join("\n\n")): string {
  const described = { description: words };
  const fields = Object.fromEntries(
    [...NAMES, ...BREAKERS].map((name, at) => {
      const [key, schema] = field(name, at);
      return [key, { ...schema, ...described }];
    }),
  );
  const everything = { type: "object", ...described, properties: fields };
  const colours = { type: "string", enum: [...NAMES, ...BREAKERS], ...described };
  const messages = Object.fromEntries(
    NAMES.map((name) => [
      `h.${name}-input`,
      { type: "object", ...described, properties: { text: { type: "string" } } },
    ]),
  );
  const methods = NAMES.filter((name) => /^[A-Za-z_][A-Za-z0-9_.]*$/.test(name));
  const groups = methods.flatMap((name) => [
    [`/hostile/${name}`, { post: operation(name, words) }] as const,
    [`/hostile/Group_${name}/${name}`, { post: operation(name, words) }] as const,
  ]);
  return JSON.stringify({
    info: described,
    tags: [{ name: words, ...described }],
    paths: Object.fromEntries(groups),
    components: {
      schemas: {
        ...messages,
        "h.Error-input": { type: "object", properties: {} },
        "h.Colour-input": colours,
        "h.Everything-input": everything,
        "h.Everything-output": everything,
        "number-int64-input": { anyOf: [{ type: "integer", format: "int64" }] },
      },
    },
  });
}
