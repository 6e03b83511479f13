import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { afterEach, describe, expect, it } from '@jest/globals';
import { NotThisMachine } from './browse.ts';
import { walkThrough } from './log-in.ts';

const open: (() => void)[] = [];
afterEach(() => {
  for (const close of open.splice(0)) close();
});

type Serve = (path: string, body: URLSearchParams, request: IncomingMessage, response: ServerResponse) => void;

async function serve(handle: Serve): Promise<string> {
  const server = createServer((request, response) => {
    void (async () => {
      let body = '';
      for await (const part of request) body += String(part);
      handle(request.url ?? '/', new URLSearchParams(body), request, response);
    })();
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  open.push(() => {
    server.close();
    server.closeAllConnections();
  });
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
}

const REDIRECT = new URL('http://127.0.0.1:4479/back');
const alice = { name: 'alice', password: 'pass word' };
const page = (response: ServerResponse, html: string, headers = {}) =>
  response.writeHead(200, { 'content-type': 'text/html', ...headers }).end(html);
const redirect = (response: ServerResponse, location: string, headers = {}) =>
  response.writeHead(303, { location, ...headers }).end();

describe('walkThrough', () => {
  it('submits consent, name and password with cookies, and stops at the redirect without requesting it', async () => {
    const seen: string[] = [];
    const origin = await serve((path, body, request, response) => {
      seen.push(`${request.method ?? ''} ${path} ${request.headers.cookie ?? ''} ${body.toString()}`.trim());
      if (path === '/authorize') {
        page(
          response,
          `<form action="/consent" method="post"><input type="hidden" name="ticket" value="a&amp;b">
           <input type="checkbox" name="link" value="x" checked><input type="checkbox" name="other" value="y">
           <button name="decision" value="deny">No</button><button name="decision" value="allow">Yes</button></form>`,
          { 'set-cookie': ['browser=1; Path=/; HttpOnly', 'elsewhere=1; Path=/elsewhere'] },
        );
      } else if (path === '/consent') redirect(response, '/login', { 'set-cookie': 'step=2; Path=/login' });
      else if (path === '/login' && request.method === 'GET') {
        page(response, '<form method=post><input name=login><input type=password name=password></form>');
      } else if (path === '/login') redirect(response, `${REDIRECT.href}?code=c&state=s`);
    });
    const end = await walkThrough(new URL(`${origin}/authorize`), REDIRECT, alice);
    expect(end.href).toBe(`${REDIRECT.href}?code=c&state=s`);
    expect(seen).toEqual([
      'GET /authorize',
      'POST /consent browser=1 ticket=a%26b&link=x&decision=allow',
      'GET /login browser=1; step=2',
      'POST /login browser=1; step=2 login=alice&password=pass+word',
    ]);
  });

  it('chooses the form of the user on a page with one form per user', async () => {
    const chosen: string[] = [];
    const origin = await serve((path, body, _request, response) => {
      if (path === '/chosen') {
        chosen.push(body.toString());
        redirect(response, REDIRECT.href);
        return;
      }
      const form = (id: string, text: string) =>
        `<form action="/chosen" method="post"><input type="hidden" name="id" value="${id}"><button>${text}</button></form>`;
      const forms =
        path === '/by-text'
          ? [form('U1', 'bob'), form('U2', '<b>alice</b> Alice')]
          : [form('bob', ''), form('alice@x', '')];
      page(response, forms.join(''));
    });
    for (const path of ['/by-text', '/by-value']) await walkThrough(new URL(origin + path), REDIRECT, alice);
    expect(chosen).toEqual(['id=U2', 'id=alice%40x']);
  });

  it('never leaves this machine, neither by a redirect nor by a form', async () => {
    const origin = await serve((path, _body, _request, response) => {
      if (path === '/redirect') redirect(response, 'https://127.0.0.1.example.test/login');
      else
        page(
          response,
          '<form action="http://login.example.test/" method="post"><input type="password" name="p"></form>',
        );
    });
    for (const path of ['/redirect', '/form']) {
      await expect(walkThrough(new URL(origin + path), REDIRECT, alice)).rejects.toThrow(NotThisMachine);
    }
  });

  it('names the page where the login ends, without the password', async () => {
    const origin = await serve((_path, _body, _request, response) => {
      page(
        response,
        '<title>t</title><body><form method="post"><input type="password" name="p"></form>Wrong <b>password</b></body>',
      );
    });
    const problem = await walkThrough(new URL(`${origin}/login`), REDIRECT, alice).catch(String);
    expect(problem).toContain(`ends at ${origin}/login: 200 Wrong password`);
    expect(problem).not.toContain('pass word');
  });

  it('limits the number of redirects', async () => {
    const origin = await serve((_path, _body, _request, response) => redirect(response, '/again'));
    await expect(walkThrough(new URL(origin), REDIRECT, alice)).rejects.toThrow('more than 20 times');
  });
});
