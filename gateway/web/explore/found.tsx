import { pieces } from "./search.js";

/** A text in which the words that were searched for are marked. */
export function Found({ text, words }: { readonly text: string; readonly words: readonly string[] }) {
  return (
    <>{pieces(text, words).map((piece, index) => (index % 2 === 0 ? piece : <mark key={`${index}`}>{piece}</mark>))}</>
  );
}
