import { useMemo } from "preact/hooks";
import { type CodePiece, colourCode } from "./colour-code.js";
import { layOut, type Token } from "./json-text.js";

/** How much of a text is shown, in characters: more would make the page slow, and nobody reads it. */
const MOST_SHOWN = 200_000;
const ONE_LINE = 60;

interface JsonProps {
  readonly text: string;
  /** Leaves a short text on one line. */
  readonly short?: boolean;
}

/** JSON, laid out; text of another kind as it is. */
export function Json({ text, short = false }: JsonProps) {
  const oneLine = short && text.length <= ONE_LINE;
  const tokens = useMemo(() => layOut(text.slice(0, MOST_SHOWN), oneLine), [text, oneLine]);
  return (
    <>
      <Pieces pieces={tokens} />
      {text.length > MOST_SHOWN && `\n… ${text.length - MOST_SHOWN} characters more`}
    </>
  );
}

export function Code({ text, comment }: { readonly text: string; readonly comment: "#" | "//" }) {
  const pieces = useMemo(() => colourCode(text, comment), [text, comment]);
  return <Pieces pieces={pieces} />;
}

function Pieces({ pieces }: { readonly pieces: readonly (Token | CodePiece)[] }) {
  return (
    <>
      {pieces.map(({ kind, text }, index) =>
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
