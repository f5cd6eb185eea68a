/**
 * Two instances of built-in services, each in its own process, store their data in one database.
 */
import { type ChildProcess, fork } from "node:child_process";
import t, { type Test } from "tap";
import { BUILT_IN_SERVICES } from "../../cli/roles/built-in-services.js";
import { Code } from "../../src/errors.js";
import { openServiceStore } from "../../src/store/open.js";
import { bundleInto } from "../support/bundle.js";
import { type Message, serveCatalogue } from "../support/catalogue.js";
import { CuttingProxy } from "../support/cutting-proxy.js";
import { FULL } from "../support/full.js";
import { noPostgres, startPostgres } from "../support/postgres.js";
import { until } from "../support/until.js";
import type { Asked, Told } from "./instance.js";

const RACERS = 64;
const MAX_WALLETS = 100_000;

/** A process with the services. */
class Instance {
  readonly #child: ChildProcess;
  readonly #listeners = new Map<number, (told: Told) => void>();

  constructor(t: Test, program: string, url: string) {
    this.#child = fork(program, [url]);
    t.teardown(() => this.kill());
    this.#child.on("message", (told: Told) => this.#listeners.get(told.id)?.(told));
  }

  /** Resolves with the response, or the code of the error. */
  call(service: string, endpoint: string, request: object): Promise<Message> {
    return new Promise((resolve) => {
      this.#send({ service, endpoint, request, streams: false }, ({ response, code }) => resolve(response ?? code));
    });
  }

  stream(service: string, endpoint: string, request: object, onMessage: (message: Message) => void): void {
    this.#send({ service, endpoint, request, streams: true }, ({ message }) => message && onMessage(message));
  }

  kill(): void {
    this.#child.kill("SIGKILL");
  }

  #send(asked: Omit<Asked, "id">, listener: (told: Told) => void): void {
    const id = this.#listeners.size;
    this.#listeners.set(id, listener);
    this.#child.send({ ...asked, id });
  }
}

t.test("two instances on one database", { skip: noPostgres }, async (t) => {
  const server = await startPostgres(t);
  const program = await bundleInto(t.testdir(), "test/services/instance.ts");
  const instances = [new Instance(t, program, server.url()), new Instance(t, program, server.url())] as const;
  const [one, two] = instances;
  const race = (service: string, endpoint: string, requestOf: (racer: number) => object): Promise<Message[]> =>
    Promise.all(
      Array.from({ length: RACERS }, (_, racer) => instances[racer % 2]!.call(service, endpoint, requestOf(racer))),
    );

  t.test("lose no increment", async (t) => {
    const values = await race("cache", "Increment", () => ({ key: "visits" }));
    t.equal(new Set(values.map(({ value }) => value)).size, RACERS);
    t.match(await one.call("cache", "Get", { key: "visits" }), { value: `${RACERS}` });
  });

  t.test("see the other's changes at once", async (t) => {
    for (const [value, [to, from]] of [[one, two] as const, [two, one] as const].entries()) {
      await to.call("cache", "Set", { key: "greeting", value: `${value}` });
      t.match(await from.call("cache", "Get", { key: "greeting" }), { value: `${value}` });
    }
  });

  t.test("lose no credit, and overdraw no wallet", async (t) => {
    await one.call("wallet", "Create", { id: "till" });
    await race("wallet", "Credit", (racer) => ({ id: "till", amount: 1, idempotencyKey: `credit ${racer}` }));
    t.match(await two.call("wallet", "Balance", { id: "till" }), { balance: `${RACERS}` });
    const debits = await race("wallet", "Debit", (racer) => ({
      id: "till",
      amount: 2,
      idempotencyKey: `debit ${racer}`,
    }));
    t.equal(debits.filter((response) => response === Code.FAILED_PRECONDITION).length, RACERS / 2);
    t.match(await one.call("wallet", "Balance", { id: "till" }), { balance: "0" });
  });

  t.test("treat calls with the same idempotency key as one call", async (t) => {
    await one.call("wallet", "Create", { id: "once" });
    const responses = await race("wallet", "Credit", () => ({ id: "once", amount: 5, idempotencyKey: "one" }));
    t.equal(new Set(responses.map((response) => JSON.stringify(response))).size, 1);
    t.match(await two.call("wallet", "Balance", { id: "once" }), { balance: "5" });
  });

  t.test("accept a code once", async (t) => {
    const { code } = await one.call("otp", "Generate", { subject: "ada@example.com" });
    const responses = await race("otp", "Validate", () => ({ subject: "ada@example.com", code }));
    t.equal(responses.filter(({ valid }) => valid).length, 1);
  });

  t.test("keep the items of one push to a list together, and lose none", async (t) => {
    await race("lists", "Push", (racer) => ({ list: "groceries", items: [`${racer}a`, `${racer}b`] }));
    const { items } = await one.call("lists", "Range", { list: "groceries", limit: 1000 });
    t.equal(new Set(items).size, 2 * RACERS);
    for (let item = 0; item < items.length; item += 2) t.equal(items[item + 1], items[item].replace("a", "b"));
  });

  t.test(`store exactly ${MAX_WALLETS} wallets of an account`, async (t) => {
    const store = await openServiceStore(server.url(), "");
    t.teardown(() => store.close());
    const { entries } = await store.range({ from: "wallet/default/counts/", to: "wallet/default/counts0", limit: 9 });
    t.equal(entries.length, 1);
    const { key } = entries[0]!;
    await store.commit([{ kind: "set", key, value: `${MAX_WALLETS - 10}`, expires: undefined }]);
    const created = await race("wallet", "Create", (racer) => ({ id: `wallet-${racer}` }));
    t.equal(created.filter((response) => response === Code.RESOURCE_EXHAUSTED).length, RACERS - 10);
    t.equal((await store.get([key]))[0]?.value, `${MAX_WALLETS}`);
  });

  t.test("publish events in one order", async (t) => {
    const offsets = await race("event", "Publish", (racer) => ({ topic: "orders", payload: { racer } }));
    t.equal(new Set(offsets.map(({ offset }) => offset)).size, RACERS);
  });

  // The turn of a consumer that was killed ends after ten seconds.
  t.test(
    "deliver events to a group again if a consumer was killed before it acknowledged them",
    { skip: !FULL },
    async (t) => {
      const received = new Set<string>();
      const other = new Instance(t, program, server.url());
      const request = { topic: "orders", group: "bills", offset: 1 };
      other.stream("event", "Consume", request, ({ offset }) => received.add(offset));
      await until(() => received.size > 10);
      other.kill();
      const again = new Set<string>();
      one.stream("event", "Consume", request, ({ offset }) => again.add(offset));
      await until(() => again.size === RACERS);
      t.pass("nothing was acknowledged, so all of it comes again");
    },
  );
});

t.test(
  "a call with an unknown outcome is repeated with its key, and takes effect once",
  { skip: noPostgres },
  async (t) => {
    const server = await startPostgres(t);
    const proxy = await CuttingProxy.listen(t, server.port);
    const calls = async (service: string) =>
      serveCatalogue(t, service, await BUILT_IN_SERVICES[service]!(), {
        url: server.url("portico", { through: proxy.port }),
      });
    const [wallet, otp] = [await calls("wallet"), await calls("otp")];
    await wallet.call("Create", { id: "till" });
    const { code } = await otp.call("Generate", { subject: "ada" });
    // Makes each COMMIT take so long that the connection can be cut during it.
    await server.query(`CREATE FUNCTION wait() RETURNS trigger LANGUAGE plpgsql AS
    $$ BEGIN PERFORM pg_sleep(0.4); RETURN NULL; END $$;
    CREATE CONSTRAINT TRIGGER slow AFTER INSERT OR UPDATE ON portico_services.entries DEFERRABLE INITIALLY DEFERRED
    FOR EACH ROW WHEN (position('/answers/'::bytea IN NEW.key) > 0) EXECUTE FUNCTION wait()`);
    const repeated = async (call: () => Promise<Message>): Promise<Message> => {
      const lost = call().catch(({ code }) => code);
      const committing = "SELECT FROM pg_stat_activity WHERE wait_event = 'PgSleep'";
      await until(async () => (await server.query(committing)).length > 0);
      proxy.cut();
      t.equal(await lost, Code.UNAVAILABLE);
      return call();
    };
    t.match(await repeated(() => wallet.call("Credit", { id: "till", amount: 5, idempotencyKey: "a" })), {
      balance: "5",
    });
    t.match(await wallet.call("Balance", { id: "till" }), { balance: "5" });
    t.same(await repeated(() => otp.call("Validate", { subject: "ada", code, idempotencyKey: "b" })), { valid: true });
    t.same(await otp.call("Validate", { subject: "ada", code }), { valid: false });
  },
);
