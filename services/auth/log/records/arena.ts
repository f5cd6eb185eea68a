/**
 * Byte strings in large buffers outside of the JavaScript heap, so that a million of them cost the
 * garbage collector nothing.
 *
 * The buffers are slabs of equal blocks, with one block size per slab (J. Bonwick, "The Slab
 * Allocator", USENIX 1994). A slab whose blocks are all free is released. So records that grow,
 * such as logins, leave no unusable gaps.
 */

/** Bytes of a slab; a larger byte string gets a slab of its own. */
const SLAB = 256 * 1024;
/** Blocks begin at multiples of it. */
const UNIT = 16;
const UNITS = SLAB / UNIT;
/** Each block begins with the length of its content. */
const HEADER = 4;
/** Up to this size, each multiple of `UNIT` is a block size; above, four for each power of two. */
const FINE = 256;

interface Slab {
  readonly bytes: Buffer;
  readonly blockSize: number;
  /** Units at which free blocks begin. */
  readonly free: number[];
  /** Offset from which no block has been used yet. */
  fresh: number;
  used: number;
}

/** Byte strings, each identified by a number below 2³². */
export class Arena {
  readonly #slabs: (Slab | undefined)[] = [];
  /** Indexes in `#slabs` without a slab. */
  readonly #vacant: number[] = [];
  /** Indexes of slabs with a free block, by block size. */
  readonly #open = new Map<number, number[]>();

  /** Bytes of all slabs. */
  get bytes(): number {
    return this.#slabs.reduce((sum, slab) => sum + (slab?.bytes.length ?? 0), 0);
  }

  /** Copies the content, and returns the number by which it is read and removed. */
  add(content: Uint8Array): number {
    const size = blockSizeOf(content.length + HEADER);
    const open = this.#open.get(size) ?? [];
    this.#open.set(size, open);
    if (open.length === 0) open.push(this.#addSlab(size));
    const index = open.at(-1)!;
    const slab = this.#slabs[index]!;
    const at = slab.free.pop() ?? this.#freshBlock(slab);
    slab.used++;
    if (!hasSpace(slab)) open.pop();
    slab.bytes.writeUInt32LE(content.length, at * UNIT);
    slab.bytes.set(content, at * UNIT + HEADER);
    return index * UNITS + at;
  }

  /** A view of the content, valid until it is removed. */
  read(block: number): Buffer {
    const { bytes } = this.#slabs[Math.floor(block / UNITS)]!;
    const at = (block % UNITS) * UNIT;
    return bytes.subarray(at + HEADER, at + HEADER + bytes.readUInt32LE(at));
  }

  remove(block: number): void {
    const index = Math.floor(block / UNITS);
    const slab = this.#slabs[index]!;
    const open = this.#open.get(slab.blockSize)!;
    const wasFull = !hasSpace(slab);
    slab.free.push(block % UNITS);
    slab.used--;
    if (slab.used === 0) {
      if (!wasFull) open.splice(open.indexOf(index), 1);
      this.#slabs[index] = undefined;
      this.#vacant.push(index);
    } else if (wasFull) {
      open.push(index);
    }
  }

  #addSlab(blockSize: number): number {
    const index = this.#vacant.pop() ?? this.#slabs.length;
    if (index >= 2 ** 32 / UNITS) throw new RangeError("the records of the state take more than 64 GiB");
    const bytes = Buffer.allocUnsafeSlow(Math.max(SLAB, blockSize));
    this.#slabs[index] = { bytes, blockSize, free: [], fresh: 0, used: 0 };
    return index;
  }

  #freshBlock(slab: Slab): number {
    const at = slab.fresh;
    slab.fresh += slab.blockSize;
    return at / UNIT;
  }
}

function hasSpace({ bytes, blockSize, free, fresh }: Slab): boolean {
  return free.length > 0 || fresh + blockSize <= bytes.length;
}

function blockSizeOf(size: number): number {
  const step = size <= FINE ? UNIT : 2 ** Math.floor(Math.log2(size)) / 4;
  return Math.ceil(size / step) * step;
}
