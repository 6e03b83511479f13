import { SharedRead } from '../stores/shared-read.ts';

interface SharedLookOptions<T> {
  look: () => Promise<T>;
  /** Milliseconds since the epoch. */
  now: () => number;
  /** Waits that many milliseconds, or less where nobody needs to know any more. */
  pause: (milliseconds: number) => Promise<void>;
}

/** From the beginning of one look to that of the next. Milliseconds. */
const LOOK = 1000;

/** Looks for all who wait: once a second, however many they are, and one look after the other. */
export class SharedLook<T> extends SharedRead<T> {
  constructor({ look, now, pause }: SharedLookOptions<T>) {
    let beganAt = -Infinity;
    super(
      () => {
        beganAt = now();
        return look();
      },
      () => (now() - beganAt < LOOK ? pause(LOOK) : undefined),
    );
  }
}
