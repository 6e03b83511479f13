import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import {
  Client,
  ClientCredentialsProvider,
  type OAuthClientProvider,
  PrivateKeyJwtProvider,
  StreamableHTTPClientTransport,
} from '@modelcontextprotocol/client';
import { exportJWK, exportPKCS8, generateKeyPair } from 'jose';
import { serveEverything, type EverythingServer } from '../fakes/everything-server/serve.ts';
import { arrange, type Arrangement } from './arrangement.ts';
import { postForm } from './oauth-client.ts';

const SECRET = 'secret+of/the=robot+';
const KEYS = await generateKeyPair('ES256', { extractable: true });
const JWKS = JSON.stringify({ keys: [await exportJWK(KEYS.publicKey)] });
const TOOL = 'tools_test_simple_text';

let backend: EverythingServer;
let at: Arrangement;

beforeAll(async () => {
  backend = await serveEverything();
  const grants = ['client_credentials' as const];
  at = await arrange({
    files: { robot: SECRET },
    backends: [{ name: 'tools', transport: 'streamable-http', url: backend.url }],
    authServer: {
      clients: [
        { client_id: 'robot', client_secret_file: 'robot', grants },
        { client_id: 'signer', jwks: JWKS, grants },
        { client_id: 'stranger', client_secret_file: 'robot', grants },
      ],
    },
    config: {
      authz: {
        mode: 'enforce',
        policies: [
          `permit(principal == Client::"robot", action, resource == Tool::"${TOOL}");`,
          `permit(principal == Client::"signer", action, resource == Tool::"${TOOL}");`,
        ],
        entities_json: '[]',
      },
    },
  });
});

afterAll(async () => {
  await at.close();
  await backend.close();
});

const withSecret = (clientId: string, clientSecret = SECRET) =>
  new ClientCredentialsProvider({ clientId, clientSecret, expectedIssuer: at.origin });

async function connect(authProvider: OAuthClientProvider): Promise<Client> {
  const client = new Client({ name: 'machine', version: '1' });
  await client.connect(new StreamableHTTPClientTransport(new URL(at.resource), { authProvider }));
  return client;
}

async function useTool(authProvider: OAuthClientProvider): Promise<void> {
  const client = await connect(authProvider);
  const { tools } = await client.listTools();
  expect(tools.map(({ name }) => name)).toEqual([TOOL, 'connect_okta']);
  expect(await client.callTool({ name: TOOL })).toMatchObject({ content: [{ type: 'text' }] });
  await client.close();
}

describe('a machine', () => {
  it('authenticates with its secret by the SDK, which sends it as it is, and gets what policies give it', async () => {
    await useTool(withSecret('robot'));
  });

  it('authenticates with its private key by the SDK', async () => {
    const privateKey = await exportPKCS8(KEYS.privateKey);
    await useTool(
      new PrivateKeyJwtProvider({ clientId: 'signer', privateKey, algorithm: 'ES256', expectedIssuer: at.origin }),
    );
  });

  it('gets what policies give it, and nothing that they give other machines', async () => {
    const client = await connect(withSecret('stranger'));
    expect((await client.listTools()).tools.map(({ name }) => name)).not.toContain(TOOL);
    await expect(client.callTool({ name: TOOL })).rejects.toThrow();
    await client.close();
  });

  it('cannot link the account of a person', async () => {
    const client = await connect(withSecret('robot'));
    const outcome = await client.callTool({ name: 'connect_okta' }).catch((error: unknown) => String(error));
    expect(JSON.stringify(outcome)).toContain('A client that acts as itself has no account at okta');
    await client.close();
  });

  it('stops at a wrong secret', async () => {
    await expect(connect(withSecret('robot', SECRET.replaceAll('+', ' ')))).rejects.toThrow(/secret/);
  });

  it('loses its access at once when the administrator removes it', async () => {
    const form = { grant_type: 'client_credentials', client_id: 'robot', client_secret: SECRET };
    const { body } = await postForm(`${at.origin}/oauth/token`, form);
    const call = () =>
      fetch(at.resource, {
        method: 'POST',
        headers: {
          authorization: `Bearer ${body.access_token}`,
          accept: 'application/json, text/event-stream',
          'content-type': 'application/json',
        },
        body: JSON.stringify({
          jsonrpc: '2.0',
          id: 1,
          method: 'initialize',
          params: { protocolVersion: '2025-06-18', capabilities: {}, clientInfo: { name: 'machine', version: '1' } },
        }),
      });
    expect((await call()).status).toBe(200);
    const authServer = { ...at.configOf().embedded_auth_server_config!, clients: [] };
    const listen = { port: Number(new URL(at.origin).port), private_port: 0 };
    await at.gateway.reconfigure({ ...at.configOf(), listen, embedded_auth_server_config: authServer });
    expect((await call()).status).toBe(401);
    expect((await postForm(`${at.origin}/oauth/token`, form)).body.error).toBe('invalid_client');
  });
});
