import type { Clock } from '#operator/queue';
import type { Clients } from './clients.ts';

/** Milliseconds without a change before the files are updated, as endpoints change several times during a start. */
const QUIET = 500;

interface KeepClientsOptions {
  clientsOf: (namespace: string) => Pick<Clients, 'update'>;
  clock: Clock;
  /** Called once for each problem, until it changes. */
  onProblem: (text: string) => void;
}

/** Keeps the files of registered clients up to date with the current endpoints. */
export class KeepClients {
  readonly #options: KeepClientsOptions;
  /** All namespaces so far, as clients may remain after the last resource of a namespace is deleted. */
  readonly #namespaces = new Set<string>();
  #cancel: (() => void) | undefined;
  #working: Promise<void> = Promise.resolve();
  #told = new Set<string>();
  #isClosed = false;

  constructor(options: KeepClientsOptions) {
    this.#options = options;
  }

  changed(namespaces: readonly string[]): void {
    if (this.#isClosed) return;
    for (const namespace of namespaces) this.#namespaces.add(namespace);
    this.#cancel?.();
    this.#cancel = this.#options.clock.after(QUIET, () => {
      this.#working = this.#working.then(() => this.#update());
    });
  }

  async close(): Promise<void> {
    this.#isClosed = true;
    this.#cancel?.();
    await this.#working;
  }

  async #update(): Promise<void> {
    const found = new Set<string>();
    for (const namespace of this.#namespaces) {
      try {
        const problems = await this.#options.clientsOf(namespace).update();
        for (const [name, problem] of problems) found.add(`client ${name}: ${messageOf(problem)}`);
      } catch (problem) {
        found.add(`clients: ${messageOf(problem)}`);
      }
    }
    for (const text of found) if (!this.#told.has(text)) this.#options.onProblem(text);
    this.#told = found;
  }
}

function messageOf(problem: unknown): string {
  return problem instanceof Error ? problem.message : String(problem);
}
