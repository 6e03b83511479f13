import type { Rendered } from '#operator/plan/outcome';
import { credentialsOf, mayHaveRuntime, runtimeChildOf, sealingOf } from '#operator/plan/child-names';
import { configMapName } from '#operator/plan/render-config-map';
import { ownedMetadata, runtimeSelector } from '#operator/plan/object-parts';
import { millisecondsOf } from '#crds/parts/primitives';
import { Semaphore } from '#lib/limits/semaphore';
import {
  type GeneratedSecret,
  keyText,
  type Manifest,
  type ObservedRuntime,
  type ResourceKey,
  runtimeName,
} from '#operator/snapshot';
import type { ApplyContext } from '../apply/apply-child.ts';
import type { ClusterView } from '../observe/cluster-view.ts';
import { digestOfDocument } from '../observe/document-of.ts';
import { makeSecrets, type RuntimeSecrets } from '../secrets/generated-secrets.ts';
import type { OwnSecrets } from '../secrets/own-secrets.ts';
import type { RuntimePods } from './runtime-pods.ts';
import { Section } from '../watch/section.ts';

/** Default interval of status readings. Milliseconds. */
const INTERVAL = 30_000;
/** Runtimes whose secrets are created concurrently. */
const AT_ONCE = 16;

interface RuntimesOptions {
  view: ClusterView;
  pods: RuntimePods;
  secrets: OwnSecrets;
  context: ApplyContext;
  digest: (value: string) => string;
  /** Milliseconds since the epoch. */
  now: () => number;
  random: () => string;
}

type Files = Pick<Rendered, 'secretFiles' | 'secretDirectory'>;

/** All runtimes of the cluster: their generated secrets, expected documents and statuses. */
export class Runtimes {
  readonly generated = new Section<Partial<Record<GeneratedSecret, string>>>();
  readonly observed = new Section<ObservedRuntime>();
  readonly #options: RuntimesOptions;
  readonly #keys = new Map<string, ResourceKey>();
  readonly #secrets = new Map<string, RuntimeSecrets>();
  readonly #files = new Map<string, Files>();
  readonly #problems = new Map<string, unknown>();
  readonly #semaphore = new Semaphore({ total: AT_ONCE });
  readonly #toMake = new Map<string, Set<string>>();

  constructor(options: RuntimesOptions) {
    this.#options = options;
  }

  told(key: ResourceKey, manifest: Manifest | undefined): void {
    const child = runtimeChildOf(key);
    const place = `${key.namespace}/${child}`;
    if (!manifest || !mayHaveRuntime(manifest)) {
      if (this.#keys.has(place)) this.#forget(key, place);
      return;
    }
    if (!this.#keys.has(place)) {
      this.#keys.set(place, key);
      this.observed.set(key.namespace, runtimeName(key), undefined);
      this.#observeLive(key, child);
    }
    this.remake(key);
    this.expect(key);
  }

  keyOf(place: string): ResourceKey | undefined {
    return this.#keys.get(place);
  }

  /** Returns the runtimes to plan again: those with old tokens, or all. */
  rotate(all: boolean): ResourceKey[] {
    const now = this.#options.now();
    const old = [...this.#keys.values()].filter(
      (key) => all || (this.#secrets.get(keyText(key))?.rotateAt ?? Infinity) <= now,
    );
    for (const key of old) this.remake(key);
    return old;
  }

  remake(key: ResourceKey): void {
    if (!this.#keys.has(`${key.namespace}/${runtimeChildOf(key)}`)) return;
    const texts = this.#toMake.get(key.namespace) ?? new Set();
    this.#toMake.set(key.namespace, texts.add(keyText(key)));
  }

  /** Creates the missing secrets of runtimes. `secretsOf` throws the failures. */
  async make(namespace: string): Promise<void> {
    const texts = this.#toMake.get(namespace);
    if (!texts || texts.size === 0) return;
    this.#toMake.delete(namespace);
    const keys = [...this.#keys.values()].filter((key) => key.namespace === namespace && texts.has(keyText(key)));
    await Promise.all(keys.map((key) => this.#semaphore.run({ key: namespace }, () => this.#makeOne(key))));
  }

  /** Returns the generated secrets of a runtime. Throws the problem of their creation. */
  secretsOf(key: ResourceKey): RuntimeSecrets {
    const made = this.#secrets.get(keyText(key));
    if (made) return made;
    const problem = this.#problems.get(keyText(key));
    throw problem instanceof Error ? problem : new Error(`the secrets of ${keyText(key)} are not made yet`);
  }

  setFiles(key: ResourceKey, { secretFiles, secretDirectory }: Files): void {
    // Stores only these fields, not the documents, of which there may be thousands.
    this.#files.set(keyText(key), { secretFiles, secretDirectory });
  }

  expect(key: ResourceKey): void {
    const { view, pods } = this.#options;
    const { namespace } = key;
    const child = runtimeChildOf(key);
    const tokens = this.#secrets.get(keyText(key))?.tokens;
    if (!tokens || !this.#keys.has(`${namespace}/${child}`)) return;
    const name = configMapName(child);
    const configMap = view.children.at({ apiVersion: 'v1', kind: 'ConfigMap', metadata: { namespace, name } });
    const interval = intervalOf(view.manifest(key));
    const digest = configMap && digestOfDocument(configMap);
    pods.expect({ namespace, child, configMap: name, tokens, interval, digest, files: this.#expectedFiles(key) });
  }

  #expectedFiles(key: ResourceKey): Record<string, string> {
    const { secretFiles = {}, secretDirectory = '' } = this.#files.get(keyText(key)) ?? {};
    const metadata = { namespace: key.namespace, name: credentialsOf(runtimeChildOf(key)) };
    const secret = this.#options.view.children.at({ apiVersion: 'v1', kind: 'Secret', metadata });
    const data = (secret?.data ?? {}) as Record<string, string>;
    return Object.fromEntries(Object.keys(secretFiles).map((file) => [`${secretDirectory}/${file}`, data[file] ?? '']));
  }

  /** Defines a getter that reads the pods' status on access. */
  #observeLive({ kind, namespace, name }: ResourceKey, child: string): void {
    const { pods, view } = this.#options;
    const get = (): ObservedRuntime | undefined => {
      const observed = pods.observed(namespace, child);
      const complete = view.deployments.get(namespace, child)?.complete === true;
      return observed && { ...observed, current: observed.current && complete };
    };
    this.observed.setLazily(namespace, runtimeName({ kind, name }), get);
  }

  async #makeOne(key: ResourceKey): Promise<void> {
    const { view, secrets, context, digest, now, random } = this.#options;
    const manifest = view.manifest(key);
    if (!manifest || isEnding(manifest)) return;
    const text = keyText(key);
    const child = runtimeChildOf(key);
    const metadata = ownedMetadata(sealingOf(child), runtimeSelector(manifest), manifest, key);
    try {
      const made = await makeSecrets(child, metadata, { secrets, context, now: now(), random });
      this.#secrets.set(text, made);
      this.#problems.delete(text);
      this.generated.set(key.namespace, runtimeName(key), {
        sealing: digest(made.sealing),
        statusToken: digest(made.tokens.join('\n')),
      });
      this.expect(key);
    } catch (problem) {
      this.#problems.set(text, problem);
      this.remake(key);
    }
  }

  #forget(key: ResourceKey, place: string): void {
    const text = keyText(key);
    this.#keys.delete(place);
    this.#secrets.delete(text);
    this.#files.delete(text);
    this.#problems.delete(text);
    this.generated.set(key.namespace, runtimeName(key), undefined);
    this.observed.set(key.namespace, runtimeName(key), undefined);
    this.#options.pods.forget(key.namespace, runtimeChildOf(key));
  }
}

export function isEnding({ metadata }: Manifest): boolean {
  return 'deletionTimestamp' in metadata && metadata.deletionTimestamp !== undefined;
}

interface Intervals {
  config?: { operational?: { failureHandling?: { statusReportingInterval?: unknown } } };
}

export function intervalOf(manifest: Manifest | undefined): number {
  const spec = manifest?.spec as Intervals | undefined;
  const written = spec?.config?.operational?.failureHandling?.statusReportingInterval;
  if (typeof written !== 'string') return INTERVAL;
  const milliseconds = millisecondsOf(written);
  return milliseconds >= 1000 ? milliseconds : INTERVAL;
}
