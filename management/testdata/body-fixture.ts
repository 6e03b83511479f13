import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { locateState } from '#local/state-folder';
import { LocalSecrets } from '../secrets/local-secrets.ts';
import { type ArtifactServer, serveArtifacts } from '../skills/testdata/serve-artifacts.ts';
import { openSkillsFixture, type SkillsFixture } from '../skills/testdata/skills-fixture.ts';
import { FILE } from '../registries/testdata/serve-registry.ts';
import type { Operation } from '../operation.ts';
import { askOperation, type Asked, type Told } from './ask-operation.ts';
import { OPERATIONS } from '../operations/table.ts';

export const PASSWORD = 'correct horse';

/** An idle machine with sources of registries and skills. */
export interface BodyFixture extends SkillsFixture {
  /** Registry files `/one.json` and `/two.json`, APIs `/one` and `/two`, issuers `/issuer` and `/other`. */
  source: string;
  artifacts: ArtifactServer;
  call: (id: string, asked: Asked) => Promise<Told>;
  /** Returns the value of a stored secret; undefined when the password does not open the file. */
  secret: (key: string, password?: string) => Promise<string | undefined>;
  /** Text of a file in the home folder. */
  homeFile: (path: string) => string;
  /** Requests to `source`: path, Authorization header and body. */
  requests: string[];
}

export type Body = Readonly<Record<string, unknown>>;

/** Test of one field's effect. */
export interface Effect {
  /** Prepares the place. */
  before?: (fixture: BodyFixture) => Promise<unknown>;
  /** Path parameters of the request. */
  params?: Readonly<Record<string, string>>;
  /** The two bodies differ in this field alone. */
  bodies: (fixture: BodyFixture) => Promise<readonly [Body, Body]> | readonly [Body, Body];
  /** Returns the effect of the request, without the field itself. */
  observe: (fixture: BodyFixture, answer: Told) => unknown;
}

function operationOf(id: string): Operation {
  const found = OPERATIONS.find((one) => one.id === id);
  if (found === undefined) throw new Error(`there is no operation ${id}`);
  return found;
}

function answerOf(source: string, path: string): unknown {
  const [, first = '', ...rest] = path.split('/');
  const below = rest.join('/');
  const issuer = `${source}/${first}`;
  if (first.endsWith('.json')) return { ...FILE, version: first };
  if (below.startsWith('v0.1/servers')) return { servers: [], metadata: { count: 0 } };
  if (below === '.well-known/openid-configuration') return { issuer, token_endpoint: `${issuer}/token` };
  if (below === 'token') return { access_token: 'token', token_type: 'bearer', expires_in: 600 };
  return undefined;
}

async function serveSource() {
  const requests: string[] = [];
  let url = '';
  const server = createServer((request, response) => {
    void text(request).then((body) => {
      requests.push(`${request.url} ${request.headers.authorization ?? ''} ${body}`);
      const answer = answerOf(url, request.url ?? '');
      response.writeHead(answer === undefined ? 404 : 200, { 'content-type': 'application/json' });
      response.end(JSON.stringify(answer ?? {}));
    });
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  const close = () => {
    server.closeAllConnections();
    return new Promise((resolve) => server.close(resolve));
  };
  return { url, requests, close };
}

/** Opens a place for one request. */
export async function openBodyFixture(): Promise<BodyFixture> {
  const fixture = await openSkillsFixture({ VMCP_SECRETS_PASSWORD: PASSWORD });
  const [source, artifacts] = [await serveSource(), await serveArtifacts()];
  return {
    ...fixture,
    artifacts,
    source: source.url,
    requests: source.requests,
    call: (id, asked) => askOperation(fixture.served, operationOf(id), asked),
    async secret(key, password = PASSWORD) {
      const environment = { HOME: fixture.home, VMCP_SECRETS_PASSWORD: password };
      const secrets = new LocalSecrets({ state: locateState(join(fixture.base, '.vmcp')), environment });
      try {
        return (await secrets.read('default', [key])).get(key);
      } catch {
        return undefined;
      }
    },
    homeFile: (path) => readFileSync(join(fixture.home, path), 'utf8'),
    async close() {
      await fixture.close();
      await source.close();
      await artifacts.close();
    },
  };
}
