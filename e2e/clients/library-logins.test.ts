import { auth as authAi, createMCPClient } from '@ai-sdk/mcp';
import { afterEach, describe, expect, it, jest } from '@jest/globals';
import {
  Client as Client2,
  StreamableHTTPClientTransport as Transport2,
  type OAuthClientProvider as Provider2,
} from '@modelcontextprotocol/client';
import { Client as Client1 } from '@modelcontextprotocol/sdk/client/index.js';
import { StreamableHTTPClientTransport as Transport1 } from '@modelcontextprotocol/sdk/client/streamableHttp.js';
import { arrange, type Arrangement } from '../authserver/arrangement.ts';
import { postForm } from '../authserver/oauth-client.ts';
import { accountAt, type ProviderSpec } from '../authserver/providers.ts';
import { setWallClock } from '../authserver/wall-clock.ts';
import type { Caller } from '../fakes/whoami/describe-caller.ts';
import { closeAll, closing } from '../relay/gateway-to.ts';
import { PersonAuth } from './person-auth.ts';

const OKTA: ProviderSpec = { name: 'okta', kind: 'odd', options: { oidc: true, refresh: 'rotates', expiresIn: 3_600 } };
/** Lifespan of an access token, in seconds. */
const LIFESPAN = 2;

afterEach(async () => {
  jest.restoreAllMocks();
  await closeAll();
});

/** Connects, calls `okta_whoami` and closes. Rejects if a login is needed; then the person has already returned with an answer. */
type Call = (url: URL, person: PersonAuth) => Promise<unknown>;
interface Library {
  readonly call: Call;
  /** Redeems the answer of the login. */
  readonly finish: (url: URL, person: PersonAuth) => Promise<unknown>;
}

const TOOL = { name: 'okta_whoami', arguments: {} };

const libraries: Readonly<Record<string, Library>> = {
  'the MCP SDK of the 1.x line': {
    async call(url, person) {
      const client = new Client1({ name: 'old', version: '1' });
      try {
        await client.connect(new Transport1(url, { authProvider: person }));
        return await client.callTool(TOOL);
      } finally {
        await client.close();
      }
    },
    finish: (url, person) => new Transport1(url, { authProvider: person }).finishAuth(person.answer.get('code') ?? ''),
  },
  'the MCP SDK of the 2.x line': {
    async call(url, person) {
      const client = new Client2({ name: 'new', version: '1' });
      try {
        await client.connect(new Transport2(url, { authProvider: person as Provider2 }));
        return await client.callTool(TOOL);
      } finally {
        await client.close();
      }
    },
    finish: (url, person) => new Transport2(url, { authProvider: person as Provider2 }).finishAuth(person.answer),
  },
  '@ai-sdk/mcp': {
    async call(url, person) {
      const client = await createMCPClient({
        transport: { type: 'http', url: url.href, authProvider: person },
      });
      try {
        const tools = await client.tools();
        return await tools.okta_whoami!.execute({}, { toolCallId: '1', messages: [], context: undefined } as never);
      } finally {
        await client.close();
      }
    },
    finish: (url, person) =>
      authAi(person, {
        serverUrl: url.href,
        authorizationCode: person.answer.get('code') ?? '',
        callbackState: person.answer.get('state') ?? '',
        callbackIssuer: person.answer.get('iss') ?? '',
      }),
  },
};

/** Calls the tool, after a login if one is needed. Returns the caller's account at the backend. */
async function callAs(library: Library, setup: Arrangement, person: PersonAuth): Promise<string | undefined> {
  const url = new URL(setup.resource);
  const before = person.logins;
  const called = await library.call(url, person).catch(async (error: unknown) => {
    if (person.logins === before) throw error;
    await library.finish(url, person);
    return library.call(url, person);
  });
  return accountAt(setup.providers.okta!, (called as { structuredContent: Caller }).structuredContent);
}

const start = async (storage?: 'sqlite'): Promise<Arrangement> => {
  const authServer = { token_lifespans: { access_token_lifespan: `${LIFESPAN}s` } };
  return closing(await arrange({ providers: [OKTA], authServer, ...(storage && { storage }) }));
};

describe.each(Object.keys(libraries))('%s', (name) => {
  const library = libraries[name]!;

  it('logs in once, survives restarts and token expiry, and logs in again after a revocation', async () => {
    const clock = setWallClock();
    const [setup, person] = [await start('sqlite'), new PersonAuth('alice')];
    expect(await callAs(library, setup, person)).toBe('alice');
    expect(person).toMatchObject({ logins: 1, registrations: 1 });
    await setup.restart();
    expect(await callAs(library, setup, person)).toBe('alice');
    const before = person.saved;
    clock.forward(LIFESPAN * 1_000);
    expect(await callAs(library, setup, person)).toBe('alice');
    expect(person.saved?.access_token).not.toBe(before?.access_token);
    expect(person).toMatchObject({ logins: 1, registrations: 1 });
    const client_id = person.clientInformation()?.client_id ?? '';
    const revoked = { token: person.saved?.refresh_token ?? '', client_id };
    expect((await postForm(`${setup.origin}/oauth/revoke`, revoked)).status).toBe(200);
    expect(await callAs(library, setup, person)).toBe('alice');
    expect(person).toMatchObject({ logins: 2, registrations: 1 });
  });

  it('registers and logs in again if the server has lost its registration', async () => {
    const [setup, person] = [await start(), new PersonAuth('alice')];
    expect(await callAs(library, setup, person)).toBe('alice');
    await setup.restart();
    expect(await callAs(library, setup, person)).toBe('alice');
    expect(person).toMatchObject({ logins: 2, registrations: 2 });
  });

  it('opens a login with its old tokens after the server lost its keys and logins', async () => {
    const [setup, person] = [await start('sqlite'), new PersonAuth('alice')];
    expect(await callAs(library, setup, person)).toBe('alice');
    await setup.restartWithoutState();
    expect(await callAs(library, setup, person)).toBe('alice');
    expect(person).toMatchObject({ logins: 2, registrations: 2 });
  });
});
