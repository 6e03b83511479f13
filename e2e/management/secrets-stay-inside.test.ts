import { execFileSync } from 'node:child_process';
import { readdirSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { findFreePort } from '../gateway/find-free-port.ts';
import { server, whoami } from '../local/manifests.ts';
import { type RunningApi, useApi } from './use-api.ts';

/** Part of every secret value, and of no other text. */
const CANARY = 'canary-7f3a91';
const MINUTES = 120_000;
const secret = (what: string): string => `${CANARY}-${what}`;

/** Requests with a secret in its own field, in a wrong field, and in an unexpected place. */
const REQUESTS: [method: string, path: string, body: unknown][] = [
  ['POST', '/secrets', { provider_type: 'encrypted' }],
  ['POST', '/secrets/default/keys', { key: 'TOKEN', value: secret('stored') }],
  ['POST', '/secrets/default/keys', { key: 'TOKEN', value: secret('again') }],
  ['PUT', '/secrets/default/keys/TOKEN', { value: secret('changed') }],
  ['PUT', '/secrets/default/keys/NONE', { value: secret('nowhere') }],
  ['POST', '/secrets/default/keys', { key: 'b', value: { [secret('field')]: 1 } }],
  ['POST', '/secrets/default/keys', { key: 'not a key', value: secret('bad key') }],
  ['POST', '/secrets', { provider_type: 'encrypted', password: secret('password') }],
  ['POST', '/secrets', { provider_type: 'encrypted', password: secret('long'.repeat(1000)) }],
  ['POST', '/secrets', { provider_type: 'vault', password: secret('other') }],
  ['POST', '/workloads/whoami/edit', { secrets: [{ name: 'vmcp-secrets/TOKEN', target: 'TOKEN' }] }],
  ['POST', '/workloads/whoami/edit', { secrets: [{ name: secret('inline') }] }],
  ['POST', '/workloads/whoami/edit', { oidc: { issuer: 'https://a.example', client_secret: secret('oidc') } }],
  ['POST', '/workloads/whoami/edit', { header_forward: { add_headers_from_secret: { A: secret('header') } } }],
  [
    'POST',
    '/workloads',
    { name: 'b', url: 'https://a.example', oauth_config: { bearer_token: { name: secret('b') } } },
  ],
  ['POST', '/workloads', { name: 'c', url: `https://user:${secret('url')}@a.example` }],
  ['POST', '/workloads', { name: 'd', image: 'a', registry_url: `https://user:${secret('registry')}@a.example` }],
  ['PUT', '/registry/default', { url: `https://user:${secret('source')}@a.example` }],
  [
    'PUT',
    '/registry/default',
    {
      url: 'https://a.example',
      auth: { issuer: 'https://a.example', client_id: 'a', client_secret_ref: secret('ref') },
    },
  ],
  ['POST', '/skills', { name: `git://user:${secret('git')}@a.example/a/b` }],
  ['GET', '/secrets/default/keys', undefined],
  ['GET', '/workloads?all', undefined],
  ['GET', '/workloads/whoami', undefined],
  ['GET', '/workloads/whoami/export', undefined],
  ['GET', '/workloads/whoami/status', undefined],
  ['GET', '/workloads/whoami/logs', undefined],
];

let api: RunningApi;
beforeAll(async () => {
  const manifests = {
    'server.yaml': server('demo', await findFreePort()),
    'whoami.yaml': whoami('whoami', 'demo', await findFreePort()),
  };
  api = await useApi(manifests, { VMCP_SECRETS_PASSWORD: secret('of the start') });
}, MINUTES);
afterAll(() => api.close());

const filesBelow = (folder: string): string[] =>
  readdirSync(folder).flatMap((name) => {
    const path = join(folder, name);
    if (statSync(path).isDirectory()) return filesBelow(path);
    return statSync(path).isFile() ? [path] : [];
  });

describe('secrets sent to the management API', () => {
  it(
    'appear in no answer, header, log, manifest, argument or output',
    async () => {
      const file = join(api.place.path, 'someone');
      writeFileSync(file, secret('in a file that is no registry'));
      const answers: string[] = [];
      const statuses: number[] = [];
      for (const [method, path, body] of [...REQUESTS, ['PUT', '/registry/default', { local_path: file }] as const]) {
        const answer = await api.call(method, path, body);
        statuses.push(answer.status);
        answers.push(`${method} ${path}: ${JSON.stringify([...answer.headers])} ${await answer.text()}`);
      }
      // The server stored some secrets, refused most, and survived all.
      expect(statuses.filter((status) => status < 300)).toHaveLength(11);
      expect(statuses.filter((status) => status >= 500)).toEqual([]);
      expect(answers.filter((text) => text.includes(CANARY))).toEqual([]);
      expect(api.output()).not.toContain(CANARY);
      const logs = filesBelow(join(api.place.path, '.vmcp', 'logs'));
      expect(logs.map((path) => readFileSync(path, 'utf8')).join('\n')).toContain('management_secret_created');
      // Programs read a secret from its own file.
      const others = filesBelow(api.place.path).filter((path) => path !== file && !path.includes('/.vmcp/run/'));
      expect(others.filter((path) => readFileSync(path, 'latin1').includes(CANARY))).toEqual([]);
      expect(execFileSync('ps', ['axww', '-o', 'args'], { encoding: 'utf8' })).not.toContain(CANARY);
    },
    MINUTES,
  );
});
