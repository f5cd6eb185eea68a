/**
 * Finds entries by a few letters. Every word of the query must be in an entry: as it is written, or
 * as some of its letters in their order, which counts less. If nothing is found so, one letter of a
 * word may be wrong.
 */

export interface Findable {
  /** The name, which counts more than the rest. */
  readonly title: string;
  /** What else the words may be in. */
  readonly detail: string;
}

/** Entries, prepared for the search. Many have the same text, such as the name of a service. */
export interface Index<Entry extends Findable> {
  readonly entries: readonly Entry[];
  readonly texts: readonly Text[];
  /** For each entry, which of the texts its title and its detail are. */
  readonly titles: Int32Array;
  readonly details: Int32Array;
}

interface Text {
  readonly lower: string;
  /** For each character, 1 where a word begins, otherwise 0. */
  readonly starts: Uint8Array;
  /** The letters and digits in the text, one bit each. */
  readonly letters: number;
}

export function prepare<Entry extends Findable>(entries: readonly Entry[]): Index<Entry> {
  const known = new Map<string, number>();
  const texts: Text[] = [];
  const numberOf = (text: string) => {
    const found = known.get(text) ?? texts.push(toText(text)) - 1;
    known.set(text, found);
    return found;
  };
  const titles = Int32Array.from(entries, ({ title }) => numberOf(title));
  const details = Int32Array.from(entries, ({ detail }) => numberOf(detail));
  return { entries, texts, titles, details };
}

export interface Found<Entry> {
  /** The best first, equal ones in the given order; at most `limit`. */
  readonly entries: readonly Entry[];
  /** How many were found in all. */
  readonly total: number;
}

export function find<Entry extends Findable>(index: Index<Entry>, query: string, limit: number): Found<Entry> {
  const words = query
    .toLowerCase()
    .split(/[\s/:]+/)
    .filter((word) => word !== "");
  const exact = findBy(scoreOf, index, words, limit);
  return exact.total > 0 || words.every(({ length }) => length < MIN_TYPING_ERROR)
    ? exact
    : findBy(scoreWithError, index, words, limit);
}

function findBy<Entry extends Findable>(
  score: (text: Text, word: Word) => number,
  { entries, texts, titles, details }: Index<Entry>,
  words: readonly string[],
  limit: number,
): Found<Entry> {
  const scores = words.map((text) => {
    const word = { text, letters: lettersOf(text) };
    return Uint8Array.from(texts, (one) => score(one, word));
  });
  const best: Scored[] = [];
  let total = 0;
  for (let number = 0; number < entries.length; number++) {
    const title = titles[number]!;
    let sum = 0;
    for (const ofWord of scores) {
      const score = Math.max(2 * ofWord[title]!, ofWord[details[number]!]!);
      if (score === 0) {
        sum = -1;
        break;
      }
      sum += score;
    }
    if (sum < 0) continue;
    total++;
    // Of equal matches the shorter name is nearer to what was typed. Names of nearly equal length
    // keep their order.
    if (words.length > 0) sum -= Math.min(texts[title]!.lower.length >> 2, 99) / 100;
    keepBest(best, { number, score: sum }, limit);
  }
  return { entries: best.map(({ number }) => entries[number]!), total };
}

interface Scored {
  readonly number: number;
  readonly score: number;
}

/** Sorting all that was found would take longer than finding it. */
function keepBest(best: Scored[], one: Scored, limit: number): void {
  if (best.length === limit) {
    if (one.score <= best[limit - 1]!.score) return;
    best.pop();
  }
  let at = best.length;
  while (at > 0 && best[at - 1]!.score < one.score) at--;
  best.splice(at, 0, one);
}

interface Word {
  readonly text: string;
  readonly letters: number;
}

/** 0 if the word is not in the text; otherwise between 1 and 100. */
function scoreOf(text: Text, { text: word, letters }: Word): number {
  if ((letters & ~text.letters) !== 0) return 0;
  const at = text.lower.indexOf(word);
  if (at === 0) return text.lower.length === word.length ? 100 : 90;
  if (at > 0) return text.starts[at] === 1 || beginsWord(text, word, at) ? 80 : 60;
  const gaps = gapsOf(text, word);
  return gaps <= MAX_GAPS ? 40 - 5 * gaps : 0;
}

/** The same where one letter of the word may be wrong. */
function scoreWithError(text: Text, word: Word): number {
  const missing = word.letters & ~text.letters;
  // More than one bit: more than one letter of the word is not in the text.
  if ((missing & (missing - 1)) !== 0) return 0;
  return scoreOf(text, word) || (word.text.length >= MIN_TYPING_ERROR && hasOneError(text, word.text) ? 10 : 0);
}

/** Whether the word is also at a later place, where a word begins. */
function beginsWord({ lower, starts }: Text, word: string, from: number): boolean {
  for (let at = lower.indexOf(word, from + 1); at > 0; at = lower.indexOf(word, at + 1)) {
    if (starts[at] === 1) return true;
  }
  return false;
}

/** Maximum letters that may be left out, except up to the start of a word. */
const MAX_GAPS = 2;
/** Shorter words would be found everywhere with one wrong letter. */
const MIN_TYPING_ERROR = 5;

/** Whether the word without one of its letters is in the text, with at most one left out. */
function hasOneError(text: Text, word: string): boolean {
  for (let at = 0; at < word.length; at++) {
    if (gapsOf(text, word.slice(0, at) + word.slice(at + 1)) <= 1) return true;
  }
  return false;
}

/**
 * How many letters of the text are left out between the letters of the word. Letters up to the
 * start of a word do not count: `plord` is in `PlaceOrder`. Infinity if the word is not in the
 * text.
 */
function gapsOf(text: Text, word: string): number {
  let best = Number.POSITIVE_INFINITY;
  for (let from = text.lower.indexOf(word[0]!); from >= 0 && best > 0; from = text.lower.indexOf(word[0]!, from + 1)) {
    best = Math.min(best, gapsFrom(text, word, from));
  }
  return best;
}

/** `from` is where the first letter of the word is. */
function gapsFrom({ lower, starts }: Text, word: string, from: number): number {
  let gaps = starts[from] === 1 ? 0 : 1;
  let at = from;
  for (let index = 1; index < word.length && gaps <= MAX_GAPS; index++) {
    const letter = word.charCodeAt(index);
    let next = at + 1;
    while (next < lower.length && lower.charCodeAt(next) !== letter) next++;
    if (next >= lower.length) return Number.POSITIVE_INFINITY;
    // The start of a later word is better than many left out letters of this one.
    if (next > at + 1 + MAX_GAPS || next === at + 1 || starts[next] === 1) {
      while (next > at + 1 && next < lower.length && !(lower.charCodeAt(next) === letter && starts[next] === 1)) next++;
      if (next >= lower.length) return Number.POSITIVE_INFINITY;
    } else {
      gaps += next - at - 1;
    }
    at = next;
  }
  return gaps;
}

function toText(text: string): Text {
  const starts = new Uint8Array(text.length);
  for (let at = 0; at < text.length; at++) {
    const isFirst = at === 0 || !/[a-z0-9]/i.test(text[at - 1]!);
    const isInside = /[a-z][A-Z0-9]|[0-9][A-Z]/.test(text.slice(Math.max(at - 1, 0), at + 1));
    if ((isFirst && /[a-z0-9]/i.test(text[at]!)) || isInside) starts[at] = 1;
  }
  const lower = text.toLowerCase();
  return { lower, starts, letters: lettersOf(lower) };
}

/** A bit for each of the letters a to z, and for every other character one of the rest. */
function lettersOf(lower: string): number {
  let letters = 0;
  for (let at = 0; at < lower.length; at++) {
    const code = lower.charCodeAt(at);
    letters |= 1 << (code >= 97 && code <= 122 ? code - 97 : 26 + (code % 5));
  }
  return letters;
}
