import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import type { ApplyContext } from '../apply/apply-child.ts';
import { makeSecrets } from './generated-secrets.ts';
import { OwnSecrets } from './own-secrets.ts';
import { freshContext } from '../testdata/fresh-context.ts';
import { ObjectServer } from '../testdata/object-server.ts';
import { statusBody } from '../testdata/fake-api-server.ts';

const PATH = '/api/v1/namespaces/ns/secrets/vmcp-demo-sealing';
const DAY = 24 * 3600 * 1000;
const METADATA = {
  name: '',
  namespace: 'ns',
  ownerReferences: [
    { apiVersion: 'vmcp.dev/v1alpha1', kind: 'VirtualMCPServer', name: 'demo', uid: 'u', controller: true },
  ],
};

let server: ObjectServer;
let context: ApplyContext;
let secrets: OwnSecrets;
let made: number;
beforeEach(async () => {
  server = await new ObjectServer().start();
  made = 0;
  forget();
});
afterEach(() => server.close());

/** Restarts the operator, without any cached state. */
function forget(): void {
  context = freshContext(server.api());
  secrets = new OwnSecrets(context.api, context.children, () => server.at(PATH)?.metadata);
}

const make = (now: number) =>
  makeSecrets('vmcp-demo', METADATA, { secrets, context, now, random: () => `random-${++made}` });

describe('makeSecrets', () => {
  it('generates secrets once, and finds them after a restart of the operator', async () => {
    const first = await make(DAY);
    expect(first).toMatchObject({ sealing: 'random-1', tokens: ['random-2'] });
    expect(await make(DAY)).toEqual(first);
    forget();
    expect(await make(2 * DAY)).toEqual(first);
    expect(server.writes()).toEqual([`PATCH ${PATH}`]);
  });

  it('replaces a token after a week, keeps the previous one until the next replacement, and keeps the sealing key', async () => {
    await make(DAY);
    const second = await make(8 * DAY);
    expect(second).toMatchObject({ sealing: 'random-1', tokens: ['random-3', 'random-2'] });
    const third = await make(15 * DAY);
    expect(third.tokens).toEqual(['random-4', 'random-3']);
    expect(third.rotateAt).toBe(22 * DAY);
  });

  it('generates nothing while the existing secrets cannot be read', async () => {
    const first = await make(DAY);
    forget();
    server.nextAnswers.push({ status: 500, body: statusBody(500, 'InternalError') });
    await expect(make(DAY)).rejects.toMatchObject({ status: 500 });
    expect(await make(DAY)).toEqual(first);
    expect(server.writes()).toEqual([`PATCH ${PATH}`]);
  });

  it('neither reads nor writes a foreign Secret of the same name', async () => {
    const data = { sealing: 'Zm9yZ2Vk', 'status-token': 'Zm9yZ2Vk' };
    server.put(PATH, {
      apiVersion: 'v1',
      kind: 'Secret',
      metadata: { name: 'vmcp-demo-sealing', namespace: 'ns' },
      data,
    });
    await expect(make(DAY)).rejects.toMatchObject({ reason: 'ChildNotOurs' });
    expect(server.writes()).toEqual([]);
  });
});
