import type { Outcome } from '#operator/plan/outcome';
import { keyText, type LocalFacts, parseKey, type ResourceKey } from '#operator/world';

type ProgramPort = NonNullable<LocalFacts['programs']>[string];

/** Whether the program of each MCPServer was started on its port, so that credentials may be sent there. */
export class ProgramPorts {
  readonly #ports = new Map<string, ProgramPort>();
  readonly #changed: (owner: string) => void;

  /** `changed` is called with the text of the key of an MCPServer. */
  constructor(changed: (owner: string) => void) {
    this.#changed = changed;
  }

  /** Notes that a program was started on a port that was free. */
  hold(owner: string, port: number): void {
    this.#set(owner, { port });
  }

  /** Notes that another program has the port. */
  lose(owner: string, port: number, message: string): void {
    this.#set(owner, { port, problem: { reason: 'PortInUse', message } });
  }

  /** Applies an outcome by `apply`, unless it keeps what runs. Then, and where `apply` fails, a program may not have been started. */
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

  /** Returns what is known of the programs of a namespace, by the name of the MCPServer. */
  inNamespace(namespace: string): [name: string, port: ProgramPort][] {
    return [...this.#ports].flatMap(([owner, port]) => {
      const key = parseKey(owner);
      return key.namespace === namespace ? [[key.name, port]] : [];
    });
  }

  /** Notes that no start of the program was tried, unless one was. */
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
