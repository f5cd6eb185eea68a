/**
 * Explores every state that a model can reach, breadth first, and stops at the first state that breaks a property. The way
 * to that state is then as short as any, and is the counterexample.
 *
 * A state is found again by its key, a text that holds all of it. Of states with one key the first is kept.
 */

/** A step that a state allows: what happens, in words, and the state after it. */
export type Step<State> = readonly [label: string, next: State];

/** What is explored. */
export interface Model<State> {
  readonly initial: State;
  /** Every step that the state allows. The given state is not changed. */
  steps(state: State): Step<State>[];
  /** A text that is equal for equal states. */
  key(state: State): string;
  /** What is wrong with a state; undefined where nothing is. */
  error(state: State): string | undefined;
}

/** What was found. */
export interface Exploration {
  /** How many states there are, or were looked at before the counterexample. */
  readonly states: number;
  readonly steps: number;
  /** The number of steps to the farthest state. */
  readonly depth: number;
  readonly counterexample: Counterexample | undefined;
}

/** The shortest way to a state that breaks a property. */
export interface Counterexample {
  readonly error: string;
  /** The steps from the initial state, in words. */
  readonly trace: readonly string[];
}

/** @throws {Error} where there are more than `maxStates`: a result would say nothing of the others. */
export function explore<State>(model: Model<State>, maxStates: number): Exploration {
  /** By its number: the number of the state before, and the step between. */
  const before: [number, string][] = [[-1, ""]];
  const seen = new Set([model.key(model.initial)]);
  let level = [{ state: model.initial, number: 0 }];
  let [steps, depth] = [0, 0];
  const result = (error?: string, last = 0): Exploration => ({
    ...{ states: seen.size, steps, depth },
    counterexample: error === undefined ? undefined : { error, trace: traceTo(last, before) },
  });
  for (; level.length > 0; depth++) {
    const next: typeof level = [];
    for (const { state, number } of level) {
      for (const [label, reached] of model.steps(state)) {
        steps++;
        const key = model.key(reached);
        if (seen.has(key)) continue;
        if (seen.size >= maxStates) throw new Error(`more than ${maxStates} states`);
        seen.add(key);
        const found = before.push([number, label]) - 1;
        const error = model.error(reached);
        if (error !== undefined) return result(error, found);
        next.push({ state: reached, number: found });
      }
    }
    level = next;
  }
  return result();
}

/** What must be reached from every state, and by which steps. */
export interface Goal<State> {
  readonly isReached: (state: State) => boolean;
  /** Whether the step may be counted on: it is neither a fault nor a choice. */
  readonly isCertain: (from: State, to: State) => boolean;
}

/**
 * The nearest state from which certain steps never lead to the goal; undefined where there is none. Then the goal is reached
 * sooner or later, whatever has happened before, if each step that is possible again and again is taken at some time.
 */
export function findStuck<State>(model: Model<State>, goal: Goal<State>): readonly string[] | undefined {
  const before: [number, string][] = [[-1, ""]];
  const numbers = new Map([[model.key(model.initial), 0]]);
  const states = [model.initial];
  /** For each state those from which a certain step leads to it. */
  const sources: number[][] = [[]];
  for (let number = 0; number < states.length; number++) {
    const state = states[number] as State;
    for (const [label, next] of model.steps(state)) {
      const key = model.key(next);
      const found = numbers.get(key) ?? states.push(next) - 1;
      if (!numbers.has(key)) {
        numbers.set(key, found);
        before.push([number, label]);
        sources.push([]);
      }
      if (goal.isCertain(state, next)) sources[found]?.push(number);
    }
  }
  const lead = states.map(goal.isReached);
  const open = [...lead.keys()].filter((number) => lead[number]);
  for (let number = open.pop(); number !== undefined; number = open.pop()) {
    for (const source of sources[number] ?? []) {
      if (lead[source]) continue;
      lead[source] = true;
      open.push(source);
    }
  }
  const stuck = lead.indexOf(false);
  return stuck < 0 ? undefined : traceTo(stuck, before);
}

function traceTo(last: number, before: readonly (readonly [number, string])[]): string[] {
  const trace: string[] = [];
  for (let at = last; at > 0; ) {
    const [previous, label] = before[at] as [number, string];
    trace.push(label);
    at = previous;
  }
  return trace.reverse();
}
