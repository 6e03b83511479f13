import type { Log } from '#runtime/telemetry/log';
import type { Backend } from './backend.ts';
import type { BackendPhase } from './health.ts';
import { probe, type Finding, type ProbeSettings } from './probe.ts';

interface WatchSettings extends ProbeSettings {
  /** Milliseconds, while the backend is healthy. */
  readonly interval: number;
  /** Consecutive failed probes. */
  readonly unhealthyThreshold: number;
}

interface WatchDeps {
  readonly log: Log;
  /** Milliseconds since the epoch. */
  readonly wallClock: () => number;
  readonly changed: (backend: Backend) => void;
}

export interface BackendWatch {
  readonly first: Promise<void>;
  nudge(): void;
  /**
   * Probes at once, unless a probe has begun since this time of the monotonic clock, or such a probe changed nothing a moment ago. Settles
   * at its end.
   */
  probedSince(time: number): Promise<void>;
  /** `end`: a text of this program. Undefined: the next process serves. */
  noteProcess(end: string | undefined): void;
  close(): void;
}

const FIRST_RETRY = 500;
/** Each second for the first minute, because most backends recover soon. */
const SOON = { failures: 60, retry: 1_000 };
const NUDGED = 100;
/** Milliseconds between the probes that refused calls cause, if the backend speaks the same eras. */
const ASKED_EVERY = 5_000;

export function watchBackend(backend: Backend, settings: WatchSettings, deps: WatchDeps): BackendWatch {
  return new Watch(backend, settings, deps);
}

class Watch implements BackendWatch {
  readonly first: Promise<void>;
  readonly #backend: Backend;
  readonly #settings: WatchSettings;
  readonly #deps: WatchDeps;
  #failures = 0;
  #isClosed = false;
  #isLooking = false;
  #isNudged = false;
  #isOld = false;
  #running: Promise<void> | undefined;
  /** Milliseconds of the monotonic clock. */
  #begunAt = 0;
  #nextAsked = 0;
  #timer: NodeJS.Timeout | undefined;

  constructor(backend: Backend, settings: WatchSettings, deps: WatchDeps) {
    this.#backend = backend;
    this.#settings = settings;
    this.#deps = deps;
    this.first = this.#begin();
  }

  nudge(): void {
    // Only the first nudge counts: many failing calls must not delay the probe. Unavailable backends are probed anyway.
    if (this.#isLooking || this.#isNudged || this.#backend.health.phase === 'unavailable') return;
    this.#isNudged = true;
    this.#lookIn(NUDGED);
  }

  async probedSince(time: number): Promise<void> {
    if (this.#running) return this.#running;
    if (this.#begunAt >= time || this.#isClosed || performance.now() < this.#nextAsked) return;
    const { eras } = this.#backend.health;
    await this.#begin();
    const { eras: found } = this.#backend.health;
    if (eras && found && sameEras(eras, found)) this.#nextAsked = performance.now() + ASKED_EVERY;
  }

  noteProcess(end: string | undefined): void {
    if (end === undefined) {
      this.#isOld = this.#isLooking;
      if (!this.#isLooking) this.#lookIn(0);
    } else if (this.#backend.health.phase === 'ready') {
      // The lists stay, and calls wait for the next process.
      this.#note('degraded', `its process ${end}; it is started again`);
    }
  }

  close(): void {
    this.#isClosed = true;
    clearTimeout(this.#timer);
  }

  #lookIn(delay: number): void {
    clearTimeout(this.#timer);
    if (!this.#isClosed) this.#timer = setTimeout(() => void this.#begin(), delay).unref();
  }

  #begin(): Promise<void> {
    clearTimeout(this.#timer);
    this.#begunAt = performance.now();
    this.#running = this.#look().finally(() => {
      this.#running = undefined;
    });
    return this.#running;
  }

  async #look(): Promise<void> {
    this.#isLooking = true;
    this.#isNudged = false;
    this.#isOld = false;
    try {
      const finding = await probe(this.#backend, this.#settings, this.#backend.health.capabilities);
      if (!this.#isClosed) this.#apply(finding);
    } catch (error) {
      this.#deps.log.error('a probe failed', { backend: this.#backend.name, error });
    } finally {
      this.#isLooking = false;
      this.#lookIn(this.#delay());
    }
  }

  #delay(): number {
    const { interval } = this.#settings;
    if (this.#isOld) return 0;
    const { health, breaker } = this.#backend;
    if (this.#failures === 0 || (health.phase !== 'unavailable' && breaker.state === 'closed')) return interval;
    if (this.#failures <= SOON.failures) return Math.min(interval, this.#failures === 1 ? FIRST_RETRY : SOON.retry);
    return Math.min(interval, SOON.retry * 2 ** Math.min(this.#failures - SOON.failures, 6));
  }

  #apply(finding: Finding): void {
    const { health } = this.#backend;
    health.lastProbe = this.#deps.wallClock();
    if (!finding.reachable) {
      this.#failures++;
      const answered = health.phase === 'ready' || health.phase === 'degraded';
      if (!answered || this.#failures >= this.#settings.unhealthyThreshold)
        this.#setPhase('unavailable', finding.message, false);
      else this.#note('degraded', `failed its last health check: ${finding.message}`);
      return;
    }
    this.#failures = 0;
    this.#backend.breaker.noteProbe();
    const speaksElse = finding.eras !== undefined && !sameEras(finding.eras, health.eras);
    if (finding.eras) {
      health.eras = finding.eras;
      health.revisions = finding.revisions;
    }
    health.capabilities = finding.capabilities ?? health.capabilities;
    if (finding.isRefused) this.#setPhase('degraded', finding.message, speaksElse);
    else this.#setPhase('ready', finding.message, speaksElse);
  }

  #setPhase(phase: BackendPhase, message: string, speaksElse: boolean): void {
    const { health } = this.#backend;
    const isOther = health.phase !== phase;
    health.message = message;
    if (!isOther && !speaksElse) return;
    this.#note(phase, message);
    this.#deps.changed(this.#backend);
  }

  #note(phase: BackendPhase, message: string): void {
    const { health } = this.#backend;
    if (health.phase !== phase) health.lastTransition = this.#deps.wallClock();
    health.phase = phase;
    health.message = message;
    this.#deps.log.info('backend changed', { backend: this.#backend.name, phase, reason: message });
  }
}

function sameEras(a: ReadonlySet<string>, b: ReadonlySet<string> | undefined): boolean {
  return b?.size === a.size && [...a].every((era) => b.has(era));
}
