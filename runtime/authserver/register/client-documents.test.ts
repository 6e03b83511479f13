import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { readFileSync } from 'node:fs';
import { createServer, type Server } from 'node:https';
import type { IncomingMessage, ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { REDIRECT, START, startLoginEndpoints, userNamed } from '../testdata/login-endpoints.ts';
import { createClientDocuments, DocumentUnusable, type ClientDocuments } from './client-documents.ts';
import { createClients } from './find-client.ts';

const TESTDATA = join(import.meta.dirname, '../../incoming/testdata');
const cert = readFileSync(join(TESTDATA, 'loopback-cert.pem'), 'utf8');
const key = readFileSync(join(TESTDATA, 'loopback-key.pem'), 'utf8');

let server: Server;
let base: string;
let answer: (req: IncomingMessage, res: ServerResponse) => void;
let asked: string[];
const clock = { time: START };
const opened: ClientDocuments[] = [];

beforeEach(async () => {
  asked = [];
  server = createServer({ cert, key }, (req, res) => {
    asked.push(req.url ?? '');
    answer(req, res);
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  base = `https://127.0.0.1:${(server.address() as AddressInfo).port}`;
  serve({});
});
afterEach(async () => {
  for (const documents of opened.splice(0)) documents.close();
  server.closeAllConnections();
  await new Promise((resolve) => server.close(resolve));
});

function serve(changes: Record<string, unknown>): void {
  answer = (req, res) => {
    const document = { client_id: base + (req.url ?? ''), client_name: 'App', redirect_uris: [REDIRECT], ...changes };
    res.setHeader('content-type', 'application/json').end(JSON.stringify(document));
  };
}

const NEAR = { allowPrivateAddress: true, readCaBundle: () => Promise.resolve(cert) };

function open(rules: Parameters<typeof createClientDocuments>[0]['rules'] = NEAR): ClientDocuments {
  const documents = createClientDocuments({
    scopesSupported: ['mcp'],
    allowedRedirectHosts: undefined,
    now: () => clock.time,
    dispatcherFor: undefined,
    rules,
  });
  opened.push(documents);
  return documents;
}

describe('client ID metadata document', () => {
  it('describes the name and redirect URIs of a client', async () => {
    const url = `${base}/client.json`;
    expect(await open().read(url)).toEqual({ client_id: url, client_name: 'App', redirect_uris: [REDIRECT] });
  });

  it('never causes a fetch of the logo', async () => {
    serve({ logo_uri: `${base}/logo.png` });
    await open().read(`${base}/client.json`);
    expect(asked).toEqual(['/client.json']);
  });

  it.each([
    ['names another client', { client_id: 'https://other.example/client.json' }],
    ['has no client_id', { client_id: undefined }],
    ['speaks of a secret', { token_endpoint_auth_method: 'client_secret_post' }],
    ['wants to sign', { token_endpoint_auth_method: 'private_key_jwt' }],
    ['has no redirect URI', { redirect_uris: [] }],
    ['has a dangerous redirect URI', { redirect_uris: ['javascript:alert(1)'] }],
  ])('fails when it %s', async (_, changes) => {
    serve(changes);
    await expect(open().read(`${base}/client.json`)).rejects.toThrow(DocumentUnusable);
  });

  it('fails as a redirect, which is not followed', async () => {
    answer = (_req, res) => void res.writeHead(302, { location: `${base}/other.json` }).end();
    await expect(open().read(`${base}/client.json`)).rejects.toThrow(DocumentUnusable);
    expect(asked).toEqual(['/client.json']);
  });

  it.each([
    ['no JSON', (res: ServerResponse) => res.end('<html>')],
    ['an error', (res: ServerResponse) => res.writeHead(500).end()],
  ])('fails for %s', async (_, end) => {
    answer = (_req, res) => void end(res);
    await expect(open().read(`${base}/client.json`)).rejects.toThrow(DocumentUnusable);
  });

  it('fails above 10 kB, and is not read to its end', async () => {
    let sent = 0;
    answer = (_req, res) => {
      const more = () => {
        while (!res.destroyed && sent < 10_000_000) {
          sent += 4096;
          if (!res.write(' '.repeat(4096))) return;
        }
        res.end();
      };
      res.on('drain', more);
      more();
    };
    await expect(open().read(`${base}/client.json`)).rejects.toThrow(DocumentUnusable);
    expect(sent).toBeLessThan(10_000_000);
  });

  it('fails after the deadline', async () => {
    answer = (_req, res) => void res.write('{');
    const before = performance.now();
    await expect(open({ ...NEAR, deadline: 100 }).read(`${base}/client.json`)).rejects.toThrow(DocumentUnusable);
    expect(performance.now() - before).toBeLessThan(3000);
  });

  it.each([
    ['a loopback address', () => `${base}/client.json`],
    ['a name that leads to one', () => `${base.replace('127.0.0.1', 'localhost')}/client.json`],
    ['a private address', () => 'https://10.0.0.1/client.json'],
    ['a link-local address', () => 'https://169.254.169.254/client.json'],
    ['a mapped address', () => 'https://[::ffff:7f00:1]/client.json'],
  ])('causes no request to %s', async (_, url) => {
    await expect(open({ readCaBundle: NEAR.readCaBundle }).read(url())).rejects.toMatchObject({
      name: 'DocumentUnusable',
      cause: { message: expect.stringContaining('private address') },
    });
    expect(asked).toEqual([]);
  });

  it('stays cached for ten minutes, and concurrent readers share one request', async () => {
    const documents = open();
    await Promise.all([documents.read(`${base}/a`), documents.read(`${base}/a`), documents.read(`${base}/a`)]);
    clock.time += 599_000;
    await documents.read(`${base}/a`);
    expect(asked).toHaveLength(1);
    clock.time += 2_000;
    await documents.read(`${base}/a`);
    expect(asked).toHaveLength(2);
  });

  it('causes no new request within a minute after a failure', async () => {
    const documents = open();
    answer = (_req, res) => void res.writeHead(404).end();
    await expect(documents.read(`${base}/a`)).rejects.toThrow(DocumentUnusable);
    clock.time += 59_000;
    await expect(documents.read(`${base}/a`)).rejects.toThrow(DocumentUnusable);
    expect(asked).toHaveLength(1);
    clock.time += 2_000;
    serve({});
    await documents.read(`${base}/a`);
    expect(asked).toHaveLength(2);
  });

  it('leaves the cache after a thousand other reads', async () => {
    const documents = open();
    await documents.read(`${base}/first`);
    // Unresolved names fill the cache as well as documents do.
    for (let index = 0; index < 1000; index += 1) {
      await documents.read(`http://refused.example/${index}`).catch(() => undefined);
    }
    await documents.read(`${base}/first`);
    expect(asked).toEqual(['/first', '/first']);
  });

  it('fails without a request while 32 other reads are running', async () => {
    const held: ServerResponse[] = [];
    answer = (_req, res) => void held.push(res);
    const documents = open({ ...NEAR, deadline: 300 });
    const waiting = Array.from({ length: 32 }, (_, index) => documents.read(`${base}/${index}`).catch(() => 'over'));
    await expect(documents.read(`${base}/one-more`)).rejects.toThrow('too many');
    expect(new Set(await Promise.all(waiting))).toEqual(new Set(['over']));
    serve({});
    await documents.read(`${base}/one-more`);
  });
});

describe('quota of documents for one address', () => {
  it('leaves capacity for other addresses', async () => {
    const held: ServerResponse[] = [];
    answer = (_req, res) => void held.push(res);
    const documents = open({ ...NEAR, deadline: 300 });
    const flood = Array.from({ length: 40 }, (_, index) =>
      documents.read(`${base}/${index}`, 'one').catch(() => 'over'),
    );
    const waiting = documents.read(`${base}/patient`, 'other').catch(() => 'over');
    await expect(documents.read(`${base}/more`, 'one')).rejects.toThrow('too many');
    await Promise.all([...flood, waiting]);
    expect(asked.sort()).toEqual(['/0', '/1', '/2', '/3', '/patient']);
    serve({});
    await documents.read(`${base}/more`, 'one');
  });

  it('allows 60 reads a minute, not counting cached ones', async () => {
    const documents = open();
    for (let index = 0; index < 60; index += 1) await documents.read(`${base}/${index}`, 'one');
    await expect(documents.read(`${base}/60`, 'one')).rejects.toThrow('too many');
    await documents.read(`${base}/59`, 'one');
    await documents.read(`${base}/60`, 'other');
    clock.time += 60_000;
    await documents.read(`${base}/61`, 'one');
    expect(asked).toHaveLength(62);
  });
});

describe('client with a metadata document', () => {
  it('gets a consent page without its name when its document has disappeared, and the login continues', async () => {
    const side = await startLoginEndpoints({ documents: open() });
    const cookie = await side.logIn(userNamed('alice'));
    const page = await side.visit(side.authorizeUrl(`${base}/client.json`), { cookie });
    clock.time += 600_001;
    answer = (_req, res) => void res.writeHead(404).end();
    const form = { ticket: page.hidden('ticket'), decision: 'switch' };
    const again = await side.visit(side.urls.consent, { form, cookie });
    expect([again.status, again.hidden('ticket')]).toEqual([200, expect.any(String)]);
    expect(again.text).toContain('wants to use');
    clock.time = START;
    await side.close();
  });

  it('gets a consent page that names the host of the document', async () => {
    const side = await startLoginEndpoints({ documents: open(), config: { cimd: { enabled: true } } });
    const { status, text } = await side.visit(side.authorizeUrl(`${base}/client.json`));
    expect(status).toBe(200);
    expect(text).toContain(`described at ${base.slice('https://'.length)}`);
    await side.close();
  });

  it('needs consent each time for a local redirect URI, as any program can use its name', async () => {
    const side = await startLoginEndpoints({ documents: open() });
    const cookie = await side.logIn(userNamed('alice'));
    const ask = () => side.visit(side.authorizeUrl(`${base}/client.json`), { cookie });
    const form = { ticket: (await ask()).hidden('ticket'), decision: 'allow' };
    expect((await side.visit(side.urls.consent, { form, cookie })).text).toBe('the next step');
    expect((await ask()).text).toContain('wants to use');
    await side.close();
  });

  it('gets a page, not a redirect, when its document is unusable', async () => {
    const side = await startLoginEndpoints({ documents: open() });
    answer = (_req, res) => void res.writeHead(404).end();
    const { status, text, headers } = await side.visit(side.authorizeUrl(`${base}/client.json`));
    expect([status, headers.location]).toEqual([400, undefined]);
    expect(text).toContain('cannot be checked');
    await side.close();
  });

  it('exists only while its document can be read', async () => {
    const side = await startLoginEndpoints({ documents: open() });
    const { storage } = side;
    const clients = (documents: ClientDocuments) =>
      createClients({ storage, documents, registered: new Map(), now: () => clock.time });
    expect(await clients(open()).isKnown(`${base}/client.json`)).toBe(true);
    answer = (_req, res) => void res.writeHead(404).end();
    expect(await clients(open()).isKnown(`${base}/client.json`)).toBe(false);
    await side.close();
  });

  it('fails as unknown when documents are disabled', async () => {
    const side = await startLoginEndpoints();
    const { status, text } = await side.visit(side.authorizeUrl(`${base}/client.json`));
    expect([status, text]).toEqual([400, expect.stringContaining('not known')]);
    expect(asked).toEqual([]);
    await side.close();
  });

  it.each([
    'https://127.0.0.1',
    'https://127.0.0.1/',
    'https://user@app.example/client.json',
    'https://app.example/client.json#x',
    'https://app.example/a/../client.json',
    'https://APP.example/client.json',
    'https://2130706433/client.json',
    'http://app.example/client.json',
  ])('rejects the id %s', async (clientId) => {
    const side = await startLoginEndpoints({ documents: open() });
    expect((await side.visit(side.authorizeUrl(clientId))).text).toContain('not known');
    await side.close();
  });
});
