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

/** Commands of the demo of the chart, by the last path in them. What the chart fills in is no part of a command. */
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

describe('a program of the demo of the chart that speaks HTTP', () => {
  let program: Program | undefined;
  afterEach(() => program?.stop());

  it('is one of two', () => {
    expect(commands).toHaveLength(2);
  });

  // The first process of a container is sent the signal too, and is not ended by it unless it listens to it.
  it.each(commands)(
    'ends of its own accord when it is told to: %s',
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
