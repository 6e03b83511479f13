import { afterAll, beforeAll } from '@jest/globals';
import type { Program } from '../gateway/start-program.ts';
import { installDefinitions, type Seen, Stage } from './stage.ts';
import { startOperator } from './start-operator.ts';
import type { Cluster } from './use-cluster.ts';

/** A namespace of a suite, with an operator for it on this machine. */
export class WatchedStage extends Stage {
  #operator: Program | undefined;

  get operator(): Program {
    if (!this.#operator) throw new Error('the operator of this suite has not been started');
    return this.#operator;
  }

  /** Starts the next operator after the last one has ended. */
  async start(...flags: string[]): Promise<void> {
    this.#operator = await startOperator(this.cluster, [this.namespace.name], flags);
  }

  async restart(...flags: string[]): Promise<void> {
    await this.operator.stop();
    await this.start(...flags);
  }

  override async ready(name: string, milliseconds?: number): Promise<Seen> {
    return super.ready(name, milliseconds).catch((cause: unknown) => {
      throw new Error(this.operator.output(), { cause });
    });
  }

  async close(): Promise<void> {
    await this.#operator?.stop();
    await this.namespace.delete();
  }
}

/** Opens a stage before the first `beforeAll` of the suite, and closes it after the last test. */
export function useStage(cluster: Cluster, suite: string, ...flags: string[]): WatchedStage {
  const stage = new WatchedStage(cluster);
  beforeAll(async () => {
    await installDefinitions(cluster);
    stage.namespace = await cluster.makeNamespace(suite);
    await stage.start(...flags);
  }, 60_000);
  afterAll(() => stage.close(), 30_000);
  return stage;
}
