import { jest } from '@jest/globals';

/** The clock of gateways in this process that start after it. `jest.restoreAllMocks` ends it. */
export interface WallClock {
  /** Milliseconds. */
  forward(by: number): void;
}

/** Sets the clock of `Date.now`. Timers and the clocks of storages outside the process do not change. */
export function setWallClock(): WallClock {
  const real = Date.now.bind(Date);
  let ahead = 0;
  jest.spyOn(Date, 'now').mockImplementation(() => real() + ahead);
  return { forward: (by) => void (ahead += by) };
}
