import { Readable } from 'node:stream';
import { locateState } from '#local/state-folder';
import type { Context } from '../context.ts';

/** What a command has around it where nobody types, nobody reads and nothing is known, but for what is given. */
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
