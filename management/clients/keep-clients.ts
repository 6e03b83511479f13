import type { Clock } from '#operator/queue';
import type { Clients } from './clients.ts';

/** Endpoints come and go in a row when something starts: files are looked at when it has been quiet for so long. Milliseconds. */
const QUIET = 500;

interface KeepClientsOptions {
  clientsOf: (namespace: string) => Pick<Clients, 'update'>;
  clock: Clock;
  /** Told once of what stands against a file, until it is something else. */
  onProblem: (text: string) => void;
}

/** Keeps the files of registered clients up to date with the endpoints of what runs. */
export class KeepClients {
  readonly #options: KeepClientsOptions;
  /** All that there were: whose last resource has gone have clients, too. */
  readonly #namespaces = new Set<string>();
  #cancel: (() => void) | undefined;
  #working: Promise<void> = Promise.resolve();
  #told = new Set<string>();
  #isClosed = false;

  constructor(options: KeepClientsOptions) {
    this.#options = options;
  }

  /** Something about the endpoints of these namespaces is another one. */
  changed(namespaces: readonly string[]): void {
    if (this.#isClosed) return;
    for (const namespace of namespaces) this.#namespaces.add(namespace);
    this.#cancel?.();
    this.#cancel = this.#options.clock.after(QUIET, () => {
      this.#working = this.#working.then(() => this.#update());
    });
  }

  /** Ends after the files that are being written. */
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
