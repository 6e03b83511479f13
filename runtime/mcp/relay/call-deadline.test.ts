import { expect, it } from '@jest/globals';
import { callDeadline } from './call-deadline.ts';

it('returns the backend’s own deadline, or the default, for any backend name', () => {
  const timeouts = { default: 60_000, per_workload: { slow: 300_000 } };
  const services = { config: { operational: { timeouts } } };
  const of = (backend: string) => callDeadline(services, backend);
  expect(['slow', 'other', 'constructor'].map(of)).toEqual([300_000, 60_000, 60_000]);
});
