/**
 * Explores every state that a model can reach, breadth first, and stops at the first state that
 * violates a property. Because the search is breadth first, no path to that state is shorter. The
 * path is the counterexample.
 *
 * Two states are the same if their keys are equal. A key is a text that contains the whole state.
 * Only the first state with a key is stored.
 */

/** A step that is possible in a state: a description of what happens, and the state after it. */
export type Step<State> = readonly [label: string, next: State];

export interface Model<State> {
  readonly initial: State;
  /** Every step that is possible in the state. Does not change the given state. */
  steps(state: State): Step<State>[];
  /** A text that is equal for equal states. */
  key(state: State): string;
  /** The property that a state violates, in words; undefined if it violates none. */
  error(state: State): string | undefined;
}

/** The result of an exploration. */
export interface Exploration {
  /** The number of states; with a counterexample, of those that were visited before it. */
  readonly states: number;
  readonly steps: number;
  /** The number of steps to the farthest state. */
  readonly depth: number;
  readonly counterexample: Counterexample | undefined;
}

/** The shortest path to a state that violates a property. */
export interface Counterexample {
  readonly error: string;
  /** The steps from the initial state, in words. */
  readonly trace: readonly string[];
}

/**
 * @throws {Error} if there are more than `maxStates` states: the result would not cover the others.
 */
export function explore<State>(model: Model<State>, maxStates: number): Exploration {
  /**
   * For each state, by its number: the number of the state before it, and the step between them.
   */
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

/** A condition that must be reachable from every state, and the steps that may be used for it. */
export interface Goal<State> {
  readonly isReached: (state: State) => boolean;
  /** Whether the step happens at some time: it is neither a fault nor a choice. */
  readonly isCertain: (from: State, to: State) => boolean;
}

/**
 * Finds the nearest state from which certain steps never lead to the goal.
 * @returns the steps to that state; undefined if there is none. Then every run reaches the goal at
 * some time, provided that a step which stays possible is taken at some time.
 */
export function findStuck<State>(model: Model<State>, goal: Goal<State>): readonly string[] | undefined {
  const before: [number, string][] = [[-1, ""]];
  const numbers = new Map([[model.key(model.initial), 0]]);
  const states = [model.initial];
  /** For each state: the states from which a certain step leads to it. */
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
