/** Generates identifiers: UUID, ULID and Nano ID, each with its well-known library. */
import { nanoid } from "nanoid";
import { monotonicFactory } from "ulid";
import { v4, v7 } from "uuid";
import { IdService, Type } from "../../src/gen/id/id.js";
import { invalidArgument, part } from "../../src/kit/index.js";
import { checkNumber } from "../patterns/checks.js";

const COUNT = { min: 1, max: 1000, absent: 1 };
/** The number of characters of a Nano ID. */
const LENGTH = { min: 8, max: 64, absent: 21 };

interface Kind {
  readonly type: Type;
  readonly description: string;
  generate(length: number): string;
}

const UUID7: Kind = {
  type: Type.UUID7,
  description: "A UUID of version 7 (RFC 9562): begins with the time, so that identifiers sort by age. The default.",
  generate: () => v7(),
};

const ulid = monotonicFactory();

const KINDS: readonly Kind[] = [
  UUID7,
  {
    type: Type.UUID4,
    description: "A UUID of version 4 (RFC 9562): random, so that it discloses nothing.",
    generate: () => v4(),
  },
  {
    type: Type.ULID,
    description: "A ULID: 26 letters and digits that begin with the time, so that identifiers sort by age.",
    generate: () => ulid(),
  },
  {
    type: Type.NANOID,
    description: "A Nano ID: random and short, for a URL. `length` says how many characters it has.",
    generate: nanoid,
  },
];

/** The service `id`. */
export const parts = [
  part(IdService, {
    generate(request) {
      const kind = request.type === Type.TYPE_UNSPECIFIED ? UUID7 : KINDS.find(({ type }) => type === request.type);
      if (kind === undefined) throw invalidArgument(`type: must be one that Types lists, got ${request.type}`);
      const count = checkNumber("count", request.count, COUNT);
      const length = checkNumber("length", request.length, LENGTH);
      return { ids: Array.from({ length: count }, () => kind.generate(length)) };
    },

    types: () => ({
      types: KINDS.map(({ type, description, generate }) => ({ type, description, example: generate(LENGTH.absent) })),
    }),
  }),
];
