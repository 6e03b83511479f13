import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, describe, expect, it } from '@jest/globals';
import { parse } from 'yaml';
import { findFreePort } from '../gateway/find-free-port.ts';
import { type Program, startProgram } from '../gateway/start-program.ts';
import { eventually, ROOT } from './run-vmcp.ts';

interface Document {
  kind: string;
  spec?: { command?: string[]; transport?: string };
}

/** Commands of the chart's demo, by the last path in them, without template expressions. */
const commands = readFileSync(join(ROOT, 'charts/vmcp/templates/demo/demo.yaml'), 'utf8')
  .split('\n---\n')
  .filter((text) => /^kind: MCPServer$/m.test(text))
  .map((text) => parse(text.replaceAll(/^.*\{\{.*$/gm, '')) as Document)
  .flatMap(({ spec }) => (spec?.transport === 'streamable-http' && spec.command ? [spec.command] : []))
  .map((command) => [command.findLast((part) => /^\/.*\.[jt]s$/.test(part)) ?? '', command] as const);

const answers = (port: string) =>
  fetch(`http://127.0.0.1:${port}/`, { signal: AbortSignal.timeout(2000) }).then(
    () => true,
    () => false,
  );

describe('the HTTP programs of the chart’s demo', () => {
  let program: Program | undefined;
  afterEach(() => program?.stop());

  it('include two', () => {
    expect(commands).toHaveLength(2);
  });

  // The first process of a container receives SIGTERM, too, but ignores it unless it has a handler.
  it.each(commands)(
    'end on SIGTERM: %s',
    async (_name, command) => {
      const port = String(await findFreePort());
      const [file = '', ...args] = command.map((part) => part.replace(/^\/app\//, `${ROOT}/`).replace('8080', port));
      program = startProgram(file, args, { ...process.env, PORT: port, HOST: '127.0.0.1' });
      await eventually(() => answers(port), Boolean);
      process.kill(program.pid, 'SIGTERM');
      expect(await program.ended).toBe(0);
    },
    90_000,
  );
});
