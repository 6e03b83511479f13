import { checkPrivate } from '../fetching/check-target.ts';
import { FetchFailure } from '../fetching/fetch-failure.ts';
import { type Expected, isExpected } from '../if-match.ts';
import { Problem } from '../problem.ts';
import { type Registry, RegistryContent, type RegistryInfo } from '../records/registry.ts';
import { type RecordStore, stale } from '../stores/record-store.ts';
import type { Resources } from '../stores/resources.ts';
import content from './built-in.json' with { type: 'json' };
import { readClusterRegistry } from './cluster-registry.ts';
import { CachedAnswer } from './cached-answer.ts';
import { CachedCopies } from './cached-copies.ts';
import { CurrentCopy, READ_DEADLINE, reasonOf } from './current-copy.ts';
import { type OpenSource, openSource, type SourceDeps } from './open-source.ts';
import { joinPages, type Page } from './page.ts';
import type { PendingLogin } from './registry-login.ts';
import { RegistrySettings, sourceOf } from './registry-settings.ts';
import type { RegistryQuota } from './registry-quota.ts';
import { renderRegistryInfo } from './render-registry.ts';

const BUILT_IN: RegistryContent = RegistryContent.parse(content);

export const DEFAULT = 'default';
export const CLUSTER = 'cluster';
const BUILT_IN_SETTINGS: RegistrySettings = { allow_private_ip: false };
/** The settings were never stored. */
const NEVER_WRITTEN = 'built-in';
const BUILT_IN_PAGES: readonly Page[] = [{ from: '', bytes: 0, content: BUILT_IN }];
/** Content digest after the version of the settings in an entity tag. If-Match on the settings ignores it. */
const OF_CONTENT = /\.[-\w]{22}$/;

interface Cluster {
  resources: Pick<Resources, 'list'>;
  namespace: string;
}

interface RegistriesOptions extends SourceDeps {
  quota: RegistryQuota;
  settings: RecordStore;
  copies: RecordStore;
  /** Resources of the cluster; absent on one machine, which has no cluster registry. */
  cluster?: Cluster | undefined;
  /** Called when a source fails while a copy serves. The text contains no secret. */
  onProblem: (text: string) => void;
  /** Milliseconds to read a whole source. */
  readDeadline?: number;
}

interface CurrentRegistry {
  version: string;
  settings: RegistrySettings;
  source: OpenSource;
  copy: CurrentCopy;
}

interface Stored {
  version: string;
  settings: RegistrySettings;
}

/** Manages the registries of one namespace. */
export class Registries {
  readonly #options: RegistriesOptions;
  readonly #kept: CachedCopies;
  #answer = new CachedAnswer();
  #live: CurrentRegistry | undefined;

  constructor(options: RegistriesOptions) {
    this.#options = options;
    this.#kept = new CachedCopies(options.copies, options.quota.maxWeight);
  }

  /** Lists an unreadable registry as empty. */
  async list(): Promise<RegistryInfo[]> {
    const stored = await this.#stored();
    const content = await this.#content(stored).catch((error: unknown) => {
      if (error instanceof FetchFailure || error instanceof Problem) return RegistryContent.parse({});
      throw error;
    });
    const first = renderRegistryInfo(DEFAULT, stored.settings, content, this.#isLoggedIn());
    return this.#options.cluster ? [first, (await this.#cluster(this.#options.cluster)).info] : [first];
  }

  /** Adds a version of the default registry's content. @throws Problem `not_found`; `unavailable` without source and copy */
  async get(name: string): Promise<{ registry: Registry; version?: string; json?: Buffer }> {
    if (name === CLUSTER && this.#options.cluster) {
      const { info, content } = await this.#cluster(this.#options.cluster);
      return { registry: { ...info, registry: content } };
    }
    if (name !== DEFAULT)
      throw new Problem('not_found', `there is no registry "${name}"; see GET /registry, or vmcp registry list`);
    const stored = await this.#stored();
    const pages = await this.#pages(stored).catch((cause: unknown) => {
      if (cause instanceof FetchFailure || (cause instanceof Problem && cause.code === 'bad_request'))
        throw new Problem('unavailable', `the registry cannot be read: ${reasonOf(cause)}`, { cause });
      throw cause;
    });
    const isLoggedIn = this.#isLoggedIn();
    const { registry, json, digest } = this.#answer.of([stored.version, isLoggedIn, ...pages], () => {
      const content = joinPages(pages);
      return { ...renderRegistryInfo(DEFAULT, stored.settings, content, isLoggedIn), registry: content };
    });
    return { registry, json, version: `${stored.version}.${digest}` };
  }

  /**
   * Changes nothing if the new source cannot be read.
   * @throws Problem `not_found`, `bad_request`, `path_not_available`, `private_address_refused`, `stale`,
   * `upstream_failed`, `upstream_timeout`
   */
  async configure(
    name: string,
    settings: RegistrySettings,
    expected: Expected | undefined,
  ): Promise<{ info: RegistryInfo; login: PendingLogin | undefined; version: string }> {
    if (name !== DEFAULT)
      throw new Problem('not_found', `"${name}" cannot be configured: only the registry "${DEFAULT}" can`);
    if (settings.local_path !== undefined && this.#options.cluster)
      throw new Problem('path_not_available', 'in a cluster a registry is read from url or api_url');
    checkPrivate(settings.allow_private_ip, this.#options.privateAddresses);
    const former = await this.#stored();
    const ofSettings = expected?.map((tag) => tag.replace(OF_CONTENT, ''));
    if (!isExpected(former.version, ofSettings)) throw stale(DEFAULT);
    const live = this.#open({ settings, version: '' });
    try {
      const login = await this.#beginLogin(live);
      const signal = AbortSignal.timeout(this.#options.readDeadline ?? READ_DEADLINE);
      await this.#options.quota.read(signal, async () => {
        const pages = login ? [] : await live.source.read([], signal);
        live.version = await this.#store(settings, former.version);
        await this.#replaceLive(live);
        await (sourceOf(settings).type === 'default' ? this.#kept.remove(DEFAULT) : live.copy.adopt(pages));
      });
      const content = await this.#content(live);
      const info = renderRegistryInfo(DEFAULT, settings, content, this.#isLoggedIn());
      return { info, login, version: live.version };
    } catch (error) {
      if (this.#live !== live) await live.source.close();
      throw problemOfSource(error);
    }
  }

  async close(): Promise<void> {
    await this.#replaceLive(undefined);
  }

  async #replaceLive(live: CurrentRegistry | undefined): Promise<void> {
    const replaced = this.#live;
    this.#live = live;
    replaced?.copy.drop();
    await replaced?.source.close();
  }

  async callsPrivate(): Promise<boolean> {
    return this.#options.privateAddresses && (await this.#stored()).settings.allow_private_ip;
  }

  #isLoggedIn(): boolean {
    return this.#live?.source.login?.isLoggedIn ?? false;
  }

  async #stored(): Promise<Stored> {
    const record = await this.#options.settings.get(DEFAULT);
    if (record === undefined) return { version: NEVER_WRITTEN, settings: BUILT_IN_SETTINGS };
    const parsed = RegistrySettings.safeParse(record.value);
    if (parsed.success) return { version: record.version, settings: parsed.data };
    throw new Problem('store_damaged', 'the settings of the registry "default" cannot be read: set them again');
  }

  async #store(settings: RegistrySettings, former: string): Promise<string> {
    const store = this.#options.settings;
    if (former !== NEVER_WRITTEN) return store.replace(DEFAULT, settings, former);
    return store.create(DEFAULT, settings).catch((error: unknown) => {
      if (error instanceof Problem && error.code === 'already_exists') throw stale(DEFAULT);
      throw error;
    });
  }

  async #content(stored: Stored): Promise<RegistryContent> {
    return joinPages(await this.#pages(stored));
  }

  async #pages(stored: Stored): Promise<readonly Page[]> {
    if (sourceOf(stored.settings).type === 'default') return BUILT_IN_PAGES;
    if (this.#live?.version === stored.version) return this.#live.copy.pages();
    const live = this.#open(stored);
    await this.#replaceLive(live);
    return live.copy.pages();
  }

  #open(stored: Stored): CurrentRegistry {
    const { now, onProblem, quota } = this.#options;
    const { settings } = stored;
    const source = openSource(settings, this.#options);
    const copy = new CurrentCopy({
      name: DEFAULT,
      source: sourceOf(settings).source,
      kept: this.#kept,
      read: (former, signal) => source.read(former, signal),
      now,
      onProblem,
      quota,
      onEvict: () => {
        this.#answer = new CachedAnswer();
      },
    });
    return { ...stored, source, copy };
  }

  /** With a client secret vmcp logs in by itself, so there is no login to wait for. */
  async #beginLogin({ settings, source, copy }: CurrentRegistry): Promise<PendingLogin | undefined> {
    if (!source.login || settings.auth?.client_secret_ref !== undefined) return undefined;
    return source.login.begin(() => void copy.refresh().catch(() => undefined));
  }

  async #cluster({ resources, namespace }: Cluster) {
    const content = await readClusterRegistry(resources, namespace);
    const info: RegistryInfo = {
      ...renderRegistryInfo(CLUSTER, BUILT_IN_SETTINGS, content, false),
      type: 'api',
      source: `namespace ${namespace}`,
    };
    return { info, content };
  }
}

function problemOfSource(error: unknown): unknown {
  if (!(error instanceof FetchFailure)) return error;
  if (error.kind === 'refused') return new Problem('bad_request', error.message, { cause: error });
  if (error.kind === 'timeout') return new Problem('upstream_timeout', error.message, { cause: error });
  return new Problem('upstream_failed', error.message, { cause: error });
}
