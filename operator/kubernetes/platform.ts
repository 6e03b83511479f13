import { randomBytes } from 'node:crypto';
import { resourcesBy } from '#operator/by-name';
import { Stalled } from '#operator/errors';
import { backendChild } from '#operator/plan/child-names';
import type { Outcome } from '#operator/plan/outcome';
import { notYetServed } from '#operator/plan/summarise-status';
import type { Platform } from '#operator/platform';
import { type ClusterFacts, type Manifest, type ResourceKey, runtimeName, type Snapshot } from '#operator/snapshot';
import type { ApplyContext } from './apply/apply-child.ts';
import { applyOutcome } from './apply/apply-outcome.ts';
import { logGone } from './apply/log-write.ts';
import { type ClusterIssuer, readClusterIssuer } from './observe/cluster-issuer.ts';
import { ClusterView } from './observe/cluster-view.ts';
import { fetchPodStatus } from './runtimes/fetch-pod-status.ts';
import { OwnSecrets } from './secrets/own-secrets.ts';
import type { WatchedPod } from './observe/view-of-pod.ts';
import { DelayedRequeue } from './delayed-requeue.ts';
import { readDigestKey } from './secrets/read-digest-key.ts';
import { createTextSharing } from './watch/share-texts.ts';
import { factsOf, type KubernetesOptions } from './kubernetes-options.ts';
import { FIELD_MANAGER, PODS } from './api/resources.ts';
import { RememberedPolicies } from '#operator/remembered-policies';
import { RuntimePods } from './runtimes/runtime-pods.ts';
import { isEnding, Runtimes } from './runtimes/runtimes.ts';
import { SecretValues } from './secrets/secret-values.ts';
import { StatusWriter } from './status/write-status.ts';

/** Milliseconds between two readings of the API server's issuer and key set. */
const ISSUER_EVERY = 60_000;
/** Milliseconds that the pods of a namespace have for their first status. */
const PODS_ANSWER = 3000;
/** Milliseconds until a waiting rollout is tried again. */
const ROLLOUT_AGAIN = 3000;
/** Milliseconds until the next check of a foreign object that blocks a name. The watches do not report it. */
const FOREIGN_AGAIN = 60_000;

/** The platform of a cluster: applies objects with one field manager, and reads the status of pods. */
export class KubernetesPlatform implements Platform {
  readonly #options: KubernetesOptions;
  readonly #facts: ClusterFacts;
  readonly #values: SecretValues;
  readonly #view: ClusterView;
  readonly #pods: RuntimePods;
  readonly #runtimes: Runtimes;
  readonly #secrets: OwnSecrets;
  readonly #context: ApplyContext;
  readonly #writer: StatusWriter;
  readonly #delayedRequeue: DelayedRequeue;
  readonly #policies = new RememberedPolicies();
  readonly #share = createTextSharing();
  #issuer: Partial<ClusterIssuer> = {};
  #issuerProblem = '';
  #changed: (key: ResourceKey) => void = () => undefined;
  #stopTimer: () => void = () => undefined;
  #leads = false;
  /** By namespace: the first reading of its pods' statuses since this replica became the leader. */
  readonly #asked = new Map<string, Promise<void>>();
  #closed = false;

  constructor(options: KubernetesOptions) {
    const { api, apiGroup, clock, log } = options;
    this.#options = options;
    this.#facts = factsOf(options);
    this.#values = new SecretValues(api, log);
    this.#view = this.#openView();
    this.#pods = this.#openPods();
    const { children } = this.#view;
    this.#context = { api, children, apiGroup, settled: new Map(), taken: new Set(), share: this.#share, log };
    const metadataOf = (namespace: string, name: string) => this.#view.secretMetadata(namespace, name);
    this.#secrets = new OwnSecrets(api, children, metadataOf, this.#share);
    this.#runtimes = new Runtimes({
      view: this.#view,
      pods: this.#pods,
      secrets: this.#secrets,
      context: this.#context,
      digest: (value) => this.#values.digest(value),
      now: () => clock.now(),
      random: () => randomBytes(32).toString('base64url'),
    });
    this.#delayedRequeue = new DelayedRequeue(clock, (key) => this.#changed(key));
    this.#writer = new StatusWriter({
      ...options,
      wrote: (object) => this.#view.wroteStatus(object),
      failed: ({ kind, metadata: { namespace, name } }) => this.#changed({ kind, namespace, name }),
    });
  }

  /** Starts the watches, in every replica. */
  start(): void {
    this.#view.start();
  }

  async synced(): Promise<void> {
    const { api, operatorNamespace = api.namespace ?? 'default' } = this.#options;
    this.#values.useKey(await readDigestKey(api, operatorNamespace));
    await this.#view.synced();
  }

  get hasSynced(): boolean {
    return this.#view.hasSynced;
  }

  /** Makes this replica the only writer. */
  async watch(changed: (key: ResourceKey) => void): Promise<void> {
    this.#changed = changed;
    this.#leads = true;
    await this.#readIssuer();
    this.#view.tellAll();
    this.#again();
  }

  /** Also used without the Lease, by the webhook of every replica. */
  async observe(namespace: string): Promise<Snapshot> {
    const view = this.#view;
    if (this.#leads) await this.#prepare(namespace);
    const [secrets, configMaps] = await Promise.all([view.secrets.load(namespace), view.configMaps.load(namespace)]);
    return {
      namespace,
      apiGroup: this.#options.apiGroup,
      platform: { ...this.#facts, ...this.#issuer },
      ...resourcesBy((kind) => view.manifests[kind].of(namespace)),
      secrets,
      configMaps,
      refused: { secrets: view.secrets.refused(namespace), configMaps: view.configMaps.refused(namespace) },
      generated: this.#runtimes.generated.of(namespace),
      documents: view.documents.of(namespace),
      observed: this.#runtimes.observed.of(namespace),
      deployments: view.deployments.of(namespace),
      policies: this.#policies,
    };
  }

  async #prepare(namespace: string): Promise<void> {
    await this.#runtimes.make(namespace);
    const asked = this.#asked.get(namespace) ?? this.#pods.asked(namespace, PODS_ANSWER);
    this.#asked.set(namespace, asked);
    await asked;
  }

  async apply(outcome: Outcome): Promise<void> {
    const { key } = outcome;
    const owner = this.#view.manifest(key);
    // The API server's garbage collection removes the objects of a deleted resource by their owner reference.
    if (outcome.action !== 'apply' || !owner || isEnding(owner)) return;
    try {
      const waits = await applyOutcome(outcome, owner, {
        view: this.#view,
        runtimes: this.#runtimes,
        secrets: this.#secrets,
        values: this.#values,
        context: this.#context,
        maxRollouts: this.#options.maxConcurrentRollouts,
      });
      if (waits) this.#delayedRequeue.after(ROLLOUT_AGAIN, key);
    } catch (problem) {
      if (problem instanceof Stalled && problem.reason === 'ChildNotOurs')
        this.#delayedRequeue.after(FOREIGN_AGAIN, key);
      throw problem;
    }
  }

  async report({ key, status }: Outcome): Promise<void> {
    const manifest = this.#view.manifest(key);
    if (!manifest || !status || isEnding(manifest)) return;
    // The plan precedes the apply, so pods that are being replaced do not serve its result yet.
    await this.#writer.write(manifest, this.#isBehind(key) ? notYetServed(status, manifest) : status);
  }

  #isBehind({ kind, namespace, name }: ResourceKey): boolean {
    const program =
      kind === 'MCPServer' && this.#view.deployments.get(namespace, backendChild(name))?.complete === false;
    return program || this.#runtimes.observed.get(namespace, runtimeName({ kind, name }))?.current === false;
  }

  async close(): Promise<void> {
    this.#closed = true;
    this.#changed = () => undefined;
    this.#stopTimer();
    this.#delayedRequeue.close();
    this.#pods.close();
    this.#writer.close();
    await this.#view.close();
  }

  #openView(): ClusterView {
    return new ClusterView(
      { ...this.#options, secretValues: this.#values, share: this.#share },
      {
        changed: (key) => this.#changed(key),
        resource: (key, manifest) => this.#resourceTold(key, manifest),
        runtime: (key) => {
          this.#runtimes.remake(key);
          this.#runtimes.expect(key);
        },
        pod: (old, current) => this.#pods.told(old, current),
      },
    );
  }

  #openPods(): RuntimePods {
    const { clock, fetchStatus = fetchPodStatus } = this.#options;
    return new RuntimePods({
      clock,
      random: Math.random,
      fetchStatus,
      push: (pod, digest) => this.#push(pod, digest),
      changed: (place) => {
        const key = this.#runtimes.keyOf(place);
        if (key) this.#changed(key);
      },
    });
  }

  #resourceTold(key: ResourceKey, manifest: Manifest | undefined): void {
    if (key.kind === 'VirtualMCPServer' || key.kind === 'MCPServer') this.#runtimes.told(key, manifest);
    if (manifest) return;
    this.#writer.forget(key);
    if (this.#leads) logGone(this.#options.log, key);
  }

  /** Reads the issuer and keys of the API server and rotates tokens, once a minute. */
  #again(): void {
    if (this.#closed) return;
    this.#stopTimer = this.#options.clock.after(ISSUER_EVERY, () => {
      void this.#readIssuer().finally(() => this.#again());
    });
  }

  async #readIssuer(): Promise<void> {
    const before = JSON.stringify(this.#issuer);
    try {
      this.#issuer = await readClusterIssuer(this.#options.api);
      this.#issuerProblem = '';
    } catch (problem) {
      // The known keys stay in use.
      const isNew = this.#issuerProblem !== String(problem);
      this.#issuerProblem = String(problem);
      if (isNew) this.#options.log.warn('issuer and keys of the API server cannot be read', { problem });
    }
    const differs = before !== JSON.stringify(this.#issuer);
    for (const key of this.#runtimes.rotate(differs)) this.#changed(key);
  }

  /** Patches a pod: any change makes the kubelet refresh its mounted files at once. */
  async #push({ metadata }: WatchedPod, digest: string): Promise<void> {
    const { api, apiGroup, clock, log } = this.#options;
    const { namespace = '', name } = metadata;
    const annotations = { [`${apiGroup}/delivered`]: `${digest.slice(0, 16)}-${clock.now().toString(36)}` };
    const options = { subresource: 'status', fieldManager: FIELD_MANAGER };
    try {
      await api.patch(PODS, { namespace, name }, { metadata: { annotations } }, options);
    } catch (problem) {
      log.debug('a pod could not be told of a change; its kubelet notices by itself', { namespace, name, problem });
    }
  }
}
