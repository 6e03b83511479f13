import { createServer } from 'node:net';
import { describe, expect, it } from '@jest/globals';
import { listenOn } from '#runtime/http/listen-on';
import { eventually } from '../local/run-vmcp.ts';
import { makeAccount, tokenOf, withExpiry } from './accounts.ts';
import { portOf } from './operator-metrics.ts';
import { describeWithCluster } from './use-cluster.ts';
import { AUDIENCE, useManagement } from './use-management.ts';

const LATER = Math.floor(Date.now() / 1000) + 600;
const PAST = Math.floor(Date.now() / 1000) - 600;
const CLIENT = { name: 'cursor', groups: [] };

describeWithCluster('the management API in a cluster', (cluster) => {
  const stage = useManagement(cluster, 'management-access');
  const codeOf = async (...question: Parameters<typeof stage.ask>) => {
    const { status, body } = await stage.ask(...question);
    return [status, (body as { code?: string }).code];
  };
  const bearer = (token: string) => ({ as: { authorization: `Bearer ${token}` } });

  describe('as authenticator', () => {
    it('accepts a token for its own audience', async () => {
      expect((await stage.ask('GET', '/version', { as: 'nobody' })).body).toEqual({ version: expect.any(String) });
    });

    it('refuses a request without a token', async () => {
      const token = stage.token('editor');
      const given = [
        undefined,
        '',
        'Bearer',
        'Bearer x',
        `Basic ${token}`,
        `Bearer ${token}x`,
        `Bearer ${token} ${token}`,
      ];
      for (const authorization of [...given, `Bearer "${token}"`, 'Bearer system:admin'])
        for (const path of ['/version', '/openapi.json', '/clients', '/nowhere']) {
          const { status, body, headers } = await stage.ask('GET', path, { as: { authorization } });
          expect([authorization, path, status, body]).toEqual([
            authorization,
            path,
            401,
            expect.objectContaining({ code: 'unauthenticated', detail: expect.stringContaining(AUDIENCE) }),
          ]);
          expect(headers['www-authenticate']).toBe('Bearer realm="vmcp-management"');
        }
    });

    it('refuses a token for the API server, or for another audience', async () => {
      const account = { namespace: stage.namespace, name: 'editor' };
      for (const audience of [undefined, 'somebody-else', `${AUDIENCE}-2`])
        expect(await codeOf('GET', '/clients', bearer(await tokenOf(cluster, account, audience)))).toEqual([
          401,
          'unauthenticated',
        ]);
    });

    it('refuses an expired token', async () => {
      const token = stage.token('editor');
      const expired = withExpiry(cluster, token, PAST);
      // The signing key of a foreign cluster is not available; there, the next test covers a revoked token.
      if (expired === undefined) return;
      expect(await codeOf('GET', '/clients', bearer(withExpiry(cluster, token, LATER) ?? ''))).toEqual([
        200,
        undefined,
      ]);
      expect(await codeOf('GET', '/clients', bearer(expired))).toEqual([401, 'unauthenticated']);
    });

    it('refuses the token of a deleted account', async () => {
      const account = { namespace: stage.namespace, name: 'leaving' };
      await makeAccount(cluster, account, [`${stage.release}-view`]);
      const token = await tokenOf(cluster, account, AUDIENCE);
      expect(await codeOf('GET', '/clients', bearer(token))).toEqual([200, undefined]);
      await cluster.ask('DELETE', `/api/v1/namespaces/${stage.namespace}/serviceaccounts/leaving`);
      await eventually(
        () => codeOf('GET', '/clients', bearer(token)),
        ([status]) => status === 401,
        30_000,
      );
    });
  });

  describe('as authorizer', () => {
    it('grants nothing to a caller without a role', async () => {
      for (const [method, path, body] of [
        ['GET', '/clients'],
        ['GET', '/registry'],
        ['POST', '/clients', CLIENT],
        ['GET', '/secrets/default/keys'],
      ] as const) {
        const { status, body: said } = await stage.ask(method, path, { as: 'nobody', body });
        expect([status, said]).toEqual([
          403,
          expect.objectContaining({
            code: 'forbidden',
            detail: expect.stringMatching(
              /^system:serviceaccount:\S+:nobody may not \w+ \w+\.vmcp\.dev.* in namespace /,
            ),
          }),
        ]);
      }
    });

    it('lets a viewer read, except the keys of secrets', async () => {
      for (const path of ['/clients', '/registry', '/registry/default'])
        expect([path, (await stage.ask('GET', path, { as: 'viewer' })).status]).toEqual([path, 200]);
      expect(await codeOf('GET', '/secrets/default/keys', { as: 'viewer' })).toEqual([403, 'forbidden']);
      expect(await codeOf('POST', '/clients', { as: 'viewer', body: CLIENT })).toEqual([403, 'forbidden']);
      expect(await codeOf('DELETE', '/clients/cursor', { as: 'viewer' })).toEqual([403, 'forbidden']);
    });

    it('lets an editor write', async () => {
      expect((await stage.ask('POST', '/clients', { body: CLIENT })).status).toBe(200);
      expect((await stage.ask('GET', '/clients', { as: 'viewer' })).body).toEqual({ clients: [CLIENT] });
      expect((await stage.ask('DELETE', '/clients/cursor')).status).toBe(204);
    });

    it('requires the rights to Secrets for operations on secrets', async () => {
      const body = { key: 'TOKEN', value: 'hunter2-the-value' };
      const refused = await stage.ask('POST', '/secrets/default/keys', { as: 'keyless', body });
      expect([refused.status, refused.body]).toEqual([
        403,
        expect.objectContaining({ detail: expect.stringContaining('may not create secrets "vmcp-secrets"') }),
      ]);
      expect((await stage.ask('POST', '/secrets/default/keys', { body })).status).toBe(201);
      expect((await stage.ask('GET', '/secrets/default/keys')).body).toMatchObject({ keys: [{ key: 'TOKEN' }] });
    });

    it('grants nothing in a namespace where the caller has no role', async () => {
      const namespace = stage.otherNamespace;
      expect(await codeOf('GET', '/clients', { as: 'editor', namespace })).toEqual([403, 'forbidden']);
      expect(await codeOf('GET', '/clients', { as: 'neighbour', namespace })).toEqual([200, undefined]);
      expect(await codeOf('GET', '/clients', { as: 'neighbour' })).toEqual([403, 'forbidden']);
    });

    it('grants nothing as soon as the role is removed', async () => {
      const account = { namespace: stage.namespace, name: 'former' };
      await makeAccount(cluster, account, [`${stage.release}-view`]);
      const token = await tokenOf(cluster, account, AUDIENCE);
      await eventually(
        () => codeOf('GET', '/clients', bearer(token)),
        ([status]) => status === 200,
      );
      const bindings = `/apis/rbac.authorization.k8s.io/v1/namespaces/${stage.namespace}/rolebindings`;
      await cluster.ask('DELETE', `${bindings}/former-0`);
      await eventually(
        () => codeOf('GET', '/clients', bearer(token)),
        ([status]) => status === 403,
      );
    });
  });

  describe('with the namespace parameter', () => {
    it('requires exactly one valid name', async () => {
      expect(await codeOf('GET', '/clients', { namespace: undefined })).toEqual([400, 'namespace_missing']);
      for (const namespace of ['', '../kube-system', 'a/b', 'UPPER', 'a,b', '*', 'x'.repeat(64)])
        expect([namespace, ...(await codeOf('GET', '/clients', { namespace }))]).toEqual([
          namespace,
          400,
          'bad_request',
        ]);
      const twice = `/clients?namespace=${stage.otherNamespace}`;
      expect(await codeOf('GET', `${twice}&namespace=x`, { namespace: undefined })).toEqual([400, 'bad_request']);
    });

    it('refuses a namespace that the operator does not watch', async () => {
      expect(await codeOf('GET', '/clients', { namespace: 'kube-system' })).toEqual([403, 'forbidden']);
    });

    it('accepts requests without a namespace where the operation does not depend on it', async () => {
      expect((await stage.ask('GET', '/openapi.json', { namespace: undefined })).status).toBe(200);
    });
  });

  it('refuses requests that a page of another site sends', async () => {
    for (const headers of [{ origin: 'https://evil.example' }, { origin: 'null' }, { 'sec-fetch-site': 'cross-site' }])
      expect(await codeOf('GET', '/clients', { headers: headers })).toEqual([403, 'foreign_host']);
  });

  it('reports ready only once it answers', async () => {
    const taken = createServer();
    const port = await listenOn(taken, '127.0.0.1', 0);
    const program = await stage.launch({ port });
    try {
      const readiness = async () => {
        const answer = await fetch(`http://127.0.0.1:${await portOf(program, 'healthPort')}/readyz`);
        return `${answer.status} ${await answer.text()}`;
      };
      await eventually(program.output, (output) => output.includes('the management API has a problem'));
      expect(await readiness()).toBe('503 the management API is not served yet: the log says why\n');
      await new Promise((resolve) => taken.close(resolve));
      await eventually(readiness, (answer) => answer === '200 ok\n');
      expect(program.output()).toContain('"managementPort":');
    } finally {
      taken.close();
      await program.stop();
    }
  }, 120_000);

  it('logs a line for each change, with user, namespace and outcome, and without the request’s contents', async () => {
    const body = { key: 'AUDITED', value: 'hunter2-of-the-audit' };
    await stage.ask('POST', '/secrets/default/keys', { body });
    await stage.ask('POST', '/secrets/default/keys', { body, as: 'viewer' });
    await stage.ask('DELETE', '/secrets/default/keys/AUDITED');
    const lines = await eventually(
      () =>
        Promise.resolve(
          [...stage.program.output().matchAll(/^\{"audit_id".*$/gm)].map(([line]) => JSON.parse(line) as AuditLine),
        ),
      (all) => all.some(({ data }) => data.key === 'AUDITED'),
    );
    expect(
      lines.slice(-3).map(({ type, outcome, subjects, data }) => [type, outcome, subjects.user, data.namespace]),
    ).toEqual([
      ['management_secret_created', 'success', `system:serviceaccount:${stage.namespace}:editor`, stage.namespace],
      ['management_secret_created', 'denied', `system:serviceaccount:${stage.namespace}:viewer`, stage.namespace],
      ['management_secret_deleted', 'success', `system:serviceaccount:${stage.namespace}:editor`, stage.namespace],
    ]);
    expect(stage.program.output()).not.toContain('hunter2');
    expect(stage.program.output()).not.toContain(stage.token('editor'));
  });
});

interface AuditLine {
  type: string;
  outcome: string;
  subjects: { user?: string };
  data: { namespace?: string; key?: string };
}
