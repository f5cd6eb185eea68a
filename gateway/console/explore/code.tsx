import { useMemo } from "preact/hooks";
import { type CodePiece, colourCode } from "./colour-code.js";
import { layOut } from "./json-text.js";

/** How much of a text is shown, in characters: more would make the page slow, and nobody reads it. */
const MOST_SHOWN = 200_000;

/** JSON, laid out; text of another kind as it is. */
export function Json({ text }: { readonly text: string }) {
  const tokens = useMemo(() => layOut(text.length > MOST_SHOWN ? text.slice(0, MOST_SHOWN) : text), [text]);
  return (
    <>
      {tokens.map(({ kind, text: piece }, index) =>
        kind === "plain" ? (
          piece
        ) : (
          <span key={`${index}`} class={`code-${kind}`}>
            {piece}
          </span>
        ),
      )}
      {text.length > MOST_SHOWN && `\n… ${text.length - MOST_SHOWN} characters more`}
    </>
  );
}

export function Code({ text, comment }: { readonly text: string; readonly comment: "#" | "//" }) {
  const coloured: readonly CodePiece[] = useMemo(() => colourCode(text, comment), [text, comment]);
  return (
    <>
      {coloured.map(({ kind, text: piece }, index) =>
        kind === "plain" ? (
          piece
        ) : (
          <span key={`${index}`} class={`code-${kind}`}>
            {piece}
          </span>
        ),
      )}
    </>
  );
}
