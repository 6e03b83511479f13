import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it, jest } from '@jest/globals';
import { logIn } from '#cli/development-login/log-in';
import { locateState } from '#local/state-folder';
import { arrange, type Arrangement } from '../authserver/arrangement.ts';
import { signOutEverywhere } from '../authserver/sign-out-everywhere.ts';

let at: Arrangement;
let folder: string;
let said: string;
let warned: jest.SpiedFunction<typeof console.warn>;
beforeEach(async () => {
  at = await arrange({ storage: 'sqlite' });
  folder = mkdtempSync(join(tmpdir(), 'vmcp-login-'));
  said = '';
  warned = jest.spyOn(console, 'warn').mockImplementation(() => undefined);
});
afterEach(async () => {
  warned.mockRestore();
  await at.close();
  rmSync(folder, { recursive: true, force: true });
});

const token = () =>
  logIn(at.resource, { name: 'alice', password: 'x' }, {
    state: locateState(folder),
    err: { write: (text: string) => (said += text) },
  } as Parameters<typeof logIn>[2]);

async function serves(bearer: string): Promise<number> {
  const headers = { authorization: `Bearer ${bearer}`, 'content-type': 'application/json' };
  const answer = await fetch(at.resource, { method: 'POST', headers, body: 'no JSON' });
  return answer.status;
}

describe('the login of a development user', () => {
  it('refreshes from call to call', async () => {
    const [first, second] = [await token(), await token()];
    expect(second).not.toBe(first);
    expect([said, await serves(second)]).toEqual(['', 400]);
  });

  it('starts again after its end, and says so without a warning', async () => {
    await token();
    await signOutEverywhere(at.origin, { user: 'alice' });
    expect(await serves(await token())).toBe(400);
    expect(said).toBe('The former login of alice has ended (unlinked, signed out or too old): logging in anew.\n');
    expect(warned).not.toHaveBeenCalled();
  });

  it('fails with the address of a missing endpoint', async () => {
    await token();
    const { resource } = at;
    await at.gateway.close();
    await expect(token()).rejects.toThrow(`${new URL(resource).origin} does not answer (nothing listens there)`);
  });
});
