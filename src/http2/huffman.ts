/**
 * Decodes HPACK's Huffman code (RFC 7541, section 5.2 and Appendix B).
 *
 * The code is canonical: codes of the same length are consecutive, in the order of their symbols,
 * and follow the codes of the next shorter length. So the lengths alone define the code. This file
 * builds a tree from the lengths, and from the tree a table that is read with four bits at a time.
 * The rows of the table are the inner nodes of the tree. The shortest code has five bits, so four
 * bits never complete two symbols.
 */

/** The code length of each byte, in bits. */
// biome-ignore format: a table of numbers
const LENGTHS = [
  13, 23, 28, 28, 28, 28, 28, 28, 28, 24, 30, 28, 28, 30, 28, 28, 28, 28, 28, 28, 28, 28, 30, 28, 28, 28, 28, 28, 28, 28, 28, 28,
  6, 10, 10, 12, 13, 6, 8, 11, 10, 10, 8, 11, 8, 6, 6, 6, 5, 5, 5, 6, 6, 6, 6, 6, 6, 6, 7, 8, 15, 6, 12, 10,
  13, 6, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 8, 7, 8, 13, 19, 13, 14, 6,
  15, 5, 6, 5, 6, 5, 6, 6, 6, 5, 7, 7, 6, 6, 6, 5, 6, 7, 6, 5, 5, 6, 7, 7, 7, 7, 7, 15, 11, 14, 13, 28,
  20, 22, 20, 20, 22, 22, 22, 23, 22, 23, 23, 23, 23, 23, 24, 23, 24, 24, 22, 23, 24, 23, 23, 23, 23, 21, 22, 23, 22, 23, 23, 24,
  22, 21, 20, 22, 22, 23, 23, 21, 23, 22, 22, 24, 21, 22, 23, 23, 21, 21, 22, 21, 23, 22, 23, 23, 20, 22, 22, 22, 23, 22, 22, 23,
  26, 26, 20, 19, 22, 23, 22, 25, 26, 26, 26, 27, 27, 26, 24, 25, 19, 21, 26, 27, 27, 26, 27, 24, 21, 21, 26, 26, 28, 27, 27, 27,
  20, 24, 20, 21, 22, 21, 21, 23, 22, 22, 25, 25, 24, 24, 26, 23, 26, 27, 26, 26, 27, 27, 27, 27, 27, 28, 27, 27, 27, 27, 27, 26,
];

/**
 * The end-of-string symbol: thirty 1 bits. It must not appear in a string. Padding is a prefix of
 * it.
 */
const EOS = 256;
const EOS_LENGTH = 30;

/**
 * An entry of the table is one number: the next node, and a symbol if the four bits complete one.
 */
const NODE = 0xff;
const EMITS = 0x100;
const SYMBOL_SHIFT = 16;
/** No valid entry: the bits complete the end-of-string symbol, which must not appear. */
const INVALID = -1;

interface Node {
  children: [Node | number | undefined, Node | number | undefined];
  /** The row in the table. */
  row: number;
  /** The depth of the node when only 1 bits lead to it; otherwise -1. */
  ones: number;
}

const nodes = tree();
const TABLE = new Int32Array(nodes.length * 16);
/**
 * Whether a string may end at a node: only after less than eight bits of padding, all of them 1.
 */
const MAY_END = nodes.map(({ ones }) => ones >= 0 && ones < 8);
for (const node of nodes) for (let bits = 0; bits < 16; bits++) TABLE[node.row * 16 + bits] = walk(node, bits);

function tree(): Node[] {
  const nodes: Node[] = [];
  const grow = (ones: number): Node => {
    const node: Node = { children: [undefined, undefined], row: nodes.length, ones };
    nodes.push(node);
    return node;
  };
  const root = grow(0);
  const symbols = [...LENGTHS, EOS_LENGTH].map((length, symbol) => ({ length, symbol }));
  symbols.sort((a, b) => a.length - b.length || a.symbol - b.symbol);
  let code = 0;
  let before = 0;
  for (const { length, symbol } of symbols) {
    code *= 2 ** (length - before);
    before = length;
    let node = root;
    for (let bit = length - 1; bit > 0; bit--) {
      const side = Math.floor(code / 2 ** bit) % 2 === 1 ? 1 : 0;
      node.children[side] ??= grow(side === 1 && node.ones >= 0 ? node.ones + 1 : -1);
      node = node.children[side] as Node;
    }
    node.children[code % 2 === 1 ? 1 : 0] = symbol;
    code++;
  }
  return nodes;
}

function walk(from: Node, bits: number): number {
  let node = from;
  let emitted = 0;
  for (let mask = 8; mask > 0; mask >>= 1) {
    const next = node.children[bits & mask ? 1 : 0] as Node | number;
    if (next === EOS) return INVALID;
    if (typeof next === "number") {
      emitted = EMITS | (next << SYMBOL_SHIFT);
      node = nodes[0] as Node;
    } else {
      node = next;
    }
  }
  return emitted | node.row;
}

/** Grows with the longest string. The maximum size of a header block limits it. */
let scratch = Buffer.allocUnsafeSlow(4096);

/**
 * @returns the decoded string, one character for each byte; undefined when the bytes are not
 * Huffman code
 */
export function decodeHuffman(buffer: Buffer, start: number, end: number): string | undefined {
  // The shortest code has five bits.
  const maxLength = Math.ceil(((end - start) * 8) / 5);
  if (scratch.length < maxLength) scratch = Buffer.allocUnsafeSlow(maxLength);
  let row = 0;
  let length = 0;
  for (let at = start; at < end; at++) {
    const byte = buffer[at] as number;
    for (let shift = 4; shift >= 0; shift -= 4) {
      const step = TABLE[row * 16 + ((byte >> shift) & 15)] as number;
      if (step === INVALID) return undefined;
      if (step & EMITS) scratch[length++] = step >> SYMBOL_SHIFT;
      row = step & NODE;
    }
  }
  return MAY_END[row] ? scratch.toString("latin1", 0, length) : undefined;
}
