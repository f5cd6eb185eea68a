// examples/assertion/: each verifier accepts the same caller assertions as src/access/assertions,
// and refuses the same.
import { spawnSync } from "node:child_process";
import { copyFileSync, mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import t from "tap";
import { signAssertion } from "../../src/access/assertions/caller-assertion.js";
import type { CallContext } from "../../src/gen/portico/auth/v1/delegation.js";
import type { Caller } from "../../src/gen/portico/auth/v1/policy.js";

t.setTimeout(120_000);
const KEY = Buffer.alloc(32, 7);
const OTHER = Buffer.alloc(32, 8);
const RESOURCE = "service:shop:Orders.Get";
const NOW = 1_800_000_000_000;

const caller: Caller = {
  ...{ namespace: "team", account: "ada", scopes: ["admin", "größe"], resources: ["service:shop:*"], from: [] },
  ...{ expires: { seconds: BigInt(NOW / 1000), nanos: 5 }, reportUse: true, enrolment: "", namespaceId: "" },
  key: undefined,
};
const context: CallContext = {
  ...{ resource: RESOURCE, namespace: "team", namespaceId: "id", caller, sha256: Buffer.alloc(32, 255), service: "" },
  ...{ expires: BigInt(NOW + 1), generation: 300n, revision: 70_000n, serviceSha256: Buffer.alloc(0) },
};
const sign = (more: Partial<CallContext> = {}, secret = KEY) =>
  signAssertion({ ...context, ...more }, { generation: 1, secret }, OTHER);
const valid = sign();

/** Each assertion with what a verifier prints for it. */
const CASES: readonly (readonly [title: string, assertion: string, printed: string])[] = [
  ["a caller with scopes", valid, "ada admin,größe team"],
  ["a call without a token", sign({ caller: undefined }), "  team"],
  ["another key", sign({}, OTHER), "refused: the assertion was not signed for this service"],
  ["a changed payload", `x${valid.slice(1)}`, "refused: the assertion was not signed for this service"],
  ["a cut assertion", valid.slice(0, -1), "refused: the assertion was not signed for this service"],
  ["no assertion", "none", "refused: the assertion was not signed for this service"],
  ["another endpoint", sign({ resource: "service:shop:Orders.Add" }), "refused: the assertion is for another endpoint"],
  ["the end of its time", sign({ expires: BigInt(NOW) }), "refused: the assertion has expired"],
];

const PYTHON = `import base64, sys
from verify import verify
for line in sys.stdin:
    try:
        caller = verify(line.strip(), base64.b64decode("${KEY.toString("base64")}"), "${RESOURCE}", ${NOW / 1000})
        print(caller["account"], ",".join(caller["scopes"]), caller["namespace"])
    except ValueError as error:
        print("refused:", error)
`;

const GO = `package main

import (
	"bufio"
	"encoding/base64"
	"fmt"
	"os"
	"strings"
	"time"

	"example/assertion"
)

func main() {
	key, _ := base64.StdEncoding.DecodeString("${KEY.toString("base64")}")
	lines := bufio.NewScanner(os.Stdin)
	for lines.Scan() {
		caller, err := assertion.Verify(lines.Text(), key, "${RESOURCE}", time.UnixMilli(${NOW}))
		if err != nil {
			fmt.Println("refused:", err)
			continue
		}
		fmt.Println(caller.Account, strings.Join(caller.Scopes, ","), caller.Namespace)
	}
}
`;

const JAVA = `import java.io.PrintStream;
import java.nio.charset.StandardCharsets;
import java.util.Base64;
import java.util.Scanner;

class Main {
  public static void main(String[] args) throws Exception {
    byte[] key = Base64.getDecoder().decode("${KEY.toString("base64")}");
    PrintStream out = new PrintStream(System.out, true, StandardCharsets.UTF_8);
    Scanner lines = new Scanner(System.in, StandardCharsets.UTF_8);
    while (lines.hasNextLine()) {
      try {
        Assertion.Caller caller = Assertion.verify(lines.nextLine(), key, "${RESOURCE}", ${NOW}L);
        out.println(caller.account() + " " + String.join(",", caller.scopes()) + " " + caller.namespace());
      } catch (IllegalArgumentException error) {
        out.println("refused: " + error.getMessage());
      }
    }
  }
}
`;

interface Language {
  readonly name: string;
  /** The program that must exist. */
  readonly program: readonly string[];
  /** Writes the files into a folder, and returns the commands; the last one reads assertions. */
  readonly prepare: (folder: string) => (readonly string[])[];
}

const LANGUAGES: readonly Language[] = [
  {
    name: "Python",
    program: ["python3", "--version"],
    prepare(folder) {
      copyFileSync("examples/assertion/verify.py", join(folder, "verify.py"));
      writeFileSync(join(folder, "run.py"), PYTHON);
      return [["python3", "run.py"]];
    },
  },
  {
    name: "Go",
    program: ["go", "version"],
    prepare(folder) {
      mkdirSync(join(folder, "assertion"));
      copyFileSync("examples/assertion/verify.go", join(folder, "assertion/verify.go"));
      writeFileSync(join(folder, "go.mod"), "module example\n\ngo 1.24\n");
      writeFileSync(join(folder, "main.go"), GO);
      return [
        ["go", "build", "-o", "run", "."],
        ["./run", ""],
      ];
    },
  },
  {
    name: "Java",
    program: ["javac", "-version"],
    prepare(folder) {
      copyFileSync("examples/assertion/Assertion.java", join(folder, "Assertion.java"));
      writeFileSync(join(folder, "Main.java"), JAVA);
      return [
        ["javac", "-encoding", "UTF-8", "Assertion.java", "Main.java"],
        ["java", "-cp", ".", "Main"],
      ];
    },
  },
];

for (const { name, program, prepare } of LANGUAGES) {
  const [command = "", ...args] = program;
  const isAbsent = spawnSync(command, args).status !== 0;
  t.test(`the verifier in ${name}`, { skip: isAbsent && `there is no ${command} here` }, async (t) => {
    const cwd = t.testdir();
    const input = CASES.map(([, assertion]) => `${assertion}\n`).join("");
    let printed = "";
    for (const [file = "", ...given] of prepare(cwd)) {
      const { status, stdout, stderr } = spawnSync(file, given, {
        cwd,
        input,
        encoding: "utf8",
        env: { ...process.env, PYTHONIOENCODING: "utf-8" },
      });
      t.equal(status, 0, stderr);
      printed = stdout;
    }
    const lines = printed.split("\n");
    for (const [index, [title, , expected]] of CASES.entries()) t.equal(lines[index], expected, title);
  });
}
