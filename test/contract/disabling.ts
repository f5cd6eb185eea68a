/** What disabling and enabling an account promises where authorities share any kind of store. */
import type { Test } from "tap";
import { Code } from "../../src/errors.js";
import { AccountsService } from "../../src/gen/portico/auth/v1/accounts.js";
import { AuthService } from "../../src/gen/portico/auth/v1/auth.js";
import { KeysService } from "../../src/gen/portico/auth/v1/keys.js";
import type { KeyValueStore } from "../../src/store/store.js";
import { again } from "../services/auth/again.js";
import { type Open, open } from "../services/auth/open.js";

const bob = { name: "bob", password: "bob's own password", scopes: ["staff"] };

/**
 * @param openDatabase makes a store, and returns a function that opens it once more, as each
 * process does
 * @param count number of authorities that run on it
 */
export function disablingContract(
  t: Test,
  openDatabase: (t: Test) => Promise<() => Promise<KeyValueStore>>,
  { count }: { readonly count: number },
): void {
  t.test("an account that is disabled at one authority is refused at every one, until it is enabled", async (t) => {
    const openStore = await openDatabase(t);
    const authorities: Open[] = [];
    for (let index = 0; index < count; index++) {
      const store = await openStore();
      t.teardown(() => store.close());
      authorities.push(await open(t, { store }));
    }
    const [first] = authorities as [Open];
    const admin = await again(() => first.login());
    await again(() => first.call(AccountsService.create, bob, admin));
    const token = await again(() => first.login("bob", bob.password));
    const request = { name: "ci", lifetime: undefined, resources: [], from: [] };
    const { secret } = await again(() => first.call(KeysService.create, request, token));
    const set = (disabled: boolean) =>
      again(() => first.call(AccountsService.setDisabled, { name: "bob", disabled }, admin));
    /** The codes of calls with the token and with the key, by the guard of an authority. */
    const codes = ({ call }: Open) =>
      Promise.all(
        [token, secret].map((one) =>
          call(AuthService.whoAmI, {}, one).then(
            () => 0,
            ({ code }) => code,
          ),
        ),
      );
    for (const authority of authorities) t.same(await codes(authority), [Code.OK, Code.OK]);
    await set(true);
    for (const authority of authorities) t.same(await codes(authority), [Code.UNAUTHENTICATED, Code.UNAUTHENTICATED]);
    await set(false);
    for (const authority of authorities) t.same(await codes(authority), [Code.UNAUTHENTICATED, Code.OK]);
  });
}
