// The data of services for a deleted namespace is gone, even for a later namespace with the same
// name, and after a restart.
import t from "tap";
import { openServices } from "../../cli/roles/open-services.js";
import { SYSTEM } from "../../src/access/guard.js";
import type { Metadata } from "../../src/call/metadata.js";
import { loadConfig } from "../../src/config/config.js";
import { CacheService, ListKeysRequest, SetRequest } from "../../src/gen/cache/cache.js";
import { CreateTableRequest, DbService, ListTablesRequest } from "../../src/gen/db/db.js";
import { CreateRequest as CreateNote, ListRequest as ListNotes, NotesService } from "../../src/gen/notes/notes.js";
import { AuthService } from "../../src/gen/portico/auth/v1/auth.js";
import { NamespacesService } from "../../src/gen/portico/auth/v1/namespaces.js";
import { Access, RulesService } from "../../src/gen/portico/auth/v1/rules.js";
import {
  CreateRequest as CreateWallet,
  ListRequest as ListWallets,
  WalletService,
} from "../../src/gen/wallet/wallet.js";
import { listNamespacesOf, sweepNamespaces, TRASH_DAYS } from "../../src/kit/namespace-data.js";
import { installationStore } from "../../src/kit/shared-store.js";
import { createLog } from "../../src/log.js";
import { Process } from "../../src/process/process.js";
import { unary } from "../../src/rpc/client.js";
import type { MethodDefinition } from "../../src/rpc/definition.js";
import { InProcessChannel } from "../../src/rpc/in-process/channel.js";
import { openServiceStore } from "../../src/store/open.js";
import { openCore } from "../cli/roles/core.js";

const PASSWORD = "correct horse battery";
const SERVICES = ["cache", "notes", "wallet", "db"];
const data = t.testdir();

type Unary<Request, Response> = MethodDefinition<Request, Response> & {
  readonly requestStream: false;
  readonly responseStream: false;
};
type Call = <Request, Response>(method: Unary<Request, Response>, request: NoInfer<Request>) => Promise<Response>;

/** The authority and the services in one process. */
async function run() {
  const config = loadConfig({ data, grpc: "127.0.0.1:0", adminPassword: PASSWORD }, {});
  const log = createLog("silent");
  const server = new Process(config, log);
  const none = (): never => {
    throw new Error("these services call no others");
  };
  const { dispatcher } = await openCore(server, (list) => {
    const kept = { url: config.serviceStore, dataFolder: data, services: SERVICES, list, log };
    return openServices(SERVICES, { store: server.closeWithProcess(installationStore(kept)), clientsOf: none, log });
  });
  const channel = new InProcessChannel(dispatcher);
  const login = async (namespace: string, password: string): Promise<Call> => {
    const { accessToken } = await unary(channel, AuthService.login, { account: "admin", password, namespace });
    const metadata: Metadata = [["authorization", `Bearer ${accessToken}`]];
    return (method, request) => unary(channel, method, request, { metadata });
  };
  const admin = await login("default", PASSWORD);
  return {
    admin,
    list: listNamespacesOf({ channel, admission: SYSTEM }),
    /** Creates the namespace, and returns a function for calls of its administrator. */
    async create(): Promise<Call> {
      const { adminPassword } = await admin(NamespacesService.create, { name: "team" });
      const call = await login("team", adminPassword);
      const rule = {
        id: "all",
        scope: "*",
        access: Access.GRANTED,
        resource: "service:*:*",
        priority: 0,
        disabled: false,
      };
      await call(RulesService.create, { rule });
      return call;
    },
    remove: () => admin(NamespacesService.delete, { name: "team" }),
    close: () => server.stop({ noticeMs: 0, drainMs: 0 }),
  };
}

/** Stores something in each service. */
async function keep(call: Call): Promise<void> {
  await call(CacheService.set, SetRequest.fromPartial({ key: "key", value: "secret" }));
  await call(NotesService.create, CreateNote.fromPartial({ title: "secret", text: "secret" }));
  await call(WalletService.create, CreateWallet.fromPartial({ id: "secret" }));
  await call(DbService.createTable, CreateTableRequest.fromPartial({ table: "secret" }));
}

/** The number of entries that each service shows. */
async function shown(call: Call): Promise<number[]> {
  return [
    (await call(CacheService.listKeys, ListKeysRequest.fromPartial({}))).keys.length,
    (await call(NotesService.list, ListNotes.fromPartial({}))).notes.length,
    (await call(WalletService.list, ListWallets.fromPartial({}))).wallets.length,
    (await call(DbService.listTables, ListTablesRequest.fromPartial({}))).tables.length,
  ];
}

/** The segments for namespaces in the keys of the store. */
async function segments(): Promise<string[]> {
  const store = await openServiceStore("sqlite:", data);
  const { entries } = await store.range({ from: "", afterFrom: false, to: "{", limit: 1000, reverse: false });
  await store.close();
  return [...new Set(entries.map(({ key }) => key.split("/")[1] ?? ""))].sort();
}

t.test(
  "a namespace that is created again sees no data of the earlier one, and the earlier data is deleted",
  async (t) => {
    const first = await run();
    await keep(first.admin);
    const call = await first.create();
    await keep(call);
    t.same(await shown(call), [1, 1, 1, 1]);
    const id = (await first.list()).ids.get("team");
    await first.remove();
    const again = await first.create();
    t.same(await shown(again), [0, 0, 0, 0], "created again");
    await keep(again);
    await first.remove();
    await first.close();

    const second = await run();
    const last = await second.create();
    t.same(await shown(last), [0, 0, 0, 0], "created again after a restart");
    await keep(last);
    t.same(await shown(second.admin), [1, 1, 1, 1], "another namespace keeps what it has");
    t.equal((await segments()).length, 4);

    const store = await openServiceStore("sqlite:", data);
    const { signal } = new AbortController();
    const log = createLog("silent");
    for (let day = 0; day <= TRASH_DAYS; day++) {
      const now = () => Date.now() + day * 86_400_000;
      t.equal(await sweepNamespaces(store, second.list, { services: SERVICES, log, signal, now }), undefined);
      if (day < TRASH_DAYS) t.equal((await segments()).length, 4, `on day ${day} all is there`);
    }
    await store.close();
    const current = (await second.list()).ids.get("team");
    t.not(current, id);
    t.same(await segments(), ["default", `team@${current}`], "what is left is deleted");
    t.same(await shown(last), [1, 1, 1, 1]);
    t.same(await shown(second.admin), [1, 1, 1, 1]);
    await second.close();
  },
);
