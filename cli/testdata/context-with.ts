import { Readable } from 'node:stream';
import { locateState } from '#local/state-folder';
import type { Context } from '../context.ts';

/** Returns a context without terminal, input or environment, except for the given fields. */
export function contextWith(given: Partial<Context>): Context {
  return {
    state: locateState('/nowhere'),
    input: Readable.from([]),
    out: { write: () => undefined },
    err: { write: () => undefined },
    environment: {},
    program: 'vmcp',
    typed: (command) => command,
    self: [],
    runtime: [],
    version: '0.0.0',
    containerEngine: undefined,
    ...given,
  };
}
