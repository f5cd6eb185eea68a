/**
 * Takes the place of the package `decode-named-character-reference` in the bundle
 * (scripts/build-web.mjs). Its variant for browsers sets markup, which the pages forbid. The
 * other one knows 2,125 names and is nearly as large as the parser. Comments use these names.
 */
const CHARACTERS: ReadonlyMap<string, string> = new Map([
  ...([
    ["amp", "&"],
    ["lt", "<"],
    ["gt", ">"],
    ["quot", '"'],
    ["apos", "'"],
    ["nbsp", "\u00a0"],
  ] as const),
  ...([
    ["copy", "©"],
    ["reg", "®"],
    ["trade", "™"],
    ["deg", "°"],
    ["micro", "µ"],
    ["para", "¶"],
  ] as const),
  ...([
    ["ndash", "–"],
    ["mdash", "—"],
    ["hellip", "…"],
    ["bull", "•"],
    ["middot", "·"],
    ["sect", "§"],
  ] as const),
  ...([
    ["larr", "←"],
    ["rarr", "→"],
    ["uarr", "↑"],
    ["darr", "↓"],
    ["harr", "↔"],
    ["infin", "∞"],
  ] as const),
  ...([
    ["le", "≤"],
    ["ge", "≥"],
    ["ne", "≠"],
    ["times", "×"],
    ["divide", "÷"],
    ["plusmn", "±"],
  ] as const),
  ...([
    ["euro", "€"],
    ["auml", "ä"],
    ["ouml", "ö"],
    ["uuml", "ü"],
    ["szlig", "ß"],
    ["eacute", "é"],
  ] as const),
]);

/** The character of a name such as `amp`; false if the name is unknown, and then it is text. */
export function decodeNamedCharacterReference(name: string): string | false {
  return CHARACTERS.get(name) ?? false;
}
