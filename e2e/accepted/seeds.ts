/** Seeds of fast-check that found a bug. Keep each one, with `path` where one case is enough. */
export const SEEDS: readonly { readonly seed: number; readonly numRuns: number; readonly path?: string }[] = [];
