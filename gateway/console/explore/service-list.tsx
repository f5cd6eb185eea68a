import { read } from "../api.js";
import { useLoad } from "../load.js";
import { useTitle } from "../router.js";
import { useSession } from "../session.js";
import { ErrorNotice } from "../ui/error-notice.js";
import { Progress } from "../ui/progress.js";
import type { ServiceListing } from "./listing.js";

export function ServiceList() {
  const session = useSession();
  useTitle("Explore");
  const { value, error, reload } = useLoad((signal) => read<ServiceListing>("/registry/list", { signal }), [session]);
  if (error) return <ErrorNotice error={error} onRetry={reload} />;
  if (value === undefined) return <Progress label="Loading services" />;
  return (
    <section class="page">
      <h1>Services</h1>
      <ul>
        {value.services.map(({ name, summary }) => (
          <li key={name}>
            <a href={`/explore/${name}`}>{name}</a> {summary}
          </li>
        ))}
      </ul>
    </section>
  );
}
