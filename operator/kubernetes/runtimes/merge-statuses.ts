import type { RuntimeStatus } from '#crds/run-config/runtime-status';

type BackendStatus = RuntimeStatus['backends'][number];

/** The worst first: of several pods the one that is worst off tells what to do. */
const WORST_FIRST: BackendStatus['phase'][] = ['unavailable', 'degraded', 'unknown', 'ready'];

const rank = ({ phase }: BackendStatus) => WORST_FIRST.indexOf(phase);

/** One backend as several pods see it. What only some of them cannot reach is degraded, not away. */
function mergeBackend(seen: BackendStatus[]): BackendStatus {
  const [worst = seen[0], ...others] = [...seen].sort((a, b) => rank(a) - rank(b));
  if (!worst) throw new Error('no pod has seen it');
  const tools = seen.reduce<number | null>(
    (most, { tools: found }) => (found === null ? most : Math.max(most ?? 0, found)),
    null,
  );
  const some = worst.phase === 'unavailable' && others.some(({ phase }) => phase === 'ready' || phase === 'degraded');
  return { ...worst, tools, phase: some ? 'degraded' : worst.phase };
}

/**
 * What several pods of one runtime say, as one answer: backends in the order of the first pod. Undefined where none
 * answers. The authorization server is the same for all of them, as is what they store.
 */
export function mergeStatuses(statuses: readonly RuntimeStatus[]): RuntimeStatus | undefined {
  const [first, ...others] = statuses;
  if (!first || others.length === 0) return first;
  const seen = Map.groupBy(
    statuses.flatMap(({ backends }) => backends),
    ({ name }) => name,
  );
  return {
    ...first,
    ready: statuses.some(({ ready }) => ready),
    config_refused: statuses.find(({ config_refused: refused }) => refused)?.config_refused ?? null,
    tools: statuses.reduce<number | null>(
      (most, { tools }) => (tools === null ? most : Math.max(most ?? 0, tools)),
      null,
    ),
    warnings: [...new Set(statuses.flatMap(({ warnings }) => warnings))],
    backends: [...seen.values()].map(mergeBackend),
  };
}
