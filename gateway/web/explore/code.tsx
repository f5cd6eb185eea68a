/** JSON and source code, in colours. */
import { useMemo } from "preact/hooks";
import { layOut, type Token } from "../../../src/api/json-layout.js";

/** Maximum characters of a text that are shown. More would make the page slow. */
const MAX_SHOWN = 200_000;
/** Maximum characters of a text that is shown on one line. */
const ONE_LINE = 60;

/** JSON, indented; other text unchanged. */
export function Json({ text, short = false }: { readonly text: string; readonly short?: boolean }) {
  const oneLine = short && text.length <= ONE_LINE;
  const tokens = useMemo(() => layOut(text.slice(0, MAX_SHOWN), oneLine), [text, oneLine]);
  return (
    <>
      <Tokens chunks={tokens} />
      {text.length > MAX_SHOWN && `\n… ${text.length - MAX_SHOWN} characters more`}
    </>
  );
}

/** Source code in one of the languages of the snippets. */
export function Code({ text, comment }: { readonly text: string; readonly comment: "#" | "//" }) {
  const chunks = useMemo(() => colourCode(text, comment), [text, comment]);
  return <Tokens chunks={chunks} />;
}

function Tokens({ chunks }: { readonly chunks: readonly (Token | CodeToken)[] }) {
  return (
    <>
      {chunks.map(({ kind, text }, index) =>
        kind === "plain" ? (
          text
        ) : (
          <span key={`${index}`} class={`code-${kind}`}>
            {text}
          </span>
        ),
      )}
    </>
  );
}

interface CodeToken {
  readonly kind: "string" | "comment" | "word" | "plain";
  readonly text: string;
}

/** Strings, comments and keywords of the languages of the snippets. */
const STRING = /"(?:[^"\\\n]|\\.)*"|'(?:[^'\\]|\\.|'\\'')*'|`[^`]*`/;
const WORDS =
  /\b(?:import|from|const|let|await|for|of|if|return|new|package|func|defer|err|nil|with|as|in|print|None|True|False|true|false|null|curl|portico|echo)\b/;

function colourCode(text: string, comment: "#" | "//"): CodeToken[] {
  const comments = comment === "#" ? /(?<![^\s])#[^\n]*/ : /\/\/[^\n]*/;
  const any = new RegExp(`(${STRING.source})|(${comments.source})|(${WORDS.source})`, "g");
  const chunks: CodeToken[] = [];
  let at = 0;
  for (const match of text.matchAll(any)) {
    const [all, string, remark] = match;
    if (match.index > at) chunks.push({ kind: "plain", text: text.slice(at, match.index) });
    chunks.push({ kind: string !== undefined ? "string" : remark !== undefined ? "comment" : "word", text: all });
    at = match.index + all.length;
  }
  if (at < text.length) chunks.push({ kind: "plain", text: text.slice(at) });
  return chunks;
}
