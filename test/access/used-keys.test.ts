// The pings report to the authority which keys were used.
import t from "tap";
import { createToken, hashToken } from "../../src/call/token.js";
import { call } from "./endpoints.js";
import { start } from "./scripted-authority.js";
import { ask, codeOf } from "./test-gateway.js";

t.test("the use of a key is reported once per ping, and only for keys whose use is to be reported", async (t) => {
  const { script, guard } = await start(t);
  await guard.ready();
  const [key, token, foreign] = [createToken("key"), createToken("access"), createToken("key")];
  script.callers.set(hashToken(key).toString("hex"), { reportUse: true });
  script.callers.set(hashToken(token).toString("hex"), {});
  script.callers.set(hashToken(foreign).toString("hex"), { reportUse: true, namespace: "other" });
  const reports = async () => {
    const { length } = script.stream.pings;
    await script.until(() => script.stream.pings.length > length + 1);
    return script.stream.pings.slice(length).flatMap(({ usedKeys }) => usedKeys.map((hash) => hash.toString("hex")));
  };

  t.same(await reports(), [], "not used yet");
  for (let times = 0; times < 5; times++) await ask(guard, call, { token: key });
  await ask(guard, call, { token });
  await codeOf(guard, call, { token: foreign, namespace: "default" }); // does not count there, so this is no use of the key
  t.same(await reports(), [hashToken(key).toString("hex")]);
  t.same(await reports(), [], "reported once");
  await ask(guard, call, { token: key });
  t.same(await reports(), [hashToken(key).toString("hex")], "used again");
});
