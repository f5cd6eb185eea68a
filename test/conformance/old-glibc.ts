/**
 * The runner was built on a system with glibc 2.38 and libstdc++ 13. It does not start on a system
 * with older libraries, such as Debian 12. It needs little of the new versions: strtol and similar
 * functions under their names since C23, which differ only for binary literals, and a symbol that
 * marks the version. So a copy of the runner gets the older names and versions, which every system
 * has. The format of symbol versions in ELF:
 * https://refspecs.linuxfoundation.org/LSB_5.0.0/LSB-Core-generic/LSB-Core-generic/symversion.html
 */
const NEW_PREFIX = "__isoc23_";
/** The older version to require instead of each new one. */
const OLDER: Readonly<Record<string, string>> = { "GLIBC_2.38": "GLIBC_2.2.5", "GLIBCXX_3.4.32": "GLIBCXX_3.4.21" };
const MARKER = "_ZSt21ios_base_library_initv";

const SHT_DYNSYM = 11;
const SHT_VERNEED = 0x6ffffffe;
const SHT_VERSYM = 0x6fffffff;
const STB_WEAK = 2;

interface Section {
  readonly type: number;
  readonly offset: number;
  readonly size: number;
  readonly link: number;
}

/**
 * Returns a copy of a 64-bit little-endian program that does not need new symbols. A program that
 * does not need them is unchanged.
 */
export function withoutNewSymbols(program: Buffer): Buffer {
  const patched = Buffer.from(program);
  const sections = sectionsOf(patched);
  const symbols = sections.find(({ type }) => type === SHT_DYNSYM)!;
  const needs = sections.find(({ type }) => type === SHT_VERNEED)!;
  const versions = sections.find(({ type }) => type === SHT_VERSYM)!;
  const strings = sections[symbols.link]!.offset;
  const text = (offset: number) => patched.toString("latin1", strings + offset, patched.indexOf(0, strings + offset));

  const indexOf = replaceVersions(patched, needs, text);
  for (let at = 0; at < symbols.size / 24; at++) {
    const symbol = symbols.offset + at * 24;
    const nameAt = patched.readUInt32LE(symbol);
    const name = text(nameAt);
    // The old name is the end of the new one, so it is stored in the same place.
    if (name.startsWith(NEW_PREFIX)) {
      patched.writeUInt32LE(nameAt + NEW_PREFIX.length, symbol);
      patched.writeUInt16LE(indexOf.get("GLIBC_2.2.5")!, versions.offset + at * 2);
    }
    if (name === MARKER) patched[symbol + 4] = (STB_WEAK << 4) | (patched[symbol + 4]! & 15);
  }
  return patched;
}

function sectionsOf(program: Buffer): Section[] {
  const start = Number(program.readBigUInt64LE(0x28));
  const size = program.readUInt16LE(0x3a);
  return Array.from({ length: program.readUInt16LE(0x3c) }, (_, index) => {
    const at = start + index * size;
    return {
      type: program.readUInt32LE(at + 4),
      offset: Number(program.readBigUInt64LE(at + 24)),
      size: Number(program.readBigUInt64LE(at + 32)),
      link: program.readUInt32LE(at + 40),
    };
  });
}

/**
 * Requires the older version wherever the program requires the newer one.
 * @returns the index of each required version
 */
function replaceVersions(program: Buffer, needs: Section, text: (offset: number) => string): Map<string, number> {
  const needed: { at: number; version: string }[] = [];
  for (let file = needs.offset, next = 1; next !== 0; file += next) {
    next = program.readUInt32LE(file + 12);
    let at = file + program.readUInt32LE(file + 8);
    for (let left = program.readUInt16LE(file + 2); left > 0; left--) {
      needed.push({ at, version: text(program.readUInt32LE(at + 8)) });
      at += program.readUInt32LE(at + 12);
    }
  }
  for (const { at, version } of needed) {
    const older = needed.find((other) => other.version === OLDER[version]);
    if (older === undefined) continue;
    program.copy(program, at, older.at, older.at + 4); // the hash of the version's name
    program.copy(program, at + 8, older.at + 8, older.at + 12); // and the name
  }
  return new Map(needed.map(({ at, version }) => [version, program.readUInt16LE(at + 6)]));
}
