/** Step 2 of a new key: what it may call, ticked in a tree, with the patterns that say the same. */
import { useState } from "preact/hooks";
import { Button } from "../ui/button.js";
import { Field, TextField } from "../ui/field.js";
import {
  coverage,
  MAX_PATTERNS,
  type TreeEndpoint,
  type TreeService,
  tickEndpoint,
  tickService,
  untick,
} from "./endpoint-tree.js";
import { problemOf } from "./pattern.js";

/** Maximum services that are shown. More would take long to draw. */
const MAX_SHOWN = 100;

interface KeyLimitsProps {
  readonly tree: readonly TreeService[];
  /** The patterns as typed: one a line. */
  readonly text: string;
  readonly onText: (text: string) => void;
  /** What is wrong with the patterns. */
  readonly problem: string | undefined;
}

export function KeyLimits({ tree, text, onText, problem }: KeyLimitsProps) {
  return (
    <div class="key-limits">
      <EndpointTree tree={tree} patterns={patternsIn(text)} onPatterns={(changed) => onText(changed.join("\n"))} />
      <Field
        label="Patterns"
        hint={`What is ticked, as resource patterns, one a line, at most ${MAX_PATTERNS}. You can type here too.`}
        error={problem}
      >
        {(control) => (
          <textarea
            {...control}
            rows={8}
            value={text}
            onInput={({ currentTarget }) => onText(currentTarget.value)}
            autocapitalize="none"
            spellcheck={false}
          />
        )}
      </Field>
    </div>
  );
}

interface EndpointTreeProps {
  readonly tree: readonly TreeService[];
  readonly patterns: readonly string[];
  readonly onPatterns: (patterns: readonly string[]) => void;
}

function EndpointTree({ tree, patterns, onPatterns }: EndpointTreeProps) {
  const [search, setSearch] = useState("");
  const [readingOnly, setReadingOnly] = useState(false);
  const ticked = coverage(tree, patterns);
  const found = matching(tree, search, readingOnly);
  const onReadingOnly = (only: boolean) => {
    setReadingOnly(only);
    const writing = tree.flatMap(({ endpoints }) => endpoints.filter(({ reads }) => !reads));
    if (only) onPatterns(untick(tree, patterns, resourcesOf(writing)));
  };
  const onService = (service: TreeService, on: boolean) => {
    if (!on) return onPatterns(untick(tree, patterns, resourcesOf(service.endpoints)));
    const all = tree.find(({ name }) => name === service.name) ?? service;
    // A search may hide endpoints, which are not to be ticked with the others.
    const isPart = service.endpoints.length < all.endpoints.length && !readingOnly;
    onPatterns(isPart ? tickAll(tree, patterns, service) : tickService(tree, patterns, service, readingOnly));
  };
  const onEndpoint = ({ resource }: TreeEndpoint, on: boolean) =>
    onPatterns(on ? tickEndpoint(tree, patterns, resource) : untick(tree, patterns, new Set([resource])));
  return (
    <div class="stack">
      <TextField label="Find endpoints" type="search" value={search} onInput={setSearch} />
      <label class="check">
        <input
          type="checkbox"
          checked={readingOnly}
          onChange={({ currentTarget }) => onReadingOnly(currentTarget.checked)}
        />
        Reading only: endpoints that are declared to change nothing
      </label>
      <ul class="tree" aria-label="Services and endpoints">
        {found.slice(0, MAX_SHOWN).map((service) => (
          <ServiceItem
            key={service.name}
            {...{ service, ticked, onEndpoint }}
            isOpen={search.trim() !== ""}
            onService={(on) => onService(service, on)}
          />
        ))}
      </ul>
      <p class="hint" role="status">
        {found.length === 0
          ? `No endpoint ${readingOnly ? "that is declared to change nothing " : ""}matches.`
          : found.length > MAX_SHOWN && `${MAX_SHOWN} of ${found.length} services are shown. Type a part of a name.`}
      </p>
    </div>
  );
}

function resourcesOf(endpoints: readonly TreeEndpoint[]): ReadonlySet<string> {
  return new Set(endpoints.map(({ resource }) => resource));
}

function tickAll(tree: readonly TreeService[], patterns: readonly string[], { endpoints }: TreeService): string[] {
  return endpoints.reduce((now, { resource }) => tickEndpoint(tree, now, resource), [...patterns]);
}

/** The patterns in the text of the field. */
export function patternsIn(text: string): string[] {
  return text.split(/\s+/).filter((line) => line !== "");
}

/** Why a key cannot have the patterns; undefined if it can. */
export function problemWith(patterns: readonly string[]): string | undefined {
  if (patterns.length === 0) return "Tick at least one endpoint, or choose that the key may call everything.";
  const problem = patterns.map(problemOf).find((one) => one !== undefined);
  if (problem !== undefined || patterns.length <= MAX_PATTERNS) return problem;
  return `A key has at most ${MAX_PATTERNS} patterns; these are ${patterns.length}. Tick whole services, or type shorter patterns.`;
}

/** The services and endpoints whose names have the text. A service that has it is whole. */
function matching(tree: readonly TreeService[], search: string, readingOnly: boolean): TreeService[] {
  const wanted = search.trim().toLowerCase();
  return tree
    .map(({ name, endpoints }) => ({
      name,
      endpoints: endpoints.filter(
        (endpoint) =>
          (endpoint.reads || !readingOnly) && (name.includes(wanted) || endpoint.name.toLowerCase().includes(wanted)),
      ),
    }))
    .filter(({ endpoints }) => endpoints.length > 0);
}

interface ServiceItemProps {
  readonly service: TreeService;
  readonly ticked: ReadonlySet<string>;
  /** Whether it is open although nobody opened it. */
  readonly isOpen: boolean;
  readonly onService: (on: boolean) => void;
  readonly onEndpoint: (endpoint: TreeEndpoint, on: boolean) => void;
}

function ServiceItem({ service: { name, endpoints }, ticked, isOpen, onService, onEndpoint }: ServiceItemProps) {
  const [opened, setOpened] = useState(false);
  const isShown = opened || isOpen;
  const count = endpoints.filter(({ resource }) => ticked.has(resource)).length;
  return (
    <li>
      <div class="tree-row">
        <label class="check">
          <input
            type="checkbox"
            checked={count === endpoints.length}
            indeterminate={count > 0 && count < endpoints.length}
            onChange={({ currentTarget }) => onService(currentTarget.checked)}
          />
          {name}
        </label>
        <Button
          small
          kind="quiet"
          aria-expanded={isShown}
          aria-label={`Endpoints of ${name}, ${count} of ${endpoints.length} ticked`}
          onClick={() => setOpened(!isShown)}
        >
          {count} of {endpoints.length}
        </Button>
      </div>
      {isShown && (
        <ul>
          {endpoints.map((endpoint) => (
            <li key={endpoint.resource}>
              <label class="check">
                <input
                  type="checkbox"
                  checked={ticked.has(endpoint.resource)}
                  onChange={({ currentTarget }) => onEndpoint(endpoint, currentTarget.checked)}
                />
                {endpoint.name}
              </label>
            </li>
          ))}
        </ul>
      )}
    </li>
  );
}
