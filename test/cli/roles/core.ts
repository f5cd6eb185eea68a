/**
 * The authority, the registry and the gRPC port of a server, without its gateway. The gateway would
 * need the pages, which only a build creates.
 */
import { accessTo, joinOwn, openOwnAuthority, openRegistry } from "../../../cli/roles/authority.js";
import type { Registry } from "../../../services/registry/registry.js";
import { OpenGuard } from "../../../src/access/guard.js";
import { type ListNamespaces, listNamespacesOf } from "../../../src/kit/namespace-data.js";
import { openGrpcPort } from "../../../src/process/grpc-port.js";
import { openTransport, type Process } from "../../../src/process/process.js";
import type { Service } from "../../../src/rpc/service.js";

/** @param more returns the services that the same process serves. They may call the authority */
export async function openCore(opening: Process, more: (list: ListNamespaces) => readonly Service[]) {
  const { log, closeWithProcess } = opening;
  const transport = await openTransport(opening);
  const authority = closeWithProcess(await openOwnAuthority({ registry: (): Registry => registry }, opening));
  const access = accessTo(authority, opening);
  const guard = closeWithProcess(new OpenGuard({ ...access, log }));
  await guard.ready();
  const services = more(listNamespacesOf(access));
  const registry = closeWithProcess(await openRegistry({ authority, guard, transport, services }, opening));
  const served = [authority.service, registry.service, ...services];
  const grpc = closeWithProcess(await openGrpcPort({ ...opening, services: served, guard, transport }));
  closeWithProcess(registry);
  await joinOwn(served, { grpc, registry }, opening);
  return { guard, transport, dispatcher: grpc.dispatcher };
}
