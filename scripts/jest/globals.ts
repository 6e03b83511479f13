// Stands for `@jest/globals`. A module stays loaded for many test files, so its imports follow the file that runs.
import type { ModernFakeTimers } from '@jest/fake-timers';
import type * as Jest from '@jest/globals';
import type { ModuleMocker } from 'jest-mock';

/** The functions of `jest` that need no separate modules. */
export interface Mocks extends Pick<ModuleMocker, 'fn' | 'replaceProperty' | 'restoreAllMocks' | 'spyOn'> {
  advanceTimersByTime(ms: number): void;
  advanceTimersByTimeAsync(ms: number): Promise<void>;
  getTimerCount(): number;
  useFakeTimers: ModernFakeTimers['useFakeTimers'];
  useRealTimers(): void;
}

/** The functions of one test file, without `jest`. */
export type TestFunctions = Pick<
  typeof Jest,
  'afterAll' | 'afterEach' | 'beforeAll' | 'beforeEach' | 'describe' | 'expect' | 'it' | 'test'
>;

export let afterAll: TestFunctions['afterAll'];
export let afterEach: TestFunctions['afterEach'];
export let beforeAll: TestFunctions['beforeAll'];
export let beforeEach: TestFunctions['beforeEach'];
export let describe: TestFunctions['describe'];
export let expect: TestFunctions['expect'];
export let it: TestFunctions['it'];
export let jest: Mocks;
export let test: TestFunctions['test'];

/** Sets the functions of the test file that runs next. */
export function setGlobals(functions: TestFunctions, mocks: Mocks): void {
  ({ afterAll, afterEach, beforeAll, beforeEach, describe, expect, it, test } = functions);
  jest = mocks;
}
