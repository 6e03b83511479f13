import type { Backend as BackendConfig } from '#crds/run-config/backend';
import type { ConfigError } from '#runtime/errors';
import { unauthenticated } from '#runtime/outgoing/static-header';
import type { Backend } from './backend.ts';
import { createBreaker } from './breaker.ts';
import { callFailure } from './failures.ts';
import { unknownHealth } from './health.ts';
import type { BackendWatch } from './watch-backend.ts';

/** Sends nothing: each call fails, and its health gives the reason. */
export function createOutOfService(settings: BackendConfig, reason: ConfigError, wallClock: () => number): Backend {
  const { name } = settings;
  return {
    name,
    config: settings,
    credential: unauthenticated,
    authorizer: undefined,
    webhooks: undefined,
    health: {
      ...unknownHealth(wallClock),
      phase: 'unavailable',
      message: `out of service until its configuration is mended: ${withoutName(reason.message, name)}`,
    },
    breaker: createBreaker({ enabled: false, failureThreshold: 1, timeout: 0 }, () => 0),
    sessions: false,
    losesState: false,
    isOutOfService: true,
    running: 0,
    places: { perBackend: 1, queue: 0 },
    oldestCall: () => 0,
    send({ sink }) {
      // Runs after `send` returned, as with every other backend.
      const timer = setImmediate(() => sink.fail(callFailure(name, 'out_of_service', false, reason)));
      return { isHeld: false, abort: () => clearImmediate(timer) };
    },
    close: () => Promise.resolve(),
  };
}

/** The backend is recreated when its configuration or one of its files changes. */
export const NO_WATCH: BackendWatch = {
  first: Promise.resolve(),
  nudge: () => undefined,
  probedSince: () => Promise.resolve(),
  noteProcess: () => undefined,
  close: () => undefined,
};

function withoutName(message: string, name: string): string {
  const prefix = `backend ${name}: `;
  return message.startsWith(prefix) ? message.slice(prefix.length) : message;
}
