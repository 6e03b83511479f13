import { createServer, type IncomingHttpHeaders, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { exportJWK, generateKeyPair, SignJWT, UnsecuredJWT } from 'jose';
import { servePlain } from '../fakes/backend/serve-plain.ts';
import { serveGateway, type ServedGateway } from '../gateway/serve-gateway.ts';
import { send, SessionClient } from '../gateway/session-client.ts';

const ISSUER = 'https://idp.example';
const { publicKey, privateKey } = await generateKeyPair('ES256');
const jwks = { keys: [{ ...(await exportJWK(publicKey)), kid: 'k', alg: 'ES256' }] };
const tokenFor = (subject: string) =>
  new SignJWT({ scope: 'mcp' })
    .setProtectedHeader({ alg: 'ES256', kid: 'k' })
    .setIssuer(ISSUER)
    .setSubject(subject)
    .setAudience('vmcp')
    .setExpirationTime('10m')
    .sign(privateKey);

const EXCHANGED = new UnsecuredJWT({ aud: 'files', marker: 'exchanged-s3cret' }).setExpirationTime('5m').encode();
const SECRETS = { 'client-secret': 'cl1ent-s3cret', 'api-key': 'api-key-s3cret', 'status-token': 'status-s3cret' };

let tokenService: Server;
let tokenUrl: string;
let exchanges: URLSearchParams[];
let answer: (form: URLSearchParams) => { status: number; body: unknown };
let gateway: ServedGateway;
let seen: Record<string, IncomingHttpHeaders[]>;
let open: { close(): unknown }[];

async function backend(name: string, refuse = 0) {
  const calls: IncomingHttpHeaders[] = (seen[name] = []);
  let left = refuse;
  const served = await servePlain({
    tools: 1,
    intercept: (request, response, body) => {
      calls.push(request.headers);
      if (!body.includes('tools/call') || left === 0) return false;
      left--;
      response.writeHead(401, { 'www-authenticate': 'Bearer realm="inner"' }).end();
      return true;
    },
  });
  open.push(served);
  return served.url;
}

async function start({ refuse = 0 } = {}) {
  const exchange = { type: 'token_exchange' as const, token_url: tokenUrl, client_id: 'vmcp', audience: 'files' };
  const transport = 'streamable-http' as const;
  gateway = await serveGateway(
    {
      incoming: { type: 'oidc', issuer: ISSUER, audience: 'vmcp', jwks },
      backends: [
        { name: 'none', transport, url: await backend('none') },
        {
          name: 'keyed',
          transport,
          url: await backend('keyed'),
          auth: { type: 'header_injection', header_name: 'X-Api-Key', value_file: 'api-key' },
        },
        {
          name: 'files',
          transport,
          url: await backend('files', refuse),
          auth: { ...exchange, client_secret_file: 'client-secret' },
        },
      ],
      status_token_file: 'status-token',
      audit_config: { enabled: true, includeRequestData: true, includeResponseData: true, maxDataSize: 100_000 },
    },
    { files: SECRETS },
  );
  open.push(gateway);
}

beforeEach(async () => {
  [exchanges, seen, open] = [[], {}, []];
  answer = () => ({
    status: 200,
    body: {
      access_token: EXCHANGED,
      issued_token_type: 'urn:ietf:params:oauth:token-type:access_token',
      token_type: 'Bearer',
      expires_in: 300,
    },
  });
  tokenService = createServer((req, res) => {
    let text = '';
    req.on('data', (chunk: Buffer) => (text += chunk.toString()));
    req.on('end', () => {
      const form = new URLSearchParams(text);
      exchanges.push(form);
      const { status, body } = answer(form);
      res.writeHead(status, { 'content-type': 'application/json' }).end(JSON.stringify(body));
    });
  }).listen(0, '127.0.0.1');
  await new Promise((resolve) => tokenService.once('listening', resolve));
  tokenUrl = `http://127.0.0.1:${(tokenService.address() as AddressInfo).port}/token`;
});

afterEach(async () => {
  for (const one of open.reverse()) await one.close();
  tokenService.closeAllConnections();
  await new Promise((resolve) => tokenService.close(resolve));
});

const connect = async (subject: string) => {
  const token = await tokenFor(subject);
  return { token, client: await SessionClient.open(gateway.url, { authorization: `Bearer ${token}` }) };
};
const callAll = async (client: SessionClient) => {
  for (const name of ['none_tool_0', 'keyed_tool_0', 'files_tool_0']) {
    const reply = await client.call(name, { text: 'x' });
    expect({ name, result: reply.answer.result }).toMatchObject({ result: { content: expect.anything() } });
  }
};
const privatePort = (path: string, headers = {}) =>
  send(`http://127.0.0.1:${gateway.runtime.address.privatePort}${path}`, 'GET', headers);

describe('boundary 2', () => {
  it('sends each backend its own credential and none the caller’s', async () => {
    await start();
    const { token, client } = await connect('alice');
    await callAll(client);
    expect(new Set(seen.none?.map(({ authorization }) => authorization))).toEqual(new Set([undefined]));
    expect(seen.keyed?.at(-1)).toMatchObject({ 'x-api-key': 'api-key-s3cret' });
    expect(seen.keyed?.at(-1)?.authorization).toBeUndefined();
    expect(seen.files?.at(-1)?.authorization).toBe(`Bearer ${EXCHANGED}`);
    expect(exchanges.map((form) => form.get('subject_token'))).toEqual([token]);
    expect(JSON.stringify(seen)).not.toContain(token);
  });

  it('strips hop-by-hop and forwarding headers and cookies of the caller', async () => {
    await start();
    const { client } = await connect('alice');
    const stripped = {
      cookie: 'a=b',
      'x-forwarded-for': '6.6.6.6',
      forwarded: 'for=6.6.6.6',
      'proxy-authorization': 'Basic eA==',
    };
    await send(
      client.url,
      'POST',
      { ...client.headers, ...stripped },
      client.message('tools/call', { name: 'none_tool_0', arguments: { text: 'x' } }),
    );
    for (const name of Object.keys(stripped)) expect(seen.none?.at(-1)).not.toHaveProperty(name);
  });

  it('exchanges anew and repeats the call once after a backend’s 401, and relays no challenge', async () => {
    await start({ refuse: 1 });
    const { client } = await connect('alice');
    const reply = await client.call('files_tool_0', { text: 'x' });
    expect(reply.answer.result).toMatchObject({ content: expect.anything() });
    expect(reply.headers['www-authenticate']).toBeUndefined();
    expect(exchanges).toHaveLength(2);
  });

  it('fails only the calls whose token cannot be exchanged, with a clear error', async () => {
    await start();
    answer = () => ({ status: 400, body: { error: 'invalid_target', error_description: 'no s3cret' } });
    const { client } = await connect('bob');
    expect((await client.call('none_tool_0', { text: 'x' })).answer.result).toBeDefined();
    const reply = await client.call('files_tool_0', { text: 'x' });
    expect(reply.text).not.toContain('s3cret');
    expect(reply.status).toBe(200);
  });
});

describe('the output of the runtime', () => {
  it('holds no token, key or secret: answers, log, audit, status, metrics', async () => {
    await start();
    const { token, client } = await connect('alice');
    await callAll(client);
    const leaking = { authorization: `Bearer ${token}`, text: `Bearer ${EXCHANGED}`, password: 'pass-s3cret' };
    const replies = [await client.call('none_tool_0', leaking)];
    answer = () => ({ status: 500, body: { error: token, error_description: EXCHANGED } });
    const bob = await connect('bob');
    replies.push(await bob.client.call('files_tool_0', { text: 'x' }));
    replies.push(await send(gateway.url, 'POST', { authorization: `Bearer ${token}x` }, '{}'));
    replies.push(
      await privatePort('/status', { authorization: 'Bearer status-s3cret' }),
      await privatePort('/metrics'),
    );
    await gateway.runtime.stop();
    const outputs = {
      log: gateway.log(),
      answers: replies
        .slice(1)
        .map(({ text, headers }) => text + JSON.stringify(headers))
        .join(),
    };
    expect(outputs.log).toContain('"mcp_tool_call"');
    for (const secret of [
      token,
      bob.token,
      EXCHANGED,
      token.split('.')[2] ?? '',
      's3cret',
      ...Object.values(SECRETS),
    ]) {
      expect({
        secret,
        found: Object.entries(outputs).flatMap(([name, text]) => (text.includes(secret) ? [name] : [])),
      }).toEqual({ secret, found: [] });
    }
  });
});

describe('the private port of a running runtime', () => {
  it('shows the active document, each backend, and fingerprints of the files to callers with the token', async () => {
    await start();
    const { client } = await connect('alice');
    await client.toolNames();
    expect((await privatePort('/status')).status).toBe(401);
    const { text } = await privatePort('/status', { authorization: 'Bearer status-s3cret' });
    const status = JSON.parse(text) as Record<string, unknown>;
    expect(status).toMatchObject({ ready: true, config_refused: null, sessions: 1 });
    expect(status.backends).toEqual([
      expect.objectContaining({ name: 'none', phase: 'ready', tools: 1, auth_type: 'unauthenticated' }),
      expect.objectContaining({ name: 'keyed', phase: 'ready', tools: 1, auth_type: 'headerInjection' }),
      expect.objectContaining({ name: 'files', phase: 'ready', tools: 1, auth_type: 'tokenExchange' }),
    ]);
    expect(Object.keys(status.secret_files as object).sort()).toEqual(['api-key', 'client-secret', 'status-token']);
  });

  it('counts requests, backend requests and token exchanges', async () => {
    await start();
    const { client } = await connect('alice');
    await callAll(client);
    await callAll(client);
    const { text } = await privatePort('/metrics');
    expect(text).toMatch(/^vmcp_requests_total\{method="tools\/call",outcome="success",status="2xx"\} 6$/m);
    expect(text).toMatch(/^vmcp_backend_requests_total\{backend="files",outcome="success",status="2xx"\} [2-9]\d*$/m);
    expect(text).toMatch(/^vmcp_token_exchanges_total\{backend="files",outcome="exchanged"\} 1$/m);
    expect(text).toMatch(/^vmcp_backend_phase\{backend="none",phase="ready"\} 1$/m);
    expect(text).toMatch(/^vmcp_sessions 1$/m);
  });

  it('reports an invalid document while the runtime serves the active one', async () => {
    await start();
    const { client } = await connect('alice');
    await gateway.reconfigure({ incoming: { type: 'anonymous' }, backends: [], status_token_file: 'missing' });
    expect((await client.call('none_tool_0', { text: 'x' })).answer.result).toBeDefined();
    const { text } = await privatePort('/status', { authorization: 'Bearer status-s3cret' });
    expect(JSON.parse(text)).toMatchObject({
      ready: true,
      config_refused: { message: expect.stringMatching(/status_token_file: missing: there is no such file/) },
      warnings: expect.arrayContaining([expect.stringMatching(/an older one is active/)]),
    });
  });
});
