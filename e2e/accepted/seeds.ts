/** Seeds of fast-check, with the path of the counterexample where one was found. All of them pass now. */
export const SEEDS: readonly { readonly seed: number; readonly numRuns: number; readonly path?: string }[] = [];
