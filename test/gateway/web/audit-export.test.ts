// The audit trail as CSV, whose texts callers choose.
import t from "tap";
import { toCsv } from "../../../gateway/web/console/audit-export.js";

const record = (subject: string) => ({
  ...{ namespace: "default", cursor: "1.0" },
  ...{ revision: "1", time: "2026-11-24T01:02:03Z", actor: "ada", action: "key created", subject },
  ...{ administrator: false, address: "", key: "", requestId: "" },
});

t.test("a cell that a spreadsheet would take for a formula is text", async (t) => {
  const cases: readonly (readonly [subject: string, cell: string])[] = [
    ["plain", "plain"],
    ["=1+1", `"'=1+1"`],
    ["+1", `"'+1"`],
    ["-1", `"'-1"`],
    ["@SUM(A1)", `"'@SUM(A1)"`],
    ["\t=1", `"'\t=1"`],
    ['=cmd|"x",1', `"'=cmd|""x"",1"`],
    ["a,b", `"a,b"`],
    ["a\nb", `"a\nb"`],
  ];
  for (const [subject, cell] of cases) {
    const [, row] = toCsv([record(subject)]).split("\r\n");
    t.equal(row, `1,2026-11-24T01:02:03Z,ada,key created,${cell},,,`, subject);
  }
});
