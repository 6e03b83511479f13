import { describe, expect, it } from '@jest/globals';
import { Writable } from 'node:stream';
import { createLog } from './run-program.ts';

function collect() {
  const lines: string[] = [];
  const stream = new Writable({
    write(chunk: Buffer, _encoding, done) {
      lines.push(chunk.toString().trimEnd());
      done();
    },
  });
  return { lines, stream };
}

const problem = new Error('it could not be applied', { cause: new Error('connection refused') });

describe('the log of the operator', () => {
  it('writes one JSON object per line, with the messages of errors and their causes', () => {
    const { lines, stream } = collect();
    const log = createLog({ level: 'info', format: 'json' }, stream);
    log.debug('not shown');
    log.warn('trying again', { kind: 'MCPGroup', problem, retryIn: 200 });
    expect(lines.map((line) => JSON.parse(line) as object)).toEqual([
      {
        time: expect.any(String),
        level: 'warn',
        message: 'trying again',
        kind: 'MCPGroup',
        problem: 'it could not be applied: connection refused',
        retryIn: 200,
      },
    ]);
  });

  it('writes text for people', () => {
    const { lines, stream } = collect();
    createLog({ level: 'debug', format: 'text' }, stream).debug('read', { count: 3, problem });
    expect(lines[0]).toMatch(
      /^\d{4}-\d\d-\d\dT[\d:.]+Z DEBUG read count=3 problem="it could not be applied: connection refused"$/,
    );
  });
});
