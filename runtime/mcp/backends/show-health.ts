import type { Backend } from './backend.ts';
import type { BackendGauges } from '#runtime/telemetry/register-metrics';
import type { BackendPhase } from './health.ts';

/** Returns phase and message as status and metrics show them: what the probes found, and what holds calls back besides. */
export function showHealth({ health, breaker }: Pick<Backend, 'health' | 'breaker'>): {
  phase: BackendPhase;
  message: string;
} {
  const { phase, message } = health;
  const { openFor } = breaker;
  if (openFor === undefined) return { phase, message };
  const seconds = (milliseconds: number) => `${Math.ceil(milliseconds / 1000)} s`;
  const next = breaker.triesIn > 0 ? `tried again in ${seconds(breaker.triesIn)}` : 'tried again with the next call';
  const said = `its circuit breaker has been open for ${seconds(openFor)}: calls failed in a row; ${next}`;
  return { phase: phase === 'ready' ? 'degraded' : phase, message: message === '' ? said : `${message}; ${said}` };
}

/** Returns what metrics show of a backend. */
export function gaugesOf(backend: Backend): BackendGauges {
  const { name, health, breaker } = backend;
  return {
    name,
    tools: health.tools,
    lastProbe: health.lastProbe,
    phase: showHealth(backend).phase,
    breaker: breaker.state,
  };
}
