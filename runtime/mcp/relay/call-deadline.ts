import type { Services } from '#runtime/services';

/** The required part of the configuration. */
interface Deadlines {
  readonly config: {
    readonly operational: {
      readonly timeouts: Pick<Services['config']['operational']['timeouts'], 'default' | 'per_workload'>;
    };
  };
}

/** Returns the milliseconds that a call to this backend may pass without progress. */
export function callDeadline({ config }: Deadlines, backend: string): number {
  const { timeouts } = config.operational;
  const { per_workload: own, default: usual } = timeouts;
  return (Object.hasOwn(own, backend) ? own[backend] : undefined) ?? usual;
}
