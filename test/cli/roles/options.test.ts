// The help of a role lists the options that have an effect in it. A flag of another role is
// rejected.
import t from "tap";
import { portico } from "../command-line.js";

const fits: [role: string, listed: string[], absent: string[]][] = [
  ["server", ["http", "grpc", "store", "lease", "cors", "advertise"], ["authority", "workers"]],
  ["gateway", ["http", "authority", "workers", "cors", "data"], ["grpc", "store", "advertise", "max-rules", "lease"]],
  ["authority", ["grpc", "store", "lease", "max-rules"], ["http", "authority", "workers", "cors", "omit-zeros"]],
  ["service", ["grpc", "authority", "advertise", "data"], ["http", "store", "workers", "cors", "lease", "max-rules"]],
];

for (const [role, listed, absent] of fits) {
  t.test(`portico ${role} --help`, async (t) => {
    const { stdout } = await portico([role, "--help"]);
    for (const option of listed) t.match(stdout, new RegExp(`^  --${option} <value>`, "m"), `lists --${option}`);
    for (const option of absent)
      t.notMatch(stdout, new RegExp(`^  --${option} <value>`, "m"), `leaves out --${option}`);
  });
}

t.test("a flag of another role is rejected, and the error names the roles that have it", async (t) => {
  const { exit, stderr } = await portico(["gateway", "--max-rules", "5"]);
  t.equal(exit, 2);
  t.equal(stderr, "portico gateway has no option --max-rules. It fits: portico server, portico authority\n");
});
