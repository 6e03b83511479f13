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
  'of %p seconds that a pod has to end, its container is told to after %p: calls under way need the others',
  (grace, wait) => {
    expect(waitOf(grace)).toBe(wait);
  },
);
