import { mkdtempSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Readable } from 'node:stream';
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { RuntimeStatus } from '#crds/run-config/runtime-status';
import { runCommand } from '#cli/program';
import { arrange, type Arrangement } from '../authserver/arrangement.ts';
import { Robot } from '../robot/robot.ts';

let at: Arrangement;
let folder: string;
beforeEach(async () => {
  at = await arrange({ storage: 'sqlite' });
  folder = mkdtempSync(join(tmpdir(), 'vmcp-try-'));
});
afterEach(async () => {
  await at.close();
  rmSync(folder, { recursive: true, force: true });
});

/** Runs `vmcp try`, and follows the link that it prints. */
async function attempt(more: readonly string[] = []) {
  let [out, err] = ['', ''];
  const opened: Promise<unknown>[] = [];
  const deps = {
    input: Readable.from([]),
    out: { write: (text: string) => (out += text) },
    err: {
      write(text: string) {
        err += text;
        const url = /https?:\S+\/oauth\/authorize\?\S+/.exec(text)?.[0];
        if (url !== undefined) opened.push(new Robot().walk(url, { user: 'alice' }));
      },
    },
    environment: {},
    program: 'vmcp',
    self: [],
    runtime: [],
    version: '0',
    containerEngine: undefined,
  };
  const args = ['try', at.resource, '--no-browser', '--state', join(folder, 'state'), '--timeout', '30s', ...more];
  const code = await runCommand(args, deps, new AbortController().signal);
  await Promise.all(opened);
  return { code, out, err };
}

async function sizes(): Promise<unknown> {
  const answer = await fetch(`http://127.0.0.1:${at.gateway.runtime.address.privatePort}/status`);
  return RuntimeStatus.parse(await answer.json()).auth_server?.sizes;
}

describe('vmcp try', () => {
  it('registers once, and ends its login after its checks', async () => {
    for (let times = 0; times < 2; times += 1) {
      const { code, out, err } = await attempt();
      expect([code, out]).toEqual([0, expect.stringContaining('You are logged in')]);
      expect(err).toContain('This login is ended again');
      expect(await sizes()).toMatchObject({ clients: 1, sessions: 0 });
    }
  });

  it('stores its registration readable only by its user, and stores no token', async () => {
    await attempt();
    const [name = ''] = readdirSync(join(folder, 'state', 'clients'));
    const file = join(folder, 'state', 'clients', name);
    expect(statSync(file).mode & 0o777).toBe(0o600);
    expect(Object.keys(JSON.parse(readFileSync(file, 'utf8')) as object)).toEqual(['redirectUrl', 'client']);
  });

  it('registers again before the login if the endpoint has lost the registration', async () => {
    await attempt();
    const [name = ''] = readdirSync(join(folder, 'state', 'clients'));
    const file = join(folder, 'state', 'clients', name);
    const kept = JSON.parse(readFileSync(file, 'utf8')) as { client: object };
    writeFileSync(file, JSON.stringify({ ...kept, client: { ...kept.client, client_id: 'forgotten' } }));
    const { code, err } = await attempt();
    expect(code).toBe(0);
    expect(err.match(/Log in here/g)).toHaveLength(1);
    expect(await sizes()).toMatchObject({ clients: 2, sessions: 0 });
  });
});
