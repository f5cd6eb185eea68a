/**
 * The messages that are measured. Each shape has as many elements as fit into a size. They are the
 * same in every run.
 */

export interface Sample {
  readonly shape: string;
  /** Approximate bytes of JSON. */
  readonly size: number;
  readonly type: string;
  readonly value: unknown;
}

const SIZES = [1024, 4 * 1024, 64 * 1024, 1024 * 1024];

export function samples(): Sample[] {
  const all: Sample[] = [{ shape: "small", size: 15, type: "bench.Small", value: { name: "Ada" } }];
  for (const [shape, { type, grow }] of Object.entries(SHAPES)) {
    for (const size of SIZES) all.push({ shape, size, type, value: filled(grow, size) });
  }
  return all;
}

interface Shape {
  readonly type: string;
  /** Makes a message with `count` elements. */
  readonly grow: (random: Random, count: number) => unknown;
}

const SHAPES: Readonly<Record<string, Shape>> = {
  ascii: text((random) => random.words(8)),
  lines: text((random) => `${random.words(8)}\n`),
  quoted: text((random) => `${random.words(80)} "${random.word()}" `),
  unicode: text((random) => `${random.word()} – ${random.word().replaceAll("a", "å")} `),
  cyrillic: text(() => "Портико приветствует. "),
  paragraphs: {
    type: "bench.Strings",
    grow: (random, count) => ({ items: times(count, () => ({ text: random.words(140) })) }),
  },
  bytes: {
    type: "bench.Blob",
    grow: (random, count) => ({ data: Buffer.from(times(count, () => random.words(10)).join()).toString("base64") }),
  },
  strings: { type: "bench.Strings", grow: (random, count) => ({ items: times(count, () => item(random)) }) },
  numbers: {
    type: "bench.Numbers",
    grow: (random, count) => ({
      points: times(count, () => point(random)),
      counts: times(count * 4, () => random.integer(100_000)),
    }),
  },
  maps: {
    type: "bench.Maps",
    grow: (random, count) => ({
      labels: object(count * 2, (at) => [`${random.word()}-${at}`, random.words(3)]),
      entries: object(count, (at) => [`${random.word()}.${at}`, { name: random.word(), count: random.integer(1000) }]),
      prices: object(count, (at) => [String(at), random.integer(100_000) / 100]),
    }),
  },
  nested: { type: "bench.Nested", grow: (random, count) => ({ nodes: times(count, () => node(random, 3)) }) },
  mixed: { type: "bench.Mixed", grow: (random, count) => ({ records: times(count, () => record(random)) }) },
  struct: {
    type: "bench.Struct",
    grow: (random, count) => ({ value: object(count, (at) => [`${random.word()}${at}`, anything(random, 3)]) }),
  },
};

/** One long string. */
function text(part: (random: Random) => string): Shape {
  return { type: "bench.Text", grow: (random, count) => ({ text: times(count, () => part(random)).join("") }) };
}

function filled(grow: Shape["grow"], size: number): unknown {
  const one = JSON.stringify(grow(new Random(), 8)).length / 8;
  return grow(new Random(), Math.max(1, Math.round(size / one)));
}

/**
 * The random number generator Mulberry32
 * (https://gist.github.com/tommyettinger/46a874533244883189143505d203312c).
 */
class Random {
  #state = 1;

  next(): number {
    this.#state = (this.#state + 0x6d2b79f5) | 0;
    let mixed = Math.imul(this.#state ^ (this.#state >>> 15), 1 | this.#state);
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed;
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  }

  integer(below: number): number {
    return Math.floor(this.next() * below);
  }

  word(): string {
    return WORDS[this.integer(WORDS.length)]!;
  }

  words(count: number): string {
    return times(count, () => this.word()).join(" ");
  }
}

const WORDS =
  "alpha bravo charlie delta echo foxtrot golf hotel india juliett kilo lima mike november oscar papa quebec".split(
    " ",
  );

function times<T>(count: number, make: (at: number) => T): T[] {
  return Array.from({ length: count }, (_, at) => make(at));
}

function object(count: number, make: (at: number) => [string, unknown]): Record<string, unknown> {
  return Object.fromEntries(times(count, make));
}

function item(random: Random) {
  return {
    id: `item-${random.integer(1e9)}`,
    title: random.words(5),
    text: random.words(25),
    tags: times(4, () => random.word()),
  };
}

function point(random: Random) {
  return {
    x: random.integer(1_000_000) / 1000,
    y: random.next() * 180,
    weight: random.integer(1000) + 1,
    color: random.integer(0xffffff) + 1,
    id: String(random.integer(1e15) + 1),
    seen: true,
  };
}

function node(random: Random, depth: number): unknown {
  return {
    name: random.word(),
    rows: times(2, () => ({ cells: times(6, () => random.integer(1000)), names: times(2, () => random.word()) })),
    nodes: depth === 0 ? [] : times(2, () => node(random, depth - 1)),
  };
}

function record(random: Random) {
  return {
    id: `u-${random.integer(1e9)}`,
    name: random.words(2),
    email: `${random.word()}@${random.word()}.example`,
    age: random.integer(90) + 1,
    active: true,
    score: random.integer(10_000) / 100 + 0.005,
    balance: String(random.integer(1e12) + 1),
    state: "STATE_ACTIVE",
    roles: [random.word(), random.word()],
    labels: { team: random.word(), floor: random.word() },
    created: `20${10 + random.integer(10)}-0${1 + random.integer(9)}-1${random.integer(9)}T12:30:05Z`,
    address: { street: random.words(3), city: random.word(), country: "NO", zip: random.integer(9999) + 1 },
    picture: Buffer.from(random.words(6)).toString("base64"),
  };
}

function anything(random: Random, depth: number): unknown {
  const kind = random.integer(depth === 0 ? 4 : 6);
  if (kind === 0) return random.words(3);
  if (kind === 1) return random.integer(100_000) / 8;
  if (kind === 2) return random.integer(1000);
  if (kind === 3) return random.next() < 0.5;
  if (kind === 4) return times(4, () => anything(random, depth - 1));
  return object(4, (at) => [`${random.word()}${at}`, anything(random, depth - 1)]);
}
