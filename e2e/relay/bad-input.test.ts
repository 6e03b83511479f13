import { execFile } from 'node:child_process';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, describe, expect, it } from '@jest/globals';
import { deadUrl, serveMisbehaving } from '../fakes/backend/serve-misbehaving.ts';
import { servePlain } from '../fakes/backend/serve-plain.ts';
import { send, SessionClient } from '../gateway/session-client.ts';
import { runtimeProgram } from '../gateway/start-gateway.ts';
import { closeAll, closing, gatewayTo } from './gateway-to.ts';

afterEach(closeAll);

const base = {
  schema_version: 'v0.1.0',
  server: { namespace: 'e2e', name: 'gateway', uid: 'e2e' },
  listen: { port: 0, private_port: 0 },
  incoming: { type: 'anonymous' },
  backends: [],
};

/** Starts the runtime with this text as its configuration. Returns after its end. */
async function start(text: string, ...flags: string[]): Promise<{ code: number | null; output: string }> {
  const folder = await mkdtemp(join(tmpdir(), 'vmcp-bad-'));
  closing({ close: () => rm(folder, { recursive: true }) });
  const file = join(folder, 'run-config.yaml');
  await writeFile(file, text);
  return new Promise((resolve) => {
    const args = [runtimeProgram(), '--config', file, ...flags];
    execFile(process.execPath, args, { timeout: 20_000 }, (error, stdout, stderr) => {
      const code = typeof error?.code === 'number' ? error.code : null;
      resolve({ code: error ? code : 0, output: stdout + stderr });
    });
  });
}
const startWith = (more: object) => start(JSON.stringify({ ...base, ...more }, undefined, 2));

describe('an invalid run configuration', () => {
  const documents: [name: string, more: object, message: RegExp][] = [
    ['of another version', { schema_version: 'v9.9.9' }, /schema_version.*v0\.1\.0/],
    ['with a misspelt key inside', { listen: { port: 0, privat_port: 1 } }, /privat_port/],
    [
      'without a file that it names',
      { status_token_file: 'nowhere' },
      /status_token_file: nowhere: there is no such file/,
    ],
    ['with a policy that is none', { authz: { policies: ['permit(principal, action'] } }, /polic/i],
  ];
  it.each(documents)('ends the start with its problem: %s', async (_name, more, message) => {
    const { code, output } = await startWith(more);
    expect(code).toBe(1);
    expect(output).toMatch(message);
    expect(output).not.toMatch(/\n\s+at /);
  });

  it("ends the start if the server's Secret has no allowed digest for it", async () => {
    const { code, output } = await start(JSON.stringify(base), '--allowed-digests', tmpdir());
    expect(code).toBe(1);
    expect(output).toMatch(
      /run-config\.yaml: the operator did not write this content; its digest is not in the Secret/,
    );
  });

  it('ends the start with the remedy if its port is in use', async () => {
    const taken = closing(await servePlain());
    const { code, output } = await startWith({ listen: { port: taken.port, private_port: 0 } });
    expect(code).toBe(1);
    expect(output).toMatch(new RegExp(`port ${taken.port} of 127\\.0\\.0\\.1 cannot be had \\(EADDRINUSE\\)`));
    const other = await startWith({ listen: { port: 0, private_port: taken.port } });
    expect(other.code).toBe(1);
    expect(other.output).toContain('EADDRINUSE');
  });
});

describe('a failing backend', () => {
  it('does not affect the others, and its status names its problem', async () => {
    const good = closing(await servePlain({ tools: 1 }));
    const serve = async (how: Parameters<typeof serveMisbehaving>[0]) =>
      closing(await serveMisbehaving(how, { methods: ['*'] })).url;
    const gateway = await gatewayTo(
      {
        good: good.url,
        dead: await deadUrl(),
        hanging: await serve('hang'),
        garbage: await serve('garbage'),
        page: await serve('html'),
        failing: await serve('serverError'),
        locked: await serve('unauthorized'),
        moved: await serve('redirect'),
      },
      { operational: { failure_handling: { health_check_timeout: '2s' } } },
    );
    const client = await SessionClient.open(gateway.url);
    expect(await client.toolNames()).toEqual(['good_tool_0']);
    expect((await client.call('good_tool_0', { text: 'x' })).answer.result).toBeDefined();
    const { text } = await send(`http://127.0.0.1:${gateway.runtime.address.privatePort}/status`, 'GET', {});
    const { backends } = JSON.parse(text) as { backends: { name: string; phase: string; message: string }[] };
    expect(Object.fromEntries(backends.map(({ name, phase, message }) => [name, `${phase} ${message}`]))).toEqual({
      good: 'ready ',
      dead: expect.stringMatching(/^unavailable backend dead cannot be reached \(ECONNREFUSED\): check its URL/),
      hanging: expect.stringMatching(/^unavailable backend hanging did not answer in time/),
      garbage: expect.stringMatching(/^unavailable .*initialize/),
      page: expect.stringMatching(/^unavailable does not answer initialize as an MCP server: check its URL/),
      failing: expect.stringMatching(/^unavailable backend failing answered with an HTTP error: check its URL/),
      locked:
        'degraded backend locked refused the credential of this gateway; ask the administrator to check its authentication',
      moved: expect.stringMatching(/^unavailable backend moved answered with an HTTP error: check its URL/),
    });
    expect(gateway.log()).not.toContain('hunter2');
  });
});
