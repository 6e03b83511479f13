import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { makeHome, type OwnHome } from '../testdata/own-home.ts';

let home: OwnHome;
beforeEach(() => {
  home = makeHome();
});
afterEach(() => home.close());

const vmcp = (...args: string[]) => home.withoutFolder(['registry', ...args]);

const REGISTRY = {
  version: '1.0.0',
  last_updated: '2026-01-02T03:04:05Z',
  servers: {
    cups: {
      description: 'Counts\n\u001B[31mcups\u001B[0m',
      image: 'npx://cups@1',
      transport: 'stdio',
      args: ['/srv'],
      env_vars: [
        { name: 'CUP_TOKEN', required: true, secret: true, description: 'Who counts' },
        { name: 'CUP_SIZE', default: 'small' },
      ],
    },
    old: { description: 'Saucers', image: 'example/saucers:1', status: 'deprecated' },
  },
  remote_servers: { far: { url: 'https://far.example/mcp', headers: [{ name: 'X-Key', required: true }] } },
};
function registryFile(): string {
  const file = join(home.path, 'servers.json');
  writeFileSync(file, JSON.stringify(REGISTRY));
  return file;
}

describe('vmcp registry', () => {
  it('finds built-in entries before the first start', async () => {
    const { code, out } = await vmcp('search', 'github', 'ISSUES');
    expect([code, out]).toEqual([0, expect.stringMatching(/^NAME +RUNS +TIER +DESCRIPTION\ngithub +image +Official /)]);
    expect((await vmcp('search', '-o', 'name')).out.split('\n')).toEqual(expect.arrayContaining(['time', 'github']));
    expect(await vmcp('search', 'nothing-is-called-so')).toMatchObject({ code: 0, out: '' });
    expect((await vmcp('info', 'github')).out).toMatch(/GITHUB_PERSONAL_ACCESS_TOKEN +needed, secret/);
    expect(await vmcp('info', 'nope')).toMatchObject({ code: 6, err: expect.stringContaining('"nope"') });
  });

  it('reads another registry from a file, and the built-in one again', async () => {
    expect(await vmcp('set', registryFile())).toMatchObject({ code: 0, err: expect.stringContaining(': 3 servers') });
    expect((await vmcp('search', '-o', 'name')).out).toBe('cups\nfar\nold\n');
    expect((await vmcp('list')).out).toMatch(/^default +file +3 +2026-01-02T03:04:05Z +- +\/.*servers.json$/m);
    expect((await vmcp('rm')).code).toBe(0);
    expect((await vmcp('search', '-o', 'name')).out).toContain('github\n');
  });

  it('shows the inputs of a server and the command to run it, without terminal control sequences', async () => {
    await vmcp('set', registryFile());
    const { out } = await vmcp('info', 'cups');
    expect(out).toContain('npx://cups@1');
    expect(out).toMatch(/CUP_TOKEN +needed, secret +Who counts\n +CUP_SIZE +optional +\(default small\)/);
    expect(out).toContain(`Run it: vmcp run cups --state ${home.state}\n`);
    expect((await vmcp('info', 'far')).out).toMatch(/Each header that it takes:\n +X-Key +needed/);
    const { out: found } = await vmcp('search');
    expect(found).toContain('(deprecated) Saucers');
    expect(out + found).not.toContain('\u001B');
    expect(JSON.parse((await vmcp('info', 'cups', '-o', 'json')).out)).toMatchObject({ image: 'npx://cups@1' });
  });

  it('rejects unreadable sources with the matching code', async () => {
    await vmcp('set', registryFile());
    writeFileSync(join(home.path, 'broken.json'), '{');
    expect((await vmcp('set', join(home.path, 'broken.json'))).code).toBe(1);
    expect((await vmcp('set', join(home.path, 'nowhere.json'))).code).toBe(1);
    expect((await vmcp('set', 'http://127.0.0.1:1/servers.json')).code).toBe(1);
    expect((await vmcp('set', 'servers', '--api')).code).toBe(2);
    expect(await vmcp('set', 'https://a.example', '--issuer', 'https://b.example')).toMatchObject({
      code: 2,
      err: expect.stringContaining('--client-id'),
    });
    expect((await vmcp('search', '--registry', 'cluster')).code).toBe(6);
    expect((await vmcp('search', '-o', 'name')).out).toBe('cups\nfar\nold\n');
  });
});

describe('vmcp registry with a registry that requires a login', () => {
  let issuer: Server;
  let url: string;
  /** Number of refused tokens before the login completes. */
  let pending: number;
  beforeEach(async () => {
    pending = 1;
    issuer = createServer((request, response) => {
      const json = (status: number, body: unknown) =>
        response.writeHead(status, { 'content-type': 'application/json' }).end(JSON.stringify(body));
      if (request.url?.startsWith('/.well-known') === true)
        json(200, {
          issuer: url,
          token_endpoint: `${url}/token`,
          device_authorization_endpoint: `${url}/device`,
        });
      else if (request.url === '/device')
        json(200, {
          device_code: 'd',
          user_code: 'ABCD-EFGH',
          verification_uri: `${url}/enter`,
          expires_in: 60,
          interval: 1,
        });
      else if (request.url === '/token')
        if (pending-- > 0) json(400, { error: 'authorization_pending' });
        else json(200, { access_token: 'token-of-the-registry', token_type: 'bearer', expires_in: 600 });
      else if (request.headers.authorization === 'Bearer token-of-the-registry') json(200, REGISTRY);
      else json(401, {});
    });
    await new Promise<void>((resolve) => issuer.listen(0, '127.0.0.1', resolve));
    url = `http://127.0.0.1:${(issuer.address() as AddressInfo).port}`;
  });
  afterEach(() => {
    issuer.closeAllConnections();
    issuer.close();
  });

  const set = (...more: string[]) => {
    const login = ['--issuer', url, '--client-id', 'vmcp', '--allow-private-ip'];
    return vmcp('set', `${url}/servers.json`, ...login, ...more);
  };

  it('rejects a private address and names the flag that allows it', async () => {
    const { code, err } = await vmcp('set', 'https://127.0.0.1/servers.json');
    expect([code === 0, err]).toEqual([false, expect.stringContaining('give --allow-private-ip to allow it')]);
    expect(err).not.toContain('allow_private_ip');
  });

  it('waits for the login, and serves later commands from its copy', async () => {
    const { code, err } = await set();
    expect([code, err]).toEqual([
      0,
      expect.stringMatching(/Open http.*\/enter and enter ABCD-EFGH.*\nlogged in: 3 servers/),
    ]);
    expect((await vmcp('search', '-o', 'name')).out).toBe('cups\nfar\nold\n');
    expect((await vmcp('list')).out).toMatch(/ configured /);
  });

  it('gives up after the timeout with code 3', async () => {
    pending = 1_000_000;
    expect(await set('--timeout', '500ms')).toMatchObject({
      code: 3,
      err: expect.stringContaining('the login did not complete'),
    });
  });
});
