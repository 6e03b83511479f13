import type { Outcome } from '#operator/plan/outcome';
import { keyText, type LocalFacts, parseKey, type ResourceKey } from '#operator/snapshot';

type ProgramPort = NonNullable<LocalFacts['programs']>[string];

/** Credentials may be sent to a port on which the program was started. */
export class ProgramPorts {
  readonly #ports = new Map<string, ProgramPort>();
  readonly #changed: (owner: string) => void;

  constructor(changed: (owner: string) => void) {
    this.#changed = changed;
  }

  hold(owner: string, port: number): void {
    this.#set(owner, { port });
  }

  lose(owner: string, port: number, message: string): void {
    this.#set(owner, { port, problem: { reason: 'PortInUse', message } });
  }

  /** Records the programs that were not started, also when `apply` fails. */
  async applyNoting({ action, key }: Outcome, apply: () => Promise<void>): Promise<void> {
    if (action === 'keep') {
      this.#noteUnstarted(key);
      return;
    }
    try {
      await apply();
    } catch (problem) {
      this.#noteUnstarted(key);
      throw problem;
    }
  }

  forget(owner: string): void {
    this.#ports.delete(owner);
  }

  inNamespace(namespace: string): [name: string, port: ProgramPort][] {
    return [...this.#ports].flatMap(([owner, port]) => {
      const key = parseKey(owner);
      return key.namespace === namespace ? [[key.name, port]] : [];
    });
  }

  #noteUnstarted(key: ResourceKey): void {
    const owner = keyText(key);
    if (key.kind !== 'MCPServer' || this.#ports.has(owner)) return;
    const message = `its program is not started: see the conditions of MCPServer "${key.name}"`;
    this.#set(owner, { problem: { reason: 'ProgramNotStarted', message } });
  }

  #set(owner: string, next: ProgramPort): void {
    const same = JSON.stringify(this.#ports.get(owner)) === JSON.stringify(next);
    this.#ports.set(owner, next);
    if (!same) this.#changed(owner);
  }
}
