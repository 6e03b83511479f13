import { ModernFakeTimers } from '@jest/fake-timers';
import { ModuleMocker } from 'jest-mock';

/** A jest environment without a separate context: tests use the globals of their worker. The end of a file restores them. */
class SharedEnvironment {
  readonly global = globalThis;
  readonly moduleMocker = new ModuleMocker(globalThis);
  readonly fakeTimers = null;
  readonly fakeTimersModern: ModernFakeTimers;
  readonly #console = globalThis.console;
  readonly #exit: unknown = Reflect.get(process, 'exit');
  readonly #env = { ...process.env };

  constructor({ projectConfig }: { projectConfig: ConstructorParameters<typeof ModernFakeTimers>[0]['config'] }) {
    this.fakeTimersModern = new ModernFakeTimers({ config: projectConfig, global: globalThis });
  }

  setup(): Promise<void> {
    return Promise.resolve();
  }

  teardown(): Promise<void> {
    this.fakeTimersModern.dispose();
    this.moduleMocker.restoreAllMocks();
    // Jest replaces both for each file.
    globalThis.console = this.#console;
    Reflect.set(process, 'exit', this.#exit);
    for (const name of Object.keys(process.env)) if (!(name in this.#env)) Reflect.deleteProperty(process.env, name);
    Object.assign(process.env, this.#env);
    return Promise.resolve();
  }

  getVmContext(): null {
    return null;
  }
}

// Jest requires a default export.
export { type SharedEnvironment, SharedEnvironment as default };
