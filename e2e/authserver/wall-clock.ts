import { jest } from '@jest/globals';

/** The clock of gateways that start after it, in this process. `jest.restoreAllMocks` ends it. */
export interface WallClock {
  /** Milliseconds. */
  forward(by: number): void;
}

/** Sets the clock that `Date.now` tells; timers and the clocks of storages outside the process stay as they are. */
export function setWallClock(): WallClock {
  const real = Date.now.bind(Date);
  let ahead = 0;
  jest.spyOn(Date, 'now').mockImplementation(() => real() + ahead);
  return { forward: (by) => void (ahead += by) };
}
