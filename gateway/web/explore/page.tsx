/** Explore: the services that the visitor may call, and how to call them. */

import { useSession } from "../session/session.js";
import { useLoad } from "../state/load.js";
import type { PageProps } from "../state/router.js";
import { ErrorNotice, Progress } from "../ui/notice.js";
import { ServiceList } from "./service-list.js";
import { ServicePage } from "./service-page.js";
import { listServices } from "./services.js";

export default function ExplorePage({ segments: [service, ...endpoint] }: PageProps) {
  const session = useSession();
  const { value, error, reload } = useLoad((signal) => listServices(session !== undefined, signal), [session]);
  if (error) return <ErrorNotice error={error} onRetry={reload} />;
  if (value === undefined) return <Progress label="Loading the services" />;
  if (service === undefined) return <ServiceList services={value} />;
  return <ServicePage key={service} services={value} name={service} endpointName={endpoint.join("/") || undefined} />;
}
