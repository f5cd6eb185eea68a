import t from "tap";
import { readContract } from "../../../services/registry/contract.js";
import { printSteps } from "../../../services/registry/print-proto.js";
import { atOnce } from "../../../src/overload/pace.js";
import { compile } from "./compile.js";

const service = (types: string) => `service Example {\n  rpc Call(Request) returns (Request);\n}\n\n${types}`;
const file = (name: string, types: string, syntax = 'syntax = "proto3"', imports = "") =>
  `// ${name}.proto\n${syntax};\n\npackage ${name};\n${imports}\n${service(types)}`;

interface Case {
  readonly name: string;
  readonly source: string;
  /** The printed text; undefined if it equals the source. */
  readonly printed?: string;
}

const cases: readonly Case[] = [
  { name: "empty", source: file("empty", "message Request {}\n") },
  {
    name: "scalars",
    source: file(
      "scalars",
      `message Request {
  double a = 1;
  float b = 2;
  int32 c = 3;
  int64 d = 4;
  uint32 e = 5;
  uint64 f = 6;
  sint32 g = 7;
  sint64 h = 8;
  fixed32 i = 9;
  fixed64 j = 10;
  sfixed32 k = 11;
  sfixed64 l = 12;
  bool m = 13;
  string n = 14;
  bytes o = 15;
}
`,
    ),
  },
  {
    name: "shapes",
    source: `// shapes.proto
syntax = "proto3";

package shapes;

service Shapes {
  rpc Up(stream Request) returns (Request);
  rpc Down(Request) returns (stream Request);

  rpc Both(stream Request) returns (stream Request) {
    option deprecated = true;
  }

  rpc Read(Request) returns (Request) {
    option idempotency_level = NO_SIDE_EFFECTS;
  }
}

message Request {}
`,
  },
  {
    name: "fields",
    source: file(
      "fields",
      `message Request {
  repeated string list = 1;
  optional int32 presence = 2;
  map<string, Colour> colours = 3;
  map<int64, Request> requests = 4;

  oneof choice {
    string text = 5;
    Request request = 6;
  }

  string renamed = 7 [json_name = "other\\xc3\\xa9"];
  string old = 8 [deprecated = true];
  repeated int32 loose = 9 [packed = false];
}

enum Colour {
  RED = 0;
  BLUE = 1 [deprecated = true];
}
`,
    ),
  },
  {
    name: "comments",
    source: file(
      "comments",
      `// Asks.
//
//   Indented.
message Request {
  // Who asks.
  string name = 1;

  // How.
  oneof how {
    // Loudly.
    bool loud = 2;
  }
}
`,
    ),
  },
  {
    name: "trailing",
    source: file("trailing", "message Request {\n  string name = 1; // After, with a bell\u0007.\n}\n"),
    printed: file("trailing", "message Request {\n  // After, with a bell.\n  string name = 1;\n}\n"),
  },
  {
    name: "unreachable",
    source: file(
      "unreachable",
      "message Request {\n  Used.Inner inner = 1;\n\n  message Unused {}\n}\nmessage Other {}\nmessage Used { message Inner {} enum Unused { A = 0; } }\n",
    ),
    printed: file(
      "unreachable",
      "message Request {\n  Used.Inner inner = 1;\n}\n\nmessage Used {\n  message Inner {}\n}\n",
    ),
  },
  {
    name: "names", // A nested type hides the one of the same name further out.
    source: file(
      "names",
      `message Request {
  Rule inner = 1;
  names.Rule outer = 2;

  message Rule {
    Kind kind = 1;

    enum Kind {
      option allow_alias = true;
      A = 0;
      B = 0;
    }
  }
}

message Rule {}
`,
    ),
  },
  {
    name: "wellknown",
    source: file(
      "wellknown",
      "message Request {\n  google.protobuf.Timestamp at = 1;\n  google.protobuf.Any any = 2;\n}\n",
      undefined,
      '\nimport "google/protobuf/any.proto";\nimport "google/protobuf/timestamp.proto";\n',
    ),
  },
  {
    name: "proto2",
    source: file(
      "proto2",
      `message Request {
  required string name = 1;
  optional string greeting = 2 [default = "he\\"llo"];
  optional bytes raw = 3 [default = "\\001\\377"];
  optional double big = 4 [default = inf];
  repeated int32 packed = 5 [packed = true];

  optional group Result = 6 {
    optional int32 count = 7;
  }
}
`,
      'syntax = "proto2"',
    ),
  },
  {
    name: "edition",
    source: file(
      "edition",
      "message Request {\n  string name = 1;\n  repeated Request all = 2;\n}\n",
      'edition = "2023"',
    ),
  },
];

t.test("the printed contract is the .proto source, without what callers need not know", (t) => {
  const set = compile(t.testdir(), Object.fromEntries(cases.map(({ name, source }) => [`${name}.proto`, source])));
  for (const { name, source, printed = source } of cases) {
    const grpcService = name === "shapes" ? "shapes.Shapes" : `${name}.Example`;
    const { endpoints } = readContract("example", set, [grpcService]);
    t.equal(atOnce(printSteps(endpoints.map(({ method }) => method))), printed, name);
  }
  t.end();
});

t.test("only types that the given methods use are printed, and the section of each file compiles", (t) => {
  const types = 'syntax = "proto3";\npackage far;\nmessage Far {}\nmessage Hidden {}\n';
  const near = `syntax = "proto3";
package near;
import "far.proto";
service Near {
  rpc Shown(far.Far) returns (far.Far);
  rpc Hidden(far.Hidden) returns (far.Hidden);
}
`;
  const set = compile(t.testdir(), { "far.proto": types, "near.proto": near });
  const { endpoints } = readContract("near", set, ["near.Near"]);
  const printed = atOnce(
    printSteps(endpoints.filter(({ method }) => method.name === "Shown").map(({ method }) => method)),
  );
  t.equal(
    printed,
    `// near.proto
syntax = "proto3";

package near;

import "far.proto";

service Near {
  rpc Shown(far.Far) returns (far.Far);
}

// far.proto
syntax = "proto3";

package far;

message Far {}
`,
  );
  const sections = printed.split(/^(?=\/\/ \S+\.proto$)/m).map((text) => [/\/\/ (\S+)/.exec(text)![1]!, text]);
  t.doesNotThrow(() => compile(t.testdir({ again: {} }), Object.fromEntries(sections)));
  t.end();
});
