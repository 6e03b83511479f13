import { expect, it } from '@jest/globals';
import { leaveService } from './leave-service.ts';

const waitOf = (terminationGracePeriodSeconds?: number) =>
  leaveService({ spec: { terminationGracePeriodSeconds } })?.preStop.sleep.seconds;

it.each([
  [undefined, 5],
  [35, 5],
  [10, 5],
  [9, 4],
  [5, 2],
  [2, 1],
  [1, undefined],
  [0, undefined],
])(
  'gives a pod with %p seconds to end a delay of %p, and leaves the remaining time to calls in flight',
  (grace, wait) => {
    expect(waitOf(grace)).toBe(wait);
  },
);
