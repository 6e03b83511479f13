import type { Services } from '#runtime/services';

interface Deadlines {
  readonly config: {
    readonly operational: {
      readonly timeouts: Pick<Services['config']['operational']['timeouts'], 'default' | 'per_workload'>;
    };
  };
}

/** Milliseconds without progress. */
export function callDeadline({ config }: Deadlines, backend: string): number {
  const { timeouts } = config.operational;
  const { per_workload: own, default: usual } = timeouts;
  return (Object.hasOwn(own, backend) ? own[backend] : undefined) ?? usual;
}
