import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { request } from 'undici';
import { RequestError } from '#runtime/errors';
import { OAuthError } from './errors.ts';
import { htmlAnswer, jsonAnswer, redirectAnswer, type Handler, type RequestFacts } from './handler.ts';
import { PageError } from './page-error.ts';
import type { Handlers } from './routes.ts';
import { StorageUnavailable } from './storage/storage.ts';
import { serveRoutes, type RouteServer } from './testdata/serve-routes.ts';

describe('endpoints of the authorization server', () => {
  const logged: string[] = [];
  const counted: (readonly [string, number])[] = [];
  let server: RouteServer;
  beforeAll(async () => {
    server = await serveRoutes();
  });
  afterAll(() => server.close());

  /** Mounts the given endpoints only. @returns their origin */
  function mount(handlers: Partial<Handlers>, basePaths: string[] = ['']): string {
    const note = (message: string, fields?: unknown) => void logged.push(`${message} ${JSON.stringify(fields)}`);
    server.mount(handlers, {
      basePaths,
      readSource: () => '192.0.2.1',
      answered: (endpoint, status) => void counted.push([endpoint, status]),
      log: { debug: note, info: note, warn: note, error: note },
    });
    return server.origin;
  }
  const get = async (url: string, headers = {}, method: 'GET' | 'HEAD' | 'PUT' = 'GET') => {
    const answer = await request(url, { headers, method });
    return { status: answer.statusCode, headers: answer.headers, text: await answer.body.text() };
  };

  it('receive the path, parameters, query, cookies and address of a request', async () => {
    let facts: RequestFacts | undefined;
    const callback: Handler = (given) => {
      facts = given;
      return Promise.resolve(htmlAnswer('done'));
    };
    const origin = mount({ callback });
    const cookie = 'a=1; b="2"; a=3; odd; c==x';
    const answer = await get(`${origin}/oauth/callback/git%20hub?state=s&state=t&code=c%2B`, { cookie });
    expect(answer).toMatchObject({ status: 200, text: 'done' });
    expect(answer.headers).toMatchObject({ 'cache-control': 'no-store', 'content-type': 'text/html; charset=utf-8' });
    expect(answer.headers).not.toHaveProperty('x-powered-by');
    expect(facts).toMatchObject({ method: 'GET', path: '/oauth/callback/git%20hub', remoteAddress: '192.0.2.1' });
    expect(facts?.params.provider).toBe('git hub');
    expect(facts?.query.getAll('state')).toEqual(['s', 't']);
    expect(facts?.query.get('code')).toBe('c+');
    expect(Object.fromEntries(facts?.cookies ?? [])).toEqual({ a: ['1', '3'], b: ['"2"'], c: ['=x'] });
  });

  it('answer with several cookies, and redirect a posted form to GET', async () => {
    const headers = { 'Set-Cookie': ['a=1', 'b=2'] };
    const origin = mount({
      authorize: () => Promise.resolve(redirectAnswer('https://idp.example/?a=b', headers)),
    });
    const answer = await get(`${origin}/oauth/authorize`);
    expect(answer.status).toBe(303);
    expect(answer.headers.location).toBe('https://idp.example/?a=b');
    expect(answer.headers['set-cookie']).toEqual(['a=1', 'b=2']);
  });

  it.each([
    ['a refusal', new OAuthError('invalid_grant', 'No'), 400, 'invalid_grant'],
    [
      'a refusal in the words of people',
      new PageError({ status: 403, title: 'T', text: 'No' }),
      403,
      'invalid_request',
    ],
    ['too many requests', new RequestError({ status: 429, code: 'x', text: 'No' }), 429, 'invalid_request'],
    ['a storage that is down', new StorageUnavailable('10.0.0.1'), 503, 'temporarily_unavailable'],
    ['what nobody foresaw', new TypeError('secret detail'), 500, 'server_error'],
  ])('answer clients with an OAuth error for %s', async (_name, error, status, code) => {
    const origin = mount({ jwks: () => Promise.reject(error) });
    const answer = await get(`${origin}/.well-known/jwks.json`);
    expect(answer.status).toBe(status);
    expect(JSON.parse(answer.text)).toEqual({ error: code, error_description: expect.any(String) });
    expect(answer.text).not.toMatch(/secret detail|10\.0\.0\.1/);
  });

  it.each([
    ['a refusal', new PageError({ status: 403, title: 'T', text: 'Do that' }), 403, 'Do that'],
    ['a storage that is down', new StorageUnavailable('10.0.0.1'), 503, 'try again'],
    ['what nobody foresaw', new TypeError('secret detail'), 500, 'failed'],
  ])('answer people with a page for %s', async (_name, error, status, text) => {
    const origin = mount({ connections: () => Promise.reject(error) });
    const answer = await get(`${origin}/connections`);
    expect(answer.status).toBe(status);
    expect(answer.headers['content-type']).toContain('text/html');
    expect(answer.text).toContain(text);
    expect(answer.text).not.toMatch(/secret detail|10\.0\.0\.1/);
  });

  it('reject other methods, unknown paths and invalid escapes without calling the handler', async () => {
    const origin = mount({ callback: () => Promise.resolve(htmlAnswer('reached')) });
    expect(await get(`${origin}/oauth/callback/x`, {}, 'PUT')).toMatchObject({
      status: 405,
      headers: { allow: 'GET' },
    });
    for (const path of ['/oauth/callback/', '/oauth/callback/a/b', '/oauth/callback/%E0%A4%A'])
      expect((await get(origin + path)).text).not.toBe('reached');
    expect((await get(`${origin}/oauth/callback/a/b`)).status).toBe(404);
    expect((await get(`${origin}/oauth/callback/%E0%A4%A`)).status).toBe(400);
    expect(await get(`${origin}/oauth/Callback/x`)).toMatchObject({ status: 404, text: 'not ours' });
  });

  it('count each answer once, under the path in the table', async () => {
    const origin = mount(
      {
        callback: () => Promise.resolve(htmlAnswer('done')),
        jwks: () => Promise.reject(new StorageUnavailable('10.0.0.1')),
      },
      ['/t/1'],
    );
    counted.length = 0;
    await get(`${origin}/t/1/oauth/callback/anything?code=c`);
    await get(`${origin}/.well-known/jwks.json?x=y`);
    await get(`${origin}/oauth/callback/a/b`);
    expect(counted).toEqual([
      ['/oauth/callback/:provider', 200],
      ['/.well-known/jwks.json', 503],
    ]);
  });

  it('answer HEAD as GET without the body', async () => {
    const origin = mount({ jwks: () => Promise.resolve(jsonAnswer({ keys: [] })) });
    const answer = await get(`${origin}/.well-known/jwks.json`, {}, 'HEAD');
    expect(answer).toMatchObject({ status: 200, text: '', headers: { 'content-length': '11' } });
  });

  it('exist below the paths of the issuer and the browser base too', async () => {
    const origin = mount({ authorize: () => Promise.resolve(htmlAnswer('reached')) }, ['/t/1', '/login']);
    for (const base of ['', '/t/1', '/login'])
      expect((await get(`${origin}${base}/oauth/authorize`)).text).toBe('reached');
    expect((await get(`${origin}/t/2/oauth/authorize`)).text).toBe('not ours');
  });

  it('read a JSON body, and reject other bodies', async () => {
    let seen: unknown;
    const register: Handler = ({ json }) => {
      seen = json;
      return Promise.resolve(jsonAnswer({}, 201));
    };
    const origin = mount({ register });
    const post = async (body: string, type = 'application/json') =>
      (await request(`${origin}/oauth/register`, { method: 'POST', headers: { 'content-type': type }, body }))
        .statusCode;
    expect(await post('{"a":[1]}', 'application/json; charset=utf-8')).toBe(201);
    expect(seen).toEqual({ a: [1] });
    expect(await post('{"a"')).toBe(400);
    expect(await post('{}', 'text/plain')).toBe(400);
    expect(await post(JSON.stringify({ a: 'x'.repeat(70_000) }))).toBe(413);
  });
});
