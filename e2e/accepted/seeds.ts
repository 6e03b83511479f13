/** Seeds of fast-check with which a hole was found; each stays, with `path` where one case is enough. */
export const SEEDS: readonly { readonly seed: number; readonly numRuns: number; readonly path?: string }[] = [];
