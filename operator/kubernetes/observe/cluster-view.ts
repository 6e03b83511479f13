import type { Log } from '#lib/log/log';
import { configMapName } from '#operator/plan/render-config-map';
import { runtimeChildOf } from '#operator/plan/child-names';
import type { Clock } from '#operator/queue';
import {
  type Kind,
  KINDS,
  type Manifest,
  type ObservedDeployment,
  type ResourceKey,
  runtimeName,
} from '#operator/snapshot';
import type { KubeApi } from '../api/api.ts';
import { textOfDocument } from './document-of.ts';
import { isOlder, ManifestSection, Section } from '../watch/section.ts';
import { textsOf } from './config-map-texts.ts';
import { NamedValues } from '../watch/named-values.ts';
import type { KubeObject } from '../api/object.ts';
import { mayMount, observeDeployment, viewOfChild } from './observe-deployment.ts';
import { controllerOf, OwnedChildren } from '../watch/owned-children.ts';
import { PodProblems } from './pod-problems.ts';
import { viewOfPod, type WatchedPod } from './view-of-pod.ts';
import { createReflector, type Reflector, type ReflectorOptions } from '../watch/reflector.ts';
import { CONFIG_MAPS, MANAGED_BY, ownResource, OUR_PODS, PODS, SECRETS, watchedChildren } from '../api/resources.ts';
import { RolloutSlots } from '../apply/rollout-slots.ts';
import type { ShareTexts } from '../watch/share-texts.ts';
import { placeAndOwner, stripWeight } from '../watch/strip-weight.ts';
import type { SecretValues } from '../secrets/secret-values.ts';

interface ViewOptions {
  api: KubeApi;
  apiGroup: string;
  /** Undefined for all. */
  namespaces?: readonly string[] | undefined;
  stdioAttach: boolean;
  clock: Clock;
  log: Log;
  onRestart?: ReflectorOptions['onRestart'];
  secretValues: SecretValues;
  share: ShareTexts;
}

interface ViewListener {
  /** A resource changed, or one of its children, or a Secret or ConfigMap that it names. */
  changed: (key: ResourceKey) => void;
  resource: (key: ResourceKey, manifest: Manifest | undefined) => void;
  /** A ConfigMap with a document, or a Secret of a resource, changed. */
  runtime: (key: ResourceKey) => void;
  pod: (old: WatchedPod | undefined, current: WatchedPod | undefined) => void;
}

const HELM_RELEASES = 'type!=helm.sh/release.v1';

/** All watched objects, in the form that the planner reads. */
export class ClusterView {
  readonly manifests: Record<Kind, ManifestSection>;
  readonly children: OwnedChildren;
  readonly documents = new Section<string>();
  readonly deployments = new Section<ObservedDeployment>();
  readonly secrets: SecretValues['named'];
  readonly configMaps: NamedValues<Record<string, string>>;
  readonly rolling: RolloutSlots;
  readonly #options: ViewOptions;
  readonly #listener: ViewListener;
  readonly #reflectors: Reflector[] = [];
  readonly #podProblems = new PodProblems((maker) => this.#podProblemChanged(maker));
  readonly #secretMetadata: Reflector;
  /** False until the first state is reported, resource by resource; afterwards each change is reported. */
  #started = false;

  constructor(options: ViewOptions, listener: ViewListener) {
    const { api, apiGroup, clock, log, secretValues, stdioAttach, share } = options;
    this.#options = options;
    this.#listener = listener;
    this.rolling = new RolloutSlots(() => clock.now());
    this.manifests = Object.fromEntries(KINDS.map((kind) => [kind, new ManifestSection()])) as Record<
      Kind,
      ManifestSection
    >;
    this.children = new OwnedChildren((...change) => this.#childChanged(...change));
    this.secrets = secretValues.named;
    this.configMaps = new NamedValues(api, CONFIG_MAPS, { field: 'configMaps', valueOf: textsOf, log });
    for (const kind of KINDS) {
      this.#follow({ resource: ownResource(kind, apiGroup) }, (old, current) => this.#resourceTold(kind, old, current));
    }
    const viewed = (object: KubeObject) => viewOfChild(object, share);
    for (const resource of watchedChildren(stdioAttach)) {
      this.#follow({ resource, labelSelector: MANAGED_BY, transform: viewed }, (old, current) => {
        this.children.told(old, current);
      });
    }
    const references = { metadataOnly: true, transform: (object: KubeObject) => placeAndOwner(object, share) };
    this.#secretMetadata = this.#follow(
      { resource: SECRETS, fieldSelector: HELM_RELEASES, ...references },
      (old, current) => this.#secretTold(old, current),
    );
    this.#follow({ resource: CONFIG_MAPS, ...references }, (old, current) => this.#configMapTold(old, current));
    const transform = (object: KubeObject) => viewOfPod(object, clock.now());
    this.#follow({ resource: PODS, labelSelector: OUR_PODS, transform }, (old, current) =>
      this.#podTold(old as WatchedPod | undefined, current as WatchedPod | undefined),
    );
  }

  start(): void {
    for (const reflector of this.#reflectors) reflector.start();
  }

  async synced(): Promise<void> {
    await Promise.all(this.#reflectors.map((reflector) => reflector.synced()));
  }

  get hasSynced(): boolean {
    return this.#reflectors.every((reflector) => reflector.hasSynced);
  }

  tellAll(): void {
    this.#started = true;
    for (const kind of KINDS) for (const key of this.manifests[kind].keys()) this.#listener.changed({ kind, ...key });
  }

  async close(): Promise<void> {
    await Promise.all(this.#reflectors.map((reflector) => reflector.close()));
  }

  secretMetadata(namespace: string, name: string): KubeObject['metadata'] | undefined {
    return this.#secretMetadata.inNamespace(namespace)[name]?.metadata;
  }

  manifest({ kind, namespace, name }: ResourceKey): Manifest | undefined {
    return kind === 'Secret' || kind === 'ConfigMap' ? undefined : this.manifests[kind].get(namespace, name);
  }

  wroteStatus(object: KubeObject): void {
    const manifest = stripWeight(object, this.#options.share) as Manifest & KubeObject;
    const section = this.manifests[manifest.kind];
    const known = section.get(manifest.metadata.namespace, manifest.metadata.name);
    // A resource that has been deleted meanwhile must not reappear.
    if (known?.metadata.uid !== manifest.metadata.uid || isOlder(object, known as KubeObject)) return;
    section.set(manifest.metadata.namespace, manifest.metadata.name, manifest);
  }

  /** Returns whether a current or future pod of a runtime or bridge mounts a ConfigMap of its namespace. */
  mounts(uid: string, configMap: string): boolean {
    const makers = this.children.ofOwner(uid).filter(({ kind }) => kind === 'Deployment' || kind === 'StatefulSet');
    return makers.some((maker) => mayMount(maker, configMap) || this.#podProblems.mounts(maker, configMap));
  }

  checkRolling(object: KubeObject): void {
    const { namespace = '', name } = object.metadata;
    this.rolling.told(object, this.deployments.get(namespace, name)?.complete === false);
  }

  #follow(
    options: Omit<ReflectorOptions, 'api' | 'clock' | 'log'>,
    told: (old: KubeObject | undefined, current: KubeObject | undefined) => void,
  ): Reflector {
    const { api, clock, log, namespaces, onRestart, share } = this.#options;
    const transform = (object: KubeObject) => stripWeight(object, share);
    const usual = { api, clock, log, namespaces, transform, ...(onRestart && { onRestart }) };
    const reflector = createReflector({ ...usual, ...options });
    reflector.onChange(told);
    this.#reflectors.push(reflector);
    return reflector;
  }

  #changed(key: ResourceKey): void {
    if (this.#started) this.#listener.changed(key);
  }

  #resourceTold(kind: Kind, old: KubeObject | undefined, current: KubeObject | undefined): void {
    const manifest = (current ?? old) as Manifest | undefined;
    if (!manifest) return;
    const { namespace, name } = manifest.metadata;
    const section = this.manifests[kind];
    const known = section.get(namespace, name) as (Manifest & KubeObject) | undefined;
    if (current && isOlder(current, known)) return;
    section.set(namespace, name, current as Manifest | undefined);
    // The event repeats the operator's own status write.
    if (current && known?.metadata.resourceVersion === current.metadata.resourceVersion) return;
    const key: ResourceKey = { kind, namespace, name };
    this.secrets.refer(namespace, `${kind}/${name}`, current?.spec);
    this.configMaps.refer(namespace, `${kind}/${name}`, current?.spec);
    this.#listener.resource(key, current as Manifest | undefined);
    this.#changed(key);
  }

  #secretTold(old: KubeObject | undefined, current: KubeObject | undefined): void {
    const object = current ?? old;
    if (!object) return;
    const { namespace = '', name } = object.metadata;
    if (this.secrets.told(object.metadata, current !== undefined)) this.#changed({ kind: 'Secret', namespace, name });
    const secret = { ...object, apiVersion: 'v1', kind: 'Secret' };
    const ours = this.children.at(secret)?.metadata.resourceVersion === current?.metadata.resourceVersion;
    if (!current) this.children.told(secret, undefined);
    const owner = this.#ownerOf(object);
    if (!owner || ours) return;
    this.#listener.runtime(owner);
    this.#changed(owner);
  }

  #configMapTold(old: KubeObject | undefined, current: KubeObject | undefined): void {
    const object = current ?? old;
    if (!object) return;
    const { namespace = '', name } = object.metadata;
    const named = this.configMaps.told(object.metadata, current !== undefined);
    if (named) this.#changed({ kind: 'ConfigMap', namespace, name });
  }

  #ownerOf(object: KubeObject): ResourceKey | undefined {
    const owner = controllerOf(object);
    const kind = KINDS.find((known) => known === owner?.kind);
    if (!owner || kind === undefined || !owner.apiVersion.startsWith(`${this.#options.apiGroup}/`)) return undefined;
    return { kind, namespace: object.metadata.namespace ?? '', name: owner.name };
  }

  #childChanged(old: KubeObject | undefined, current: KubeObject | undefined, ours: boolean): void {
    const object = current ?? old;
    const owner = object && this.#ownerOf(object);
    if (!owner) return;
    if (object.kind === 'ConfigMap') this.#documentChanged(owner, object, current);
    const hasPods = object.kind === 'Deployment' || object.kind === 'StatefulSet';
    const differs = hasPods ? this.#deploymentChanged(owner, object, current) : false;
    if (ours) return;
    if (differs || JSON.stringify(contentOf(old)) !== JSON.stringify(contentOf(current))) this.#changed(owner);
  }

  #documentChanged(owner: ResourceKey, object: KubeObject, current: KubeObject | undefined): void {
    const { apiVersion, kind, metadata } = object;
    const { namespace } = owner;
    if (metadata.name !== configMapName(runtimeChildOf(owner))) return;
    // Keyed by its name alone and searched at each check: the watch repeats the operator's own writes, and only one object must be kept.
    const place = { apiVersion, kind, metadata: { namespace, name: metadata.name } };
    const look = () => {
      const standing = this.children.at(place);
      return standing && textOfDocument(standing);
    };
    this.documents.setLazily(namespace, runtimeName(owner), current && look);
    this.#listener.runtime(owner);
  }

  #podTold(old: WatchedPod | undefined, current: WatchedPod | undefined): void {
    this.#podProblems.told(old, current);
    if ((current ?? old)?.isRuntime === true) this.#listener.pod(old, current);
  }

  #podProblemChanged(maker: KubeObject): void {
    const child = this.children.at(maker);
    const owner = child && this.#ownerOf(child);
    if (owner && this.#deploymentChanged(owner, child, child)) this.#changed(owner);
  }

  #deploymentChanged({ namespace }: ResourceKey, object: KubeObject, current: KubeObject | undefined): boolean {
    const { name } = object.metadata;
    const former = this.deployments.get(namespace, name);
    const podProblem = current && this.#podProblems.of(current);
    const observed = current && { ...observeDeployment(current), ...(podProblem && { podProblem }) };
    this.deployments.set(namespace, name, observed);
    this.rolling.told(object, observed?.complete === false && observed.problem === undefined);
    return JSON.stringify(former) !== JSON.stringify(observed);
  }
}

function contentOf(object: KubeObject | undefined): unknown {
  if (!object) return undefined;
  const { metadata, ...rest } = object;
  const { name, uid, labels, annotations, ownerReferences, deletionTimestamp } = metadata;
  return {
    ...rest,
    status: undefined,
    metadata: { name, uid, labels, annotations, ownerReferences, deletionTimestamp },
  };
}
