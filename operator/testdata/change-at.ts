type Step = string | number;

/** Returns a copy with another value at a path; undefined removes the entry of a list, or empties the member. */
export function changeAt(value: unknown, [step, ...rest]: readonly Step[], other: unknown): unknown {
  if (step === undefined) return other;
  if (Array.isArray(value))
    return value.flatMap((item: unknown, index) => {
      const inner = index === Number(step) ? changeAt(item, rest, other) : item;
      return inner === undefined ? [] : [inner];
    });
  return { ...(value as object), [step]: changeAt((value as Record<Step, unknown>)[step], rest, other) };
}

/** Returns the value at a path that exists. */
export function readAt(value: unknown, path: readonly Step[]): unknown {
  return path.reduce<unknown>((inner, step) => (inner as Record<Step, unknown>)[step], value);
}
