// Jest's runtime loads all modules of a test file anew, in a context of its own: half a second of processor time for each file. This one
// imports them once for all files of a worker. A file that needs its own modules names jest's environment: `@jest-environment node`.
import { createRequire, enableCompileCache, flushCompileCache, registerHooks } from 'node:module';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import type Runtime from 'jest-runtime';
import { setGlobals, type TestFunctions } from './globals.ts';
import type { SharedEnvironment } from './shared-environment.ts';

const require = createRequire(import.meta.url);
// Its types are those of the CommonJS module.
const { default: IsolatedRuntime } = require('jest-runtime') as typeof Runtime;
const GLOBALS = { url: new URL('./globals.ts', import.meta.url).href, format: 'module-typescript', shortCircuit: true };

// Keeps compiled modules, and TypeScript without types, for later runs, also those of the programs that tests start.
process.env.NODE_COMPILE_CACHE ??= join(tmpdir(), 'node-compile-cache');
enableCompileCache(process.env.NODE_COMPILE_CACHE);
registerHooks({
  resolve: (specifier, context, next) => (specifier === '@jest/globals' ? GLOBALS : next(specifier, context)),
});

/** Node's streams call them on the same globals. */
const OF_NODE = ['nextTick', 'queueMicrotask'] as const;

const nothing = () => undefined;

/** The part of jest's runtime that its runners call. */
const sharedRuntime = ({ moduleMocker: mocker, fakeTimersModern: timers }: SharedEnvironment) => ({
  setGlobalsForRuntime: (functions: TestFunctions) =>
    setGlobals(functions, {
      advanceTimersByTime: (ms) => timers.advanceTimersByTime(ms),
      advanceTimersByTimeAsync: (ms) => timers.advanceTimersByTimeAsync(ms),
      fn: mocker.fn.bind(mocker),
      getTimerCount: () => timers.getTimerCount(),
      replaceProperty: mocker.replaceProperty.bind(mocker),
      restoreAllMocks: () => mocker.restoreAllMocks(),
      spyOn: mocker.spyOn.bind(mocker),
      useFakeTimers: (options) =>
        timers.useFakeTimers({ ...options, doNotFake: [...(options?.doNotFake ?? []), ...OF_NODE] }),
      useRealTimers: () => timers.useRealTimers(),
    }),
  // Circus keeps the tests of a file in its module.
  requireInternalModule: (path: string): unknown => {
    Reflect.deleteProperty(require.cache, path);
    return require(path);
  },
  requireModule: require,
  unstable_shouldLoadAsEsm: () => true,
  unstable_importModule: (path: string): Promise<unknown> => import(pathToFileURL(path).href),
  enterTestCode: nothing,
  leaveTestCode: nothing,
  getSourceMaps: () => null,
  getAllCoverageInfoCopy: nothing,
  teardown: () => flushCompileCache(),
});

type Options = ConstructorParameters<typeof IsolatedRuntime>;

/** Whether a file runs without a context of its own. */
const isShared = (environment: object): environment is SharedEnvironment => !('context' in environment);

/** Jest calls it with `new`. */
function createRuntime(...options: Options): object {
  const [, environment] = options;
  return isShared(environment) ? sharedRuntime(environment) : new IsolatedRuntime(...options);
}

// Jest requires a default export.
export { createRuntime as default };
