import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { z } from 'zod';
import { ObjectServer } from '#operator/kubernetes/testdata/object-server';
import { NoBody, NoQuery, Nothing, operation } from '../operation.ts';
import { servicesWith } from '../testdata/services-with.ts';
import { serveOperations, type ServedOperations } from '../testdata/serve-operations.ts';
import { clusterAuthenticator, reviewAccess } from './cluster-authenticator.ts';

const USER = { username: 'ann', uid: 'u1', groups: ['staff'], extra: { 'example.org/team': ['a'] } };
const reviewed = (status: unknown) => ({ status: 201, body: { status } as object });
const known = reviewed({ authenticated: true, audiences: ['vmcp-management'], user: USER });
const allowed = reviewed({ allowed: true });

let apiServer: ObjectServer;
let served: ServedOperations;
let done = 0;

const operations = [
  operation({
    id: 'deleteThing',
    method: 'DELETE',
    path: '/things/{name}',
    summary: '',
    params: z.strictObject({ name: z.string() }),
    query: NoQuery,
    body: NoBody,
    success: 204,
    result: Nothing,
    problems: {},
    permissions: ({ params: { name } }) => [
      { verb: 'delete', resource: 'mcpservers', name },
      { verb: 'get', group: '', resource: 'secrets', name: 'vmcp-secrets' },
      { verb: 'get', group: '', resource: 'pods/log' },
    ],
    audit: 'management_thing_deleted',
    run() {
      done += 1;
      return Promise.resolve({ body: undefined });
    },
  }),
];

beforeEach(async () => {
  done = 0;
  apiServer = await new ObjectServer().start();
  served = await serveOperations(operations, {
    services: servicesWith({}),
    authenticator: clusterAuthenticator({ api: apiServer.api(), apiGroup: 'vmcp.dev', watched: ['team', 'other'] }),
  });
});
afterEach(async () => {
  await served.close();
  await apiServer.close();
});

async function ask(authorization = 'Bearer abc.def', query = '?namespace=team'): Promise<[number, string | undefined]> {
  const answer = await fetch(`${served.url}/things/cup${query}`, {
    method: 'DELETE',
    headers: { authorization },
  });
  const text = await answer.text();
  return [answer.status, text === '' ? undefined : (JSON.parse(text) as { code: string }).code];
}

describe('clusterAuthenticator', () => {
  it('reviews the token, then each permission with all attributes of the user', async () => {
    apiServer.nextAnswers.push(known, allowed, allowed, allowed);
    expect(await ask()).toEqual([204, undefined]);
    const { username: user, ...rest } = USER;
    const asked = (resourceAttributes: object) => ({
      spec: { user, ...rest, resourceAttributes: { namespace: 'team', ...resourceAttributes } },
    });
    expect(apiServer.calls).toMatchObject([
      {
        path: '/apis/authentication.k8s.io/v1/tokenreviews',
        body: { spec: { token: 'abc.def', audiences: ['vmcp-management'] } },
      },
      {
        path: '/apis/authorization.k8s.io/v1/subjectaccessreviews',
        body: asked({ verb: 'delete', group: 'vmcp.dev', resource: 'mcpservers', name: 'cup' }),
      },
      { body: asked({ verb: 'get', group: '', resource: 'secrets', name: 'vmcp-secrets' }) },
      { body: asked({ verb: 'get', group: '', resource: 'pods', subresource: 'log' }) },
    ]);
  });

  it.each([
    ['is not known', { authenticated: false, error: 'expired' }],
    ['is known to an authenticator that does not look at audiences', { authenticated: true, user: USER }],
    ['has a token for somebody else', { authenticated: true, audiences: ['other'], user: USER }],
    ['is nothing at all', {}],
  ])('answers 401 if the caller %s', async (_what, status) => {
    apiServer.nextAnswers.push(reviewed(status), allowed, allowed);
    expect([await ask(), done]).toEqual([[401, 'unauthenticated'], 0]);
  });

  it.each([
    ['not allowed', { allowed: false }],
    ['denied, whatever else is said', { allowed: true, denied: true }],
    ['not known to be allowed', { allowed: false, evaluationError: 'role not found' }],
  ])('answers 403 if one permission is %s', async (_what, status) => {
    apiServer.nextAnswers.push(known, allowed, reviewed(status));
    expect([await ask(), done]).toEqual([[403, 'forbidden'], 0]);
    expect(served.changes).toMatchObject([{ outcome: 'denied', user: 'ann', namespace: 'team' }]);
  });

  const failures: [string, { status: number; body: object }][] = [
    ['an API server that refuses to be asked', { status: 403, body: { kind: 'Status', message: 'no' } }],
    ['an API server that fails', { status: 500, body: { kind: 'Status' } }],
    ['an API server that is busy', { status: 429, body: { kind: 'Status' } }],
    ['an answer of another shape', { status: 201, body: { status: 'yes' } }],
    ['an answer without a user', reviewed({ authenticated: true, audiences: ['vmcp-management'] })],
    [
      'an answer with a user without a name',
      reviewed({ authenticated: true, audiences: ['vmcp-management'], user: { username: '' } }),
    ],
  ];
  it.each(failures)('answers 503 and does nothing: %s', async (_what, answer) => {
    apiServer.nextAnswers.push(answer);
    expect([await ask(), done]).toEqual([[503, 'unavailable'], 0]);
  });

  it.each(failures.slice(0, 4))('answers 503 about permissions and does nothing: %s', async (_what, answer) => {
    apiServer.nextAnswers.push(known, allowed, answer);
    expect([await ask(), done]).toEqual([[503, 'unavailable'], 0]);
  });

  it.each([
    ['none', '', 400, 'namespace_missing'],
    ['an empty one', '?namespace=', 400, 'bad_request'],
    ['a path', '?namespace=team%2F..%2Fothers', 400, 'bad_request'],
    ['one that the operator does not work for', '?namespace=others', 403, 'forbidden'],
  ])('rejects a caller who names %s, and does nothing', async (_what, query, status, code) => {
    apiServer.nextAnswers.push(known, allowed, allowed);
    expect([await ask(undefined, query), done]).toEqual([[status, code], 0]);
    expect(apiServer.calls.filter(({ path }) => path.endsWith('subjectaccessreviews'))).toEqual([]);
  });

  it('reviews no permission without a namespace', async () => {
    const place = { api: apiServer.api(), apiGroup: 'vmcp.dev', namespace: '' };
    apiServer.nextAnswers.push(allowed);
    await expect(reviewAccess(USER, { verb: 'list', resource: 'mcpservers' }, place)).rejects.toThrow('namespace');
    expect(apiServer.calls).toEqual([]);
  });

  it('answers 503 if the API server is unreachable', async () => {
    await apiServer.close();
    expect([await ask(), done]).toEqual([[503, 'unavailable'], 0]);
    apiServer = await new ObjectServer().start();
  });

  it('rejects an invalid bearer token without a review', async () => {
    for (const authorization of [
      '',
      'Bearer',
      'Bearer ',
      'Basic abc',
      'Bearer a b',
      'Bearer a,b',
      'Bearer é',
      'xBearer a',
    ])
      expect([authorization, ...(await ask(authorization))]).toEqual([authorization, 401, 'unauthenticated']);
    expect(apiServer.calls).toEqual([]);
  });
});
