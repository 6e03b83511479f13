import type { Outcome } from '#operator/plan/outcome';
import { keyText, type LocalFacts, parseKey, type ResourceKey } from '#operator/snapshot';

type ProgramPort = NonNullable<LocalFacts['programs']>[string];

/** Records whether each MCPServer's program was started on its port, so that credentials may be sent there. */
export class ProgramPorts {
  readonly #ports = new Map<string, ProgramPort>();
  readonly #changed: (owner: string) => void;

  /** Calls `changed` with the text of the key of an MCPServer. */
  constructor(changed: (owner: string) => void) {
    this.#changed = changed;
  }

  /** Records that a program was started on a free port. */
  hold(owner: string, port: number): void {
    this.#set(owner, { port });
  }

  /** Records that another program uses the port. */
  lose(owner: string, port: number, message: string): void {
    this.#set(owner, { port, problem: { reason: 'PortInUse', message } });
  }

  /**
   * Applies an outcome, unless it keeps the running processes. Afterwards, or when `apply` fails, it records programs that were not
   * started.
   */
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

  /** Returns the port state of the programs in a namespace, by MCPServer name. */
  inNamespace(namespace: string): [name: string, port: ProgramPort][] {
    return [...this.#ports].flatMap(([owner, port]) => {
      const key = parseKey(owner);
      return key.namespace === namespace ? [[key.name, port]] : [];
    });
  }

  /** Records that the program was not started, unless a start was attempted. */
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
