import type { Rooms } from '#runtime/rooms';

/** The slice that is needed. */
interface Deadlines {
  readonly config: {
    readonly operational: {
      readonly timeouts: Pick<Rooms['config']['operational']['timeouts'], 'default' | 'per_workload'>;
    };
  };
}

/** Milliseconds that a call to this backend may be silent. */
export function callDeadline({ config }: Deadlines, backend: string): number {
  const { timeouts } = config.operational;
  const { per_workload: own, default: usual } = timeouts;
  return (Object.hasOwn(own, backend) ? own[backend] : undefined) ?? usual;
}
