import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { Stalled, Waiting } from '#operator/errors';
import { applyChild, type ApplyContext } from './apply-child.ts';
import type { KubeObject } from '../api/object.ts';
import { OwnedChildren } from '../watch/owned-children.ts';
import { ObjectServer } from '../testdata/object-server.ts';
import { statusBody } from '../testdata/watch-server.ts';

const PATH = '/api/v1/namespaces/ns/configmaps/a';
const owner = (uid: string, name = 'demo') => ({
  apiVersion: 'vmcp.dev/v1alpha1',
  kind: 'VirtualMCPServer',
  name,
  uid,
  controller: true,
});
const configMap = (data: object, uid = 'owner-1'): KubeObject => ({
  apiVersion: 'v1',
  kind: 'ConfigMap',
  metadata: { name: 'a', namespace: 'ns', ownerReferences: [owner(uid)] },
  data,
});

let server: ObjectServer;
let context: ApplyContext;
beforeEach(async () => {
  server = await new ObjectServer().start();
  context = { api: server.api(), children: new OwnedChildren(), apiGroup: 'vmcp.dev', settled: new Map() };
});
afterEach(async () => {
  await context.api.close();
  await server.close();
});

const problemOf = (object: KubeObject) =>
  applyChild(object, context).then(
    () => undefined,
    (problem: unknown) => problem,
  );

describe('applying a child', () => {
  it('makes it once, and writes nothing while it stands', async () => {
    expect(await applyChild(configMap({ x: '1' }), context)).toBe(true);
    expect(await applyChild(configMap({ x: '1' }), context)).toBe(false);
    expect(server.writes()).toEqual([`PATCH ${PATH}`]);
  });

  it('writes a change, a field that is not wanted any more, and what others changed', async () => {
    await applyChild(configMap({ x: '1', y: '1' }), context);
    expect(await applyChild(configMap({ x: '2', y: '1' }), context)).toBe(true);
    expect(await applyChild(configMap({ x: '2' }), context)).toBe(true);
    const live = server.at(PATH);
    context.children.told(undefined, { ...server.put(PATH, { ...live, data: { x: 'other' } }) });
    expect(await applyChild(configMap({ x: '2' }), context)).toBe(true);
    expect(server.at(PATH)?.data).toEqual({ x: '2' });
  });

  it('leaves alone what the API server keeps otherwise than it is written', async () => {
    const kept = {
      ...configMap({ x: 'kept otherwise' }),
      metadata: { ...configMap({}).metadata, uid: 'u', resourceVersion: '7' },
    };
    server.nextAnswers.push({ status: 201, body: kept });
    await applyChild(configMap({ x: '1' }), context);
    expect(await applyChild(configMap({ x: '1' }), context)).toBe(false);
    expect(await applyChild(configMap({ x: '2' }), context)).toBe(true);
  });

  it('never adopts what somebody else made, whether the watch has told of it or not', async () => {
    const foreign = server.put(PATH, {
      apiVersion: 'v1',
      kind: 'ConfigMap',
      metadata: { name: 'a', namespace: 'ns' },
      data: { own: '1' },
    });
    const problem = await problemOf(configMap({ x: '1' }));
    expect(problem).toBeInstanceOf(Stalled);
    expect((problem as Stalled).reason).toBe('ChildNotOurs');
    expect((problem as Stalled).message).toContain('ConfigMap "a" is already there and was not made by the operator');
    context.children.told(undefined, foreign);
    expect(await problemOf(configMap({ x: '1' }))).toMatchObject({ reason: 'ChildNotOurs' });
    expect(server.at(PATH)?.data).toEqual({ own: '1' });
  });

  it('waits for what a former resource of the same name left to go', async () => {
    server.put(PATH, configMap({ x: 'old' }, 'owner-0'));
    const problem = await problemOf(configMap({ x: '1' }));
    expect(problem).toBeInstanceOf(Waiting);
    expect((problem as Waiting).retryIn).toBeLessThan(10_000);
    expect(server.at(PATH)?.data).toEqual({ x: 'old' });
  });

  it('takes up its own object that the watch has not told of yet', async () => {
    server.put(PATH, configMap({ x: 'old' }));
    expect(await applyChild(configMap({ x: '1' }), context)).toBe(true);
    expect(server.at(PATH)?.data).toEqual({ x: '1' });
  });

  it('does not touch an object that took the place of its own', async () => {
    await applyChild(configMap({ x: '1' }), context);
    server.remove(PATH);
    server.put(PATH, { ...configMap({ own: '1' }), metadata: { name: 'a', namespace: 'ns' } });
    expect(await problemOf(configMap({ x: '2' }))).toBeDefined();
    expect(server.at(PATH)?.data).toEqual({ own: '1' });
  });

  it('says what the API server has against it: not valid stalls, forbidden waits', async () => {
    server.nextAnswers.push({ status: 422, body: statusBody(422, 'Invalid', 'spec.x: required') });
    expect(await problemOf(configMap({}))).toMatchObject({ name: 'Stalled', reason: 'ChildRefused' });
    server.nextAnswers.push({ status: 403, body: statusBody(403, 'Forbidden', 'exceeded quota') });
    expect(await problemOf(configMap({}))).toMatchObject({ name: 'Waiting', reason: 'ChildForbidden' });
    server.nextAnswers.push({ status: 500, body: statusBody(500, 'InternalError') });
    expect(await problemOf(configMap({}))).toMatchObject({ name: 'ApiError', status: 500 });
  });

  it('says nothing of the values of a Secret in its annotation', async () => {
    const secret = (value: string): KubeObject => ({ ...configMap({ file: value }), kind: 'Secret' });
    await applyChild(secret('b25l'), context);
    const path = PATH.replace('configmaps', 'secrets');
    const annotations = server.at(path)?.metadata.annotations;
    expect(await applyChild(secret('dHdv'), context)).toBe(true);
    expect(server.at(path)?.metadata.annotations).toEqual(annotations);
    expect(server.at(path)?.data).toEqual({ file: 'dHdv' });
  });
});
