import type { Rooms } from '#runtime/rooms';

/** Milliseconds that a call to this backend may be silent. */
export function callDeadline({ config }: Rooms, backend: string): number {
  const { timeouts } = config.operational;
  return timeouts.per_workload[backend] ?? timeouts.default;
}
