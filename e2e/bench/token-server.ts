import { createHash, randomBytes } from 'node:crypto';
import { createServer, type IncomingMessage } from 'node:http';
import type { AddressInfo } from 'node:net';
import { AuthServer } from '#crds/run-config/auth-server';
import { Storage } from '#crds/run-config/storage';
import { assembleRoutes } from '#runtime/authserver/assemble-routes';
import { hashId, newId } from '#runtime/authserver/ids';
import { createSecretRing } from '#runtime/keys/create-secret-ring';
import { createSigningKeys } from '#runtime/authserver/keys/create-signing-keys';
import { createSessionCheck } from '#runtime/authserver/session-check';
import { openStorage } from '#runtime/authserver/storage/open-storage';
import type { LinkRow, SessionRow, UserProfile } from '#runtime/authserver/storage/rows';
import { writeCode } from '#runtime/authserver/token-formats/authorization-code';
import { writeRefreshToken } from '#runtime/authserver/token-formats/refresh-token';
import { createUserTokens } from '#runtime/authserver/upstream-tokens/create-user-tokens';
import { createListener } from '#runtime/http/listener';
import { CODE_VERIFIER, type Prepared } from './token-job.ts';
import { READS_NOTHING } from '#runtime/policy/policy-reads';

// Serves the authorization server's own endpoints on a real port. A second port makes logins without users:
// `POST /sessions?count=&from=&gens=`, `/codes?count=`, `/clients?count=`, `/memory`.

const RESOURCE = 'http://127.0.0.1/mcp';
const REDIRECT = 'http://127.0.0.1:1/callback';
const CLIENT = 'bench-client';
const DAY = 86_400_000;
const SESSION_SECRETS = new Map<number, string>();

const log = { debug: silent, info: silent, warn: silent, error: silent };
const now = () => Date.now();
const storage = await openStorage(Storage.parse(JSON.parse(process.argv[2] ?? '{"type":"memory"}')), {
  now,
  readSecret: () => '',
});
const secrets = createSecretRing([], { now, random: randomBytes });
const keys = await createSigningKeys([], { now });
const config = AuthServer.parse({
  issuer: 'http://127.0.0.1',
  upstreams: [
    { type: 'oidc', name: 'okta', oidc_config: { client_id: 'v', issuer_url: 'https://login.okta.example' } },
  ],
});
const place = { namespace: 'bench', name: 'tokens', uid: 'bench' };
const shared = { place, log, now, random: randomBytes, record: silent, storage, secrets, providers: () => new Map() };
const userTokens = createUserTokens({
  ...shared,
  issuer: config.issuer,
  connectionsUrl: `${config.issuer}/connections`,
});
const { route } = assembleRoutes({
  ...{ ...shared, config, keys, userTokens, resourceUrl: RESOURCE, proxy: undefined },
  sessions: createSessionCheck(storage, now),
  known: new Map(),
  readFile: () => '',
  readBytes: () => Buffer.alloc(0),
  readSource: ({ socket }) => socket.remoteAddress ?? '',
  changed: silent,
  unknownProxy: silent,
  answered: silent,
  sharedLogins: () => [],
  policyReads: () => READS_NOTHING,
});
await addClient(CLIENT);

function silent(): undefined {
  return undefined;
}

function addClient(id: string): Promise<boolean> {
  const row = {
    client_id: id,
    client_name: 'Bench client',
    redirect_uris: [REDIRECT],
    grant_types: ['authorization_code', 'refresh_token'],
    scope: undefined,
    application_type: 'native',
    registered_at: now(),
  };
  return storage.put('client', hashId(id), row, { lifespan: 30 * DAY, capacity: 1_000_000 });
}

function userOf(name: string): UserProfile {
  const subject = `user-${name}`;
  return {
    issuer: 'https://login.okta.example',
    subject,
    sub: hashId(subject),
    name: `User ${name}`,
    email: `${subject}@example.com`,
    email_verified: true,
    claims: { groups: ['engineering', 'research'], department: 'tools' },
  };
}

/** Stores a login that has completed all its login steps. @returns the id of its code */
async function finishLogin(user: UserProfile): Promise<string> {
  const link: LinkRow = {
    account: user,
    sealed: secrets.seal(JSON.stringify({ access_token: 'x'.repeat(40) }), 'bench'),
    expires_at: undefined,
    linked_at: now(),
    state: 'linked',
    version: 1,
  };
  const request = {
    client_id: CLIENT,
    redirect_uri: REDIRECT,
    state: undefined,
    code_challenge: createHash('sha256').update(CODE_VERIFIER).digest('base64url'),
    scope: ['mcp', 'offline_access'],
    resource: RESOURCE,
  };
  const id = newId();
  const code = { id: hashId(id), row: { request, user }, lifespan: 600_000 };
  await storage.finishLogin({ sub: user.sub, links: { okta: link }, code, lifespan: DAY });
  return id;
}

async function makeSession(index: number): Promise<string> {
  const user = userOf(String(index));
  const id = await finishLogin(user);
  const at = now();
  const secret = newId();
  const row: SessionRow = {
    ...{
      client_id: CLIENT,
      sub: user.sub,
      scope: ['mcp', 'offline_access'],
      resource: RESOURCE,
      user,
      kid: secrets.kid,
    },
    ...{ ends_at: at + 30 * DAY, asked_at: at, answered_at: at },
  };
  await storage.redeemCode(hashId(id), { key: hashId(secret), row, lifespan: 7 * DAY });
  return secret;
}

const control: Record<string, (query: URLSearchParams) => Promise<Prepared | { heap: number }>> = {
  /** Returns the refresh tokens of the generations from `from` on, for each of `count` sessions. */
  async '/sessions'(query) {
    const [count, from, gens] = ['count', 'from', 'gens'].map((name) => Number(query.get(name)));
    const all: string[][] = [];
    for (let index = 0; index < (count ?? 0); index += 1) {
      const secret = SESSION_SECRETS.get(index) ?? (await makeSession(index));
      SESSION_SECRETS.set(index, secret);
      const tokens = Array.from({ length: gens ?? 0 }, (_, gen) =>
        writeRefreshToken(secrets, secrets.kid, { secret, gen: (from ?? 0) + gen }),
      );
      all.push(tokens);
    }
    return { clientId: CLIENT, redirectUri: REDIRECT, all };
  },
  async '/codes'(query) {
    const all: string[][] = [];
    for (let lane = 0; lane < Number(query.get('count')); lane += 1) {
      const codes: string[] = [];
      for (let index = 0; index < Number(query.get('gens')); index += 1) {
        codes.push(writeCode(secrets, await finishLogin(userOf(`code-${lane}-${index}`))));
      }
      all.push(codes);
    }
    return { clientId: CLIENT, redirectUri: REDIRECT, all };
  },
  async '/fill'(query) {
    const count = Number(query.get('count'));
    for (let index = 0; index < count; index += 1) {
      if (query.get('what') === 'clients') await addClient(`filled-${index}`);
      else await makeSession(1_000_000 + index);
    }
    return { heap: 0 };
  },
  '/memory'() {
    globalThis.gc?.();
    return Promise.resolve({ heap: process.memoryUsage().heapUsed });
  },
};

const server = createListener({ tls: undefined, route, failed: (error) => console.error(error) });
const controls = createServer((request: IncomingMessage, response) => {
  const { pathname, searchParams } = new URL(request.url ?? '/', 'http://127.0.0.1');
  control[pathname]?.(searchParams).then(
    (made) => response.end(JSON.stringify(made)),
    (error: unknown) => response.writeHead(500).end(String(error)),
  );
});
const listen = (one: typeof server) =>
  new Promise<number>((resolve) => {
    one.listen(0, '127.0.0.1', () => resolve((one.address() as AddressInfo).port));
  });
console.log(JSON.stringify({ port: await listen(server), controlPort: await listen(controls) }));
process.once('SIGTERM', () => process.exit(0));
