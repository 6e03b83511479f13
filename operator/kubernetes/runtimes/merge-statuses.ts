import type { RuntimeStatus } from '#crds/run-config/runtime-status';

type BackendStatus = RuntimeStatus['backends'][number];

/** The worst first: of several pods, the worst status states the remedy. */
const WORST_FIRST: BackendStatus['phase'][] = ['unavailable', 'degraded', 'unknown', 'ready'];

const rank = ({ phase }: BackendStatus) => WORST_FIRST.indexOf(phase);

/** Merges the statuses of one backend. It is degraded, not unavailable, if only some pods cannot reach it. */
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

/** Merges statuses, with backends in the order of the first pod; undefined without any. All pods share authorization server and storage. */
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
