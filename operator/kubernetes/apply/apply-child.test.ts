import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { Stalled, Waiting } from '#operator/errors';
import { applyChild, type ApplyContext } from './apply-child.ts';
import type { KubeObject } from '../api/object.ts';
import { OwnedChildren } from '../watch/owned-children.ts';
import { freshContext } from '../testdata/fresh-context.ts';
import { ObjectServer } from '../testdata/object-server.ts';
import { statusBody } from '../testdata/fake-api-server.ts';

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
  context = freshContext(server.api());
});
afterEach(() => server.close());

const problemOf = (object: KubeObject) =>
  applyChild(object, context).then(
    () => undefined,
    (problem: unknown) => problem,
  );

describe('applyChild', () => {
  it('creates the object once, and writes nothing while it is current', async () => {
    expect(await applyChild(configMap({ x: '1' }), context)).toBe(true);
    expect(await applyChild(configMap({ x: '1' }), context)).toBe(false);
    expect(server.writes()).toEqual([`PATCH ${PATH}`]);
  });

  it('writes changes, removed fields, and fields that others changed', async () => {
    await applyChild(configMap({ x: '1', y: '1' }), context);
    expect(await applyChild(configMap({ x: '2', y: '1' }), context)).toBe(true);
    expect(await applyChild(configMap({ x: '2' }), context)).toBe(true);
    const live = server.at(PATH);
    context.children.told(undefined, { ...server.put(PATH, { ...live, data: { x: 'other' } }) });
    expect(await applyChild(configMap({ x: '2' }), context)).toBe(true);
    expect(server.at(PATH)?.data).toEqual({ x: '2' });
  });

  it('accepts values that the API server normalises', async () => {
    const kept = {
      ...configMap({ x: 'kept otherwise' }),
      metadata: { ...configMap({}).metadata, uid: 'u', resourceVersion: '7' },
    };
    server.nextAnswers.push({ status: 201, body: kept });
    await applyChild(configMap({ x: '1' }), context);
    expect(await applyChild(configMap({ x: '1' }), context)).toBe(false);
    // Without the fields of other managers.
    const changed = { ...kept, metadata: { ...kept.metadata, resourceVersion: '8' }, data: { x: 'forged' } };
    context.children.told(kept, changed);
    for (const x of ['1', '2']) {
      server.nextAnswers.push({ status: 200, body: kept });
      expect(await applyChild(configMap({ x }), context)).toBe(true);
    }
  });

  it('never adopts a foreign object, whether the watch has reported it or not', async () => {
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

  it('logs one line per write: new objects, changed fields, rolled pods and rotated values', async () => {
    const lines: unknown[] = [];
    const note = (message: string, fields?: object) => lines.push({ message, ...fields });
    context = { ...context, log: { debug: note, info: note, warn: note, error: note } };
    const about = { object: 'ConfigMap ns/a', resource: 'VirtualMCPServer ns/demo' };
    await applyChild(configMap({ x: '1', 'a.yaml': 'long' }), context);
    await applyChild(configMap({ x: '1', 'a.yaml': 'long' }), context);
    await applyChild(configMap({ x: '2', 'a.yaml': 'other' }), context);
    await applyChild(configMap({ x: '2' }), context);
    await applyChild(configMap({ x: '3' }), context, { rotated: true });
    expect(lines).toEqual([
      { message: 'object applied', ...about, reason: 'it was not there' },
      { message: 'object changed', ...about, fields: ['data.x', 'data[a.yaml]'] },
      { message: 'object changed', ...about, fields: ['data[a.yaml]'], reason: 'no longer desired' },
      { message: 'secret rotated', ...about, reason: 'it has reached its age' },
    ]);
    const deployment = (image: string): KubeObject => ({
      ...{ apiVersion: 'apps/v1', kind: 'Deployment' },
      metadata: { name: 'a', namespace: 'ns', ownerReferences: [owner('owner-1')] },
      spec: { template: { spec: { containers: [{ name: 'mcp', image }] } } },
    });
    lines.splice(0);
    await applyChild(deployment('a:1'), context);
    await applyChild(deployment('a:2'), context);
    expect(lines).toMatchObject([
      { message: 'object applied', object: 'Deployment ns/a' },
      { message: 'pods rolled', fields: ['spec.template.spec.containers[mcp].image'] },
    ]);
  });

  it('tries once to write over a foreign object, then reads until it is gone or its own', async () => {
    const foreign = { apiVersion: 'v1', kind: 'ConfigMap', metadata: { name: 'a', namespace: 'ns' } };
    for (const [round, ours] of [undefined, configMap({ x: 'ours' })].entries()) {
      server.put(PATH, foreign);
      for (const x of ['1', '1', '2']) {
        expect(await problemOf(configMap({ x }))).toMatchObject({ reason: 'ChildNotOurs' });
      }
      expect(server.writes()).toHaveLength(1 + 2 * round);
      server.remove(PATH);
      if (ours) server.put(PATH, ours);
      expect(await applyChild(configMap({ x: '2' }), context)).toBe(true);
      expect(server.at(PATH)?.data).toEqual({ x: '2' });
      expect(context.taken.size).toBe(0);
      server.remove(PATH);
      context = { ...context, children: new OwnedChildren() };
    }
  });

  it('forgets the oldest of a thousand places with foreign objects', async () => {
    for (let i = 0; i < 1000; i += 1) context.taken.add(`ConfigMap ns/${i}`);
    server.put(PATH, { apiVersion: 'v1', kind: 'ConfigMap', metadata: { name: 'a', namespace: 'ns' } });
    expect(await problemOf(configMap({ x: '1' }))).toMatchObject({ reason: 'ChildNotOurs' });
    expect([context.taken.size, context.taken.has('ConfigMap ns/0'), context.taken.has('ConfigMap ns/a')]).toEqual([
      1000,
      false,
      true,
    ]);
  });

  it('waits for the removal of objects of a former resource with the same name', async () => {
    server.put(PATH, configMap({ x: 'old' }, 'owner-0'));
    const problem = await problemOf(configMap({ x: '1' }));
    expect(problem).toBeInstanceOf(Waiting);
    expect((problem as Waiting).retryIn).toBeLessThan(10_000);
    expect(server.at(PATH)?.data).toEqual({ x: 'old' });
  });

  it('waits for a resource that had the name in an earlier version to release it', async () => {
    const { metadata, ...rest } = configMap({ x: 'theirs' });
    server.put(PATH, { ...rest, metadata: { ...metadata, ownerReferences: [owner('owner-0', 'other')] } });
    const problem = await problemOf(configMap({ x: '1' }));
    expect(problem).toBeInstanceOf(Waiting);
    expect(problem).toMatchObject({ reason: 'FormerChildThere' });
    expect((problem as Waiting).message).toContain('is a former child of VirtualMCPServer "other"');
    expect(server.at(PATH)?.data).toEqual({ x: 'theirs' });
  });

  it('does not wait for objects with an owner of a foreign kind', async () => {
    const { metadata, ...rest } = configMap({ x: 'theirs' });
    const foreign = { ...owner('owner-0', 'other'), apiVersion: 'apps/v1', kind: 'ReplicaSet' };
    server.put(PATH, { ...rest, metadata: { ...metadata, ownerReferences: [foreign] } });
    const problem = await problemOf(configMap({ x: '1' }));
    expect(problem).toMatchObject({ reason: 'ChildNotOurs' });
    expect((problem as Stalled).message).toContain('belongs to ReplicaSet "other"');
  });

  it('adopts its own object that the watch has not reported yet', async () => {
    server.put(PATH, configMap({ x: 'old' }));
    expect(await applyChild(configMap({ x: '1' }), context)).toBe(true);
    expect(server.at(PATH)?.data).toEqual({ x: '1' });
  });

  it('does not touch an object that replaced its own', async () => {
    await applyChild(configMap({ x: '1' }), context);
    server.remove(PATH);
    server.put(PATH, { ...configMap({ own: '1' }), metadata: { name: 'a', namespace: 'ns' } });
    expect(await problemOf(configMap({ x: '2' }))).toBeDefined();
    expect(server.at(PATH)?.data).toEqual({ own: '1' });
  });

  it("reports the API server's refusal: invalid stalls, forbidden waits", async () => {
    server.nextAnswers.push({ status: 422, body: statusBody(422, 'Invalid', 'spec.x: required') });
    expect(await problemOf(configMap({}))).toMatchObject({ name: 'Stalled', reason: 'ChildRefused' });
    server.nextAnswers.push({ status: 403, body: statusBody(403, 'Forbidden', 'exceeded quota') });
    expect(await problemOf(configMap({}))).toMatchObject({ name: 'Waiting', reason: 'ChildForbidden' });
    const ending = statusBody(403, 'Forbidden', 'is being terminated', {
      causes: [{ reason: 'NamespaceTerminating' }],
    });
    server.nextAnswers.push({ status: 403, body: ending });
    expect(await problemOf(configMap({}))).toMatchObject({ name: 'Waiting', reason: 'NamespaceTerminating' });
    server.nextAnswers.push({ status: 500, body: statusBody(500, 'InternalError') });
    expect(await problemOf(configMap({}))).toMatchObject({ name: 'ApiError', status: 500 });
  });

  it('lists all unknown fields by their path in the resource, and does not retry them', async () => {
    const unreadable = (text: string, whole: object) => {
      const message = `failed to create typed patch object (ns/a; apps/v1, Kind=Deployment): ${text}`;
      server.nextAnswers.push({ status: 500, body: statusBody(500, '', message) }, { status: 400, body: whole });
      return problemOf(configMap({}));
    };
    const strict = (...fields: string[]) =>
      statusBody(
        400,
        'BadRequest',
        `strict decoding error: ${fields.map((name) => `unknown field "${name}"`).join(', ')}`,
      );
    const both = strict('spec.template.spec.a', 'spec.template.spec.b.c');
    expect(await unreadable('.spec.template.spec.a: field not declared in schema', both)).toMatchObject({
      name: 'Stalled',
      reason: 'InvalidPodTemplate',
      message:
        'the API server knows no such fields of ConfigMap "a": podTemplateSpec.spec.a, podTemplateSpec.spec.b.c: correct or remove them',
    });
    expect(server.writes().map((line) => line.split(' ')[0])).toEqual(['PATCH', 'POST']);
    expect(await unreadable('.spec.own: …', strict('spec.own'))).toMatchObject({ reason: 'ChildRefused' });
    const another = await unreadable('.spec.own: expected string', statusBody(409, 'AlreadyExists'));
    expect(another).toMatchObject({ name: 'Stalled', reason: 'ChildRefused' });
  });

  it('hides the values of a Secret in its annotation', async () => {
    const secret = (value: string): KubeObject => ({ ...configMap({ file: value }), kind: 'Secret' });
    await applyChild(secret('b25l'), context);
    const path = PATH.replace('configmaps', 'secrets');
    const annotations = server.at(path)?.metadata.annotations;
    expect(await applyChild(secret('dHdv'), context)).toBe(true);
    expect(server.at(path)?.metadata.annotations).toEqual(annotations);
    expect(server.at(path)?.data).toEqual({ file: 'dHdv' });
  });
});
