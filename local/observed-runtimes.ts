import { RuntimeStatus } from '#crds/run-config/runtime-status';
import { fetchStatus } from '#operator/fetch-status';
import { type LastProbe, lastProbeOf, NO_PROBE } from '#operator/last-probe';
import type { Clock } from '#operator/queue';

/** Milliseconds between probes until a runtime serves its configuration. */
const WHILE_STARTING = 150;
const WHILE_SERVING = 1000;
/** Limits of a probe: milliseconds, characters. */
const HOW = { host: '127.0.0.1', deadline: 2000, longest: 8 * 1024 * 1024 };

interface Watched {
  port: number;
  token: string;
  lastProbe: LastProbe<RuntimeStatus>;
  cancel: () => void;
}

/** Status of each runtime on this machine, probed repeatedly. */
export class ObservedRuntimes {
  readonly #clock: Clock;
  readonly #changed: (name: string) => void;
  readonly #watched = new Map<string, Watched>();
  #closed = false;

  constructor(clock: Clock, changed: (name: string) => void) {
    this.#clock = clock;
    this.#changed = changed;
  }

  /** Stays after one or two unanswered probes; undefined while the runtime does not answer. */
  status(name: string): RuntimeStatus | undefined {
    return this.#watched.get(name)?.lastProbe.answer;
  }

  watch(name: string, port: number, token: string): void {
    if (this.#closed) return;
    const present = this.#watched.get(name);
    if (present?.port === port && present.token === token) return;
    this.forget(name);
    const watched: Watched = { port, token, lastProbe: NO_PROBE, cancel: () => undefined };
    this.#watched.set(name, watched);
    void this.#look(name, watched);
  }

  /** Forgets a process that has ended, whichever process listens on its address next. */
  lost(name: string): void {
    const present = this.#watched.get(name);
    if (!present) return;
    this.forget(name);
    this.watch(name, present.port, present.token);
    this.#changed(name);
  }

  forget(name: string): void {
    this.#watched.get(name)?.cancel();
    this.#watched.delete(name);
  }

  close(): void {
    this.#closed = true;
    for (const name of [...this.#watched.keys()]) this.forget(name);
  }

  async #look(name: string, watched: Watched): Promise<void> {
    const { port, token } = watched;
    const result = await fetchStatus({ ...HOW, port, tokens: [token] }, (value) => RuntimeStatus.parse(value));
    if (this.#watched.get(name) !== watched) return;
    const before = watched.lastProbe.answer;
    watched.lastProbe = lastProbeOf(watched.lastProbe, result);
    const { answer, unanswered } = watched.lastProbe;
    const differs = JSON.stringify(answer) !== JSON.stringify(before);
    const settled = unanswered === 0 && answer?.ready && answer.backends.every(({ phase }) => phase === 'ready');
    watched.cancel = this.#clock.after(settled ? WHILE_SERVING : WHILE_STARTING, () => void this.#look(name, watched));
    if (differs) this.#changed(name);
  }
}
