import type { Log } from '#runtime/telemetry/log';
import type { Backend } from './backend.ts';
import type { BackendPhase } from './health.ts';
import { probe, type Finding, type ProbeSettings } from './probe.ts';

export interface WatchSettings extends ProbeSettings {
  /** Milliseconds between probes of a healthy backend. */
  readonly interval: number;
  /** Failed probes in a row after which a backend that answered counts as unavailable. */
  readonly unhealthyThreshold: number;
}

export interface BackendWatch {
  /** Settles after the first probe, whatever it found. */
  readonly first: Promise<void>;
  /** A call failed: look soon. */
  nudge(): void;
  close(): void;
}

const FIRST_RETRY = 500;

/** Probes one backend for as long as it is in force, and says when what it knows has changed. */
export function watchBackend(
  backend: Backend,
  settings: WatchSettings,
  deps: { log: Log; wallClock: () => number; changed: (backend: Backend) => void },
): BackendWatch {
  const { health } = backend;
  let failures = 0;
  let closed = false;
  let running = false;
  let timer: NodeJS.Timeout | undefined;

  const setPhase = (phase: BackendPhase, message: string, speaksElse: boolean) => {
    const before = health.phase;
    health.message = message;
    if (before === phase && !speaksElse) return;
    health.phase = phase;
    if (before !== phase) health.lastTransition = deps.wallClock();
    deps.log.info('backend changed', { backend: backend.name, phase, reason: message });
    deps.changed(backend);
  };

  const apply = (finding: Finding) => {
    health.lastProbe = deps.wallClock();
    if (!finding.reachable) {
      failures++;
      if (health.phase !== 'ready' || failures >= settings.unhealthyThreshold)
        setPhase('unavailable', finding.message, false);
      return;
    }
    failures = 0;
    const speaksElse = finding.eras !== undefined && !sameEras(finding.eras, health.eras);
    if (finding.eras) {
      health.eras = finding.eras;
      health.revisions = finding.revisions;
    }
    health.capabilities = finding.capabilities ?? health.capabilities;
    setPhase('ready', finding.message, speaksElse);
  };

  const wait = () => {
    if (closed) return;
    const delay =
      health.phase === 'ready'
        ? settings.interval
        : Math.min(settings.interval, FIRST_RETRY * 2 ** Math.min(failures, 6));
    timer = setTimeout(() => void look(), delay);
    timer.unref();
  };

  const look = async () => {
    if (running || closed) return;
    running = true;
    clearTimeout(timer);
    try {
      const finding = await probe(backend, settings, health.capabilities);
      if (!closed) apply(finding);
    } finally {
      running = false;
      wait();
    }
  };

  return {
    first: look(),
    nudge: () => {
      if (running || closed) return;
      clearTimeout(timer);
      timer = setTimeout(() => void look(), FIRST_RETRY / 5);
      timer.unref();
    },
    close: () => {
      closed = true;
      clearTimeout(timer);
    },
  };
}

function sameEras(a: ReadonlySet<string>, b: ReadonlySet<string> | undefined): boolean {
  return b !== undefined && a.size === b.size && [...a].every((era) => b.has(era));
}
