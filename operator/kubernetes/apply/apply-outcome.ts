import { Waiting } from '#operator/errors';
import { credentialsOf, runtimeChildOf, sealingOf } from '#operator/plan/child-names';
import type { Outcome, Rendered, SecretSource } from '#operator/plan/outcome';
import { ownedMetadata, runtimeSelector } from '#operator/plan/object-parts';
import { configMapName } from '#operator/plan/render-config-map';
import { type Manifest, type ResourceKey, runtimeName } from '#operator/snapshot';
import { applyChild, type ApplyContext } from './apply-child.ts';
import type { ClusterView } from '../observe/cluster-view.ts';
import { allowedDigestsOf } from '../observe/document-of.ts';
import { collectFiles, type Files, keepOlder } from '../secrets/credential-files.ts';
import { explainRefusal } from './explain-refusal.ts';
import { logRemoval } from './log-write.ts';
import { rollsUnasked } from './rollout-slots.ts';
import type { KubeObject } from '../api/object.ts';
import type { OwnSecrets } from '../secrets/own-secrets.ts';
import { controllerOf } from '../watch/owned-children.ts';
import { childResource } from '../api/resources.ts';
import type { Runtimes } from '../runtimes/runtimes.ts';
import type { SecretValues } from '../secrets/secret-values.ts';

interface OutcomeContext {
  view: ClusterView;
  runtimes: Runtimes;
  secrets: OwnSecrets;
  values: SecretValues;
  context: ApplyContext;
  /** Most servers and backends that roll at a time without a change by a user. */
  maxRollouts: number;
}

/** Applies the objects of one resource. Returns whether a Deployment has to wait for a rollout slot. */
export async function applyOutcome(outcome: Outcome, owner: Manifest, parts: OutcomeContext): Promise<boolean> {
  const { key, rendered } = outcome;
  const objects = outcome.children.flatMap((child) =>
    child.platform === 'cluster' ? [child.object as KubeObject] : [],
  );
  if (rendered) await applyCredentials(outcome, { rendered, objects }, owner, parts);
  const [last, first] = divide(objects, hasPods);
  await applyAll(first, parts);
  // Objects that pods need are applied before the pods.
  const [waiting, now] = divide(last, (object) => mustWait(object, owner, parts));
  try {
    await applyAll(now, parts);
  } catch (problem) {
    for (const object of now) parts.view.checkRolling(object);
    throw problem;
  }
  await prune(key, owner, objects, parts);
  if (rendered) parts.runtimes.expect(key);
  return waiting.length > 0;
}

const hasPods = ({ kind }: KubeObject) => kind === 'Deployment' || kind === 'StatefulSet';

function divide<T>(items: readonly T[], test: (item: T) => boolean): [yes: T[], no: T[]] {
  return [items.filter(test), items.filter((item) => !test(item))];
}

async function applyAll(objects: readonly KubeObject[], { context }: OutcomeContext): Promise<void> {
  const results = await Promise.allSettled(objects.map((object) => applyChild(object, context)));
  for (const result of results) if (result.status === 'rejected') throw result.reason;
}

/** Limits rollouts without a user's change, as an operator upgrade changes all pod templates. A user's change rolls at once. */
function mustWait(desired: KubeObject, owner: Manifest, { view, context, maxRollouts }: OutcomeContext): boolean {
  const live = view.children.at(desired);
  if (!live || !rollsUnasked(desired, live, owner, context.apiGroup)) return false;
  return !view.rolling.take(desired, maxRollouts);
}

/** Applies the Secret with all files of the document, and with older ones while a pod may still read them. */
async function applyCredentials(
  { key }: Outcome,
  { rendered, objects }: { rendered: Rendered; objects: readonly KubeObject[] },
  owner: Manifest,
  { secrets, runtimes, values, view, context }: OutcomeContext,
): Promise<void> {
  const made = runtimes.secretsOf(key);
  const { namespace } = key;
  const child = runtimeChildOf(key);
  const name = credentialsOf(child);
  const files = {
    ...collectFiles(rendered.secretFiles, (source) => valueOf(source, namespace, made, values)),
    ...allowedDigestsIn(objects, configMapName(child)),
  };
  const standing = await secrets.read(namespace, name);
  const observed = runtimes.observed.get(namespace, runtimeName(key));
  const text = view.documents.get(namespace, runtimeName(key));
  const delivered = observed?.current === true && text === rendered.text;
  const secret: KubeObject = {
    apiVersion: 'v1',
    kind: 'Secret',
    metadata: ownedMetadata(name, runtimeSelector(owner), owner, { namespace }),
    type: 'Opaque',
    data: keepOlder(files, standing?.data as Files | undefined, !delivered),
  };
  await applyChild(secret, context);
  runtimes.setFiles(key, rendered);
}

/** Returns the allowed digests of the runtime's ConfigMap, as empty files. */
function allowedDigestsIn(objects: readonly KubeObject[], configMap: string): Files {
  const ours = objects.filter(({ kind, metadata }) => kind === 'ConfigMap' && metadata.name === configMap);
  return Object.fromEntries(ours.flatMap(allowedDigestsOf).map((digest) => [digest, '']));
}

function valueOf(
  source: SecretSource,
  namespace: string,
  made: { sealing: string; tokens: string[] },
  values: SecretValues,
): string {
  if (!('generated' in source)) {
    const value = values.value(namespace, source.secret, source.key);
    if (value !== undefined) return value;
    throw new Waiting('SecretNotFound', `Secret "${source.secret}" with key "${source.key}" has gone: create it`);
  }
  const texts: Record<string, string> = { sealing: made.sealing, statusToken: made.tokens.join('\n') };
  const text = texts[source.generated];
  if (text === undefined) throw new Error(`${source.generated} is not made in a cluster`);
  return Buffer.from(text).toString('base64');
}

async function prune(
  key: ResourceKey,
  owner: Manifest,
  listed: readonly KubeObject[],
  parts: OutcomeContext,
): Promise<void> {
  const { view, context } = parts;
  const uid = owner.metadata.uid ?? '';
  const id = ({ kind, metadata }: KubeObject) => `${kind}/${metadata.name}`;
  const wanted = new Set([...listed.map(id), ...keptSecrets(key, owner, parts)]);
  // A document of an older schema stays while a pod, or its replacement, may mount it.
  const isMounted = ({ kind, metadata }: KubeObject) => kind === 'ConfigMap' && view.mounts(uid, metadata.name);
  const left = view.children.ofOwner(uid).filter((object) => !wanted.has(id(object)) && !isMounted(object));
  if (left.some((object) => isReplaced(object, listed, view))) return;
  for (const object of [...left, ...leftSecrets(key, uid, wanted, view)]) {
    const { name, namespace = '', uid: objectUid, deletionTimestamp } = object.metadata;
    if (deletionTimestamp !== undefined) continue;
    try {
      await context.api.delete(
        childResource(object),
        { namespace, name },
        objectUid === undefined ? {} : { uid: objectUid },
      );
      logRemoval(context.log, object);
    } catch (problem) {
      throw explainRefusal(problem, `the removal of ${object.kind} "${name}"`);
    }
  }
}

/** Returns whether a Deployment serves until its replacement with another name is complete. */
function isReplaced(former: KubeObject, listed: readonly KubeObject[], view: ClusterView): boolean {
  const { namespace = '', labels } = former.metadata;
  const successor = listed.find(
    ({ kind, metadata }) =>
      kind === former.kind &&
      hasPods(former) &&
      metadata.name !== former.metadata.name &&
      metadata.labels?.['app.kubernetes.io/name'] === labels?.['app.kubernetes.io/name'],
  );
  return successor !== undefined && view.deployments.get(namespace, successor.metadata.name)?.complete !== true;
}

/** Returns the Secrets that the plan does not list, because it knows no values. */
function keptSecrets(key: ResourceKey, owner: Manifest, { runtimes }: OutcomeContext): string[] {
  const child = runtimeChildOf(key);
  if (runtimes.keyOf(`${owner.metadata.namespace}/${child}`) === undefined) return [];
  return [`Secret/${credentialsOf(child)}`, `Secret/${sealingOf(child)}`];
}

/** Returns the Secrets of a runtime that the resource no longer has. The operator may not have read them since its start. */
function leftSecrets(key: ResourceKey, uid: string, wanted: Set<string>, view: ClusterView): KubeObject[] {
  const child = runtimeChildOf(key);
  return [credentialsOf(child), sealingOf(child)].flatMap((name) => {
    const metadata = view.secretMetadata(key.namespace, name);
    if (!metadata || wanted.has(`Secret/${name}`)) return [];
    const secret: KubeObject = { apiVersion: 'v1', kind: 'Secret', metadata };
    const known = view.children.at(secret);
    return controllerOf(secret)?.uid === uid && !known ? [secret] : [];
  });
}
