import type { Backend } from './backend.ts';
import type { BackendGauges } from '#runtime/telemetry/metric-table';
import type { BackendPhase } from './health.ts';

type Shown = Pick<Backend, 'health' | 'breaker' | 'running' | 'places'>;

export function showHealth(backend: Shown): {
  phase: BackendPhase;
  message: string;
} {
  const { health, breaker } = backend;
  const { phase, message } = health;
  const said = [message, describeConcurrency(backend), describeBreaker(breaker)].filter((part) => part !== '');
  const holdsBack = said.length > (message === '' ? 0 : 1);
  return { phase: holdsBack && phase === 'ready' ? 'degraded' : phase, message: said.join('; ') };
}

/** Omits the age of calls: a message that always differs would be written to the status each time. */
function describeConcurrency({ running, places: { perBackend, queue } }: Shown): string {
  if (running < perBackend + queue) return '';
  const counts = `${perBackend} calls at a time and ${queue} that wait`;
  return `all its places are taken (${counts}), and more calls are refused: see why its calls last, or raise operational.concurrency`;
}

function describeBreaker({ state }: Backend['breaker']): string {
  if (state === 'closed') return '';
  const next = state === 'open' ? 'one call tries again after the timeout of the breaker' : 'the next call tries again';
  return `its circuit breaker is ${state}, as calls failed in a row; ${next}`;
}

/** `queued` wait for a connection. `oldest`: milliseconds. */
export function countCalls(backend: Backend): { inFlight: number; queued: number; oldest: number } {
  const { running, places } = backend;
  return { inFlight: running, queued: Math.max(0, running - places.perBackend), oldest: backend.oldestCall() };
}

export function gaugesOf(backend: Backend): BackendGauges {
  const { name, health, breaker, bridged = { sessions: 0, parked: 0 } } = backend;
  return {
    name,
    bridged,
    tools: health.tools,
    lastProbe: health.lastProbe,
    phase: showHealth(backend).phase,
    breaker: breaker.state,
    calls: countCalls(backend),
  };
}
