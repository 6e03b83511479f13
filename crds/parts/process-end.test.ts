import { describe, expect, it } from '@jest/globals';
import { describeEnd } from './process-end.ts';

describe('describeEnd', () => {
  it.each([
    [0, null, 'exited with code 0'],
    [3, null, 'exited with code 3'],
    [null, null, 'exited with code unknown'],
    [null, 'SIGTERM', 'was ended by SIGTERM'],
    [137, null, 'exited with code 137: it was killed, as is what takes more memory than it may'],
    [null, 'SIGKILL', 'was ended by SIGKILL: it was killed, as is what takes more memory than it may'],
  ] as const)('describes exit code %s and signal %s', (code, signal, text) => {
    expect(describeEnd(code, signal)).toBe(text);
  });
});
