/** What an error repeats of the input: little, and nothing that does not show. */

/** What does not show, or would do something to whoever reads the message. */
const INVISIBLE = /[\p{Cc}\p{Cf}\p{Zl}\p{Zp}]/gu;

function visible(text: string): string {
  return text.replace(INVISIBLE, (character) => character.split("").map(escaped).join(""));
}

/** A UTF-16 unit as JSON escapes it: some characters are two. */
function escaped(unit: string): string {
  return `\\u${unit.charCodeAt(0).toString(16).padStart(4, "0")}`;
}

/** The beginning of a text, of at most so many UTF-16 units, with whole characters only. */
export function beginning(text: string, most: number): string {
  const shown = visible(text);
  return shown.length > most ? `${shown.slice(0, most - 1).replace(/[\ud800-\udbff]$/, "")}…` : shown;
}

/** The end of a text, likewise. */
export function ending(text: string, most: number): string {
  const shown = visible(text);
  return shown.length > most ? `…${shown.slice(1 - most).replace(/^[\udc00-\udfff]/, "")}` : shown;
}
