/** Explore: the services that can be called, and how. */
import type { PageProps } from "../page-props.js";
import { ServiceList } from "./service-list.js";

export default function ExplorePage(_: PageProps) {
  return <ServiceList />;
}
