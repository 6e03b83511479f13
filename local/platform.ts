import { rmSync } from 'node:fs';
import { join } from 'node:path';
import { valueAt } from '#crds/parts/rule';
import { Waiting } from '#operator/errors';
import { mayHaveRuntime, runtimeChildOf } from '#operator/plan/child-names';
import { folderLabel } from '#operator/plan/container-command';
import type { Outcome, Rendered, SecretSource } from '#operator/plan/outcome';
import type { Platform } from '#operator/platform';
import type { Clock } from '#operator/queue';
import {
  type GeneratedSecret,
  keyText,
  type LocalFacts,
  type Manifest,
  parseKey,
  type ResourceKey,
  runtimeFolder,
  runtimeName,
  type Snapshot,
} from '#operator/snapshot';
import { buildSnapshot, neededSecrets } from './build-snapshot.ts';
import { Children, type LocalChild, PortTaken } from './children.ts';
import { noteContainers } from './containers.ts';
import { CurrentFolderContent } from './current-folder-content.ts';
import { fileFacts } from './file-facts.ts';
import { HostAddress } from './host-address.ts';
import { ignoresLimits } from './ignores-limits.ts';
import { dropGeneratedSecrets, generatedSecret, secretDigester } from './generated-secrets.ts';
import { ObservedRuntimes } from './observed-runtimes.ts';
import { PortAllocations } from './port-allocations.ts';
import { ProgramPorts } from './program-ports.ts';
import { type SecretsSource, StoredSecrets } from './stored-secrets.ts';
import { specOfChild } from './spec-of-child.ts';
import type { StateFolder } from './state-folder.ts';
import type { LocalStatusFile } from './local-status-file.ts';
import { watchFolder } from './watch-folder.ts';
import { digestOnDisk, pruneRendered, writeRendered } from './write-rendered.ts';

interface LocalOptions {
  /** Absolute path of the folder with the manifests. */
  folder: string;
  state: StateFolder;
  statusFile: LocalStatusFile;
  clock: Clock;
  /** Program of the runtime with its first arguments. */
  runtime: string[];
  environment: NodeJS.ProcessEnv;
  containerEngine: LocalFacts['containerEngine'];
  /** Replaces Secrets that no manifest defines: source of the secrets stored by the management API. */
  secrets: SecretsSource;
}

/** Runs a folder of manifests as child processes on one machine. The state folder must be open and locked. */
export class LocalPlatform implements Platform {
  readonly #options: LocalOptions;
  readonly #stored: StoredSecrets;
  readonly #content: CurrentFolderContent;
  readonly #children: Children;
  readonly #runtimes: ObservedRuntimes;
  readonly #digest: (value: string) => string;
  /** Current or planned configuration of each runtime, by the text of its resource's key. */
  readonly #rendered = new Map<string, Rendered>();
  readonly #address: HostAddress;
  readonly #ports: PortAllocations;
  #changed: (key: ResourceKey) => void = () => undefined;
  #stopWatching: () => void = () => undefined;

  constructor(options: LocalOptions) {
    const { folder, state, statusFile, clock } = options;
    this.#options = options;
    this.#stored = new StoredSecrets(options.secrets, clock);
    this.#content = new CurrentFolderContent(folder, this.#stored);
    this.#runtimes = new ObservedRuntimes(clock, (name) => this.#changed(parseKey(name)));
    const programs = new ProgramPorts((owner) => this.#changed(parseKey(owner)));
    this.#children = new Children(options, programs, (owner) => this.#runtimes.lost(owner));
    this.#digest = secretDigester(state);
    this.#address = new HostAddress({ environment: options.environment, clock, found: () => this.#changedGateways() });
    this.#ports = new PortAllocations({
      state,
      statusFile,
      folderContent: () => this.#content.value,
      running: () => this.#children.holders(),
    });
  }

  async watch(changed: (key: ResourceKey) => void): Promise<void> {
    this.#changed = changed;
    const changes = this.#content.refresh();
    await this.#stored.load(this.#content.value.manifests);
    changes.push(...this.#content.refresh());
    await this.#enqueueDependents(changes, { starting: true });
    const { folder, clock, statusFile } = this.#options;
    const refresh = () => statusFile.attempt(folder, () => void this.#enqueueDependents(this.#content.refresh()));
    const reload = async () => {
      if (await this.#stored.load(this.#content.value.manifests)) refresh();
    };
    const stopFolder = watchFolder(folder, clock, () => {
      refresh();
      void reload();
    });
    this.#stored.watch(() => void reload());
    this.#stopWatching = () => {
      stopFolder();
      this.#stored.close();
    };
  }

  async observe(namespace: string): Promise<Snapshot> {
    const { state, containerEngine } = this.#options;
    const hostAddress = await this.#hostAddress();
    return buildSnapshot(this.#content.value, namespace, {
      allocations: this.#ports.value,
      portConflicts: this.#ports.conflicts,
      programs: this.#children.programs.inNamespace(namespace),
      runtimeFailures: this.#children.failuresIn(namespace),
      directory: state.run,
      loginDirectory: state.logins,
      containerEngine,
      hostAddress,
      limitsIgnored: ignoresLimits(containerEngine),
      ...fileFacts(() => this.#options.folder),
      digest: this.#digest,
      generated: (served) => this.#generated(served),
      status: (key) => this.#options.statusFile.statusOf(key),
      ...this.#activeDocuments(namespace),
    });
  }

  /** Asks the engine only when a plan needs the address. */
  async #hostAddress(): Promise<string | undefined> {
    if (this.#options.containerEngine !== 'podman' || !this.#content.value.manifests.some(needsGateway))
      return undefined;
    return this.#address.get();
  }

  #changedGateways(): void {
    for (const { kind, metadata } of this.#content.value.manifests.filter(needsGateway))
      this.#changed({ kind, namespace: metadata.namespace, name: metadata.name });
  }

  apply(outcome: Outcome): Promise<void> {
    return this.#children.programs.applyNoting(outcome, () => this.#applyWithFiles(outcome));
  }

  report({ key, status }: Outcome): Promise<void> {
    const manifest = this.#manifestOf(key);
    const hasEndpoint = manifest !== undefined && mayHaveRuntime(manifest);
    const listen = hasEndpoint ? this.#children.addressOf(runtimeChildOf(key)) : undefined;
    this.#options.statusFile.setStatus(key, status, hasEndpoint, listen);
    return Promise.resolve();
  }

  close(): Promise<void> {
    this.#changed = () => undefined;
    this.#stopWatching();
    this.#ports.close();
    this.#runtimes.close();
    this.#address.close();
    return Promise.resolve();
  }

  /** Ends all children. */
  async stopChildren(): Promise<void> {
    await this.#children.stopAll();
  }

  async #enqueueDependents(changes: ResourceKey[], facts?: Parameters<PortAllocations['update']>[0]): Promise<void> {
    const moved = await this.#ports.update(facts);
    this.#options.statusFile.setProblems(this.#content.value.problems);
    for (const key of [...changes, ...moved]) this.#changed(key);
  }

  #manifestOf(key: ResourceKey): Manifest | undefined {
    return this.#content.value.manifests.find(({ kind, metadata }) => keyText({ kind, ...metadata }) === keyText(key));
  }

  /** Returns a generated secret for the runtime of a resource. */
  #made(key: ResourceKey, which: GeneratedSecret): string {
    return generatedSecret(this.#options.state, key.namespace, runtimeFolder(key), which);
  }

  /** Returns the digests of the generated secrets. */
  #generated(served: Manifest): NonNullable<Snapshot['generated'][string]> {
    const key = { kind: served.kind, ...served.metadata };
    const wanted = neededSecrets(served, this.#content.value.manifests);
    return Object.fromEntries(wanted.map((which) => [which, this.#digest(this.#made(key, which))]));
  }

  /** Returns the documents and statuses of the runtimes in one namespace. */
  #activeDocuments(namespace: string): Pick<Snapshot, 'documents' | 'observed'> {
    const documents: Snapshot['documents'] = {};
    const observed: Snapshot['observed'] = {};
    for (const { kind, metadata } of this.#content.value.manifests) {
      const owner = keyText({ kind, ...metadata });
      const rendered = this.#rendered.get(owner);
      if (!rendered || metadata.namespace !== namespace) continue;
      const name = runtimeName({ kind, ...metadata });
      documents[name] = rendered.text;
      const status = this.#runtimes.status(owner);
      if (!status) continue;
      const restartedAt = this.#children.restartedAt(runtimeChildOf({ kind, ...metadata }));
      observed[name] = { ...status, current: isActive(rendered, status.config_digest), restartedAt };
    }
    return { documents, observed };
  }

  async #applyWithFiles(outcome: Outcome): Promise<void> {
    const { key, rendered } = outcome;
    const owner = keyText(key);
    const children = outcome.children.filter((child): child is LocalChild => child.platform === 'local');
    const current = children.filter((child) => this.#children.isCurrent(child));
    await this.#children.stopOthers(
      owner,
      children.map((child) => child.name),
    );
    if (!rendered) this.#forgetRuntime(owner);
    if (outcome.action === 'remove') dropGeneratedSecrets(this.#options.state, key.namespace, runtimeFolder(key));
    if (rendered) {
      writeRendered(rendered, (source) => this.#valueOf(key, source));
      this.#rendered.set(owner, rendered);
    }
    this.#noteContainers(key, children, rendered);
    for (const child of children) if (!current.includes(child)) await this.#start(key, child, rendered);
    const digest = this.#runtimes.status(owner)?.config_digest;
    if (rendered && isActive(rendered, digest)) pruneRendered(rendered);
  }

  /** Records containers before the first of them starts. The runtime itself starts those on standard input and output. */
  #noteContainers({ namespace }: ResourceKey, children: LocalChild[], rendered: Rendered | undefined): void {
    const { state, containerEngine: engine } = this.#options;
    const commands = [...children, ...(rendered?.document.backends ?? [])];
    if (engine === undefined || !commands.some((one) => 'command' in one && one.command === engine)) return;
    noteContainers(state, { engine, labels: [folderLabel(join(state.run, namespace))] });
  }

  async #start(key: ResourceKey, child: LocalChild, rendered: Rendered | undefined): Promise<void> {
    const spec = specOfChild(child, rendered?.configDirectory, {
      ...this.#options,
      valueOf: (source) => this.#valueOf(key, source),
    });
    const awaited = rendered && child.role === 'runtime' ? this.#portsStartedHere(rendered) : [];
    await this.#children
      .start(keyText(key), child, spec, awaited)
      .catch((problem: unknown) => this.#moved(key, child, problem));
    if (child.role === 'runtime') {
      // The status of the predecessor does not describe the new process.
      this.#runtimes.forget(keyText(key));
      this.#runtimes.watch(keyText(key), child.privatePort, this.#made(key, 'statusToken'));
    }
  }

  /** Replaces a port that no user chose by a free one, because no field of a resource could fix it. Rethrows the problem. */
  async #moved(key: ResourceKey, { role }: LocalChild, problem: unknown): Promise<never> {
    if (problem instanceof PortTaken && !problem.isPublic) {
      const name = `${key.namespace}/${role === 'runtime' ? runtimeName(key) : key.name}`;
      await this.#enqueueDependents([], { lost: { name, port: problem.port } });
    }
    throw problem;
  }

  /** Returns the ports of a document's backends that are processes of this folder. */
  #portsStartedHere({ document }: Rendered): number[] {
    const startedHere = new Set(
      this.#content.value.manifests
        .filter(({ kind, spec }) => kind === 'MCPServer' && typeof spec === 'object' && !('remoteUrl' in (spec ?? {})))
        .map(({ metadata }) => metadata.name),
    );
    return document.backends.flatMap((backend) =>
      'url' in backend && startedHere.has(backend.name) ? [Number(new URL(backend.url).port)] : [],
    );
  }

  /** Removes all state about a runtime whose resource no longer has one. */
  #forgetRuntime(owner: string): void {
    const rendered = this.#rendered.get(owner);
    this.#rendered.delete(owner);
    this.#runtimes.forget(owner);
    if (!rendered) return;
    for (const path of [rendered.secretDirectory, rendered.configDirectory])
      rmSync(path, { recursive: true, force: true });
  }

  #valueOf(key: ResourceKey, source: SecretSource): string {
    if ('generated' in source) {
      const owner = source.of === undefined ? key : { ...key, kind: 'MCPServer' as const, name: source.of };
      return this.#made(owner, source.generated);
    }
    const value = this.#content.value.secrets.get(`${key.namespace}/${source.secret}`)?.[source.key];
    if (value !== undefined) return value;
    throw new Waiting('SecretNotFound', `Secret "${source.secret}" with key "${source.key}" has gone: create it`);
  }
}

const needsGateway = ({ spec }: Manifest): boolean => valueAt(spec, ['allowDockerGateway']) === true;

function isActive({ configDirectory }: Rendered, reported: string | undefined): boolean {
  return reported !== undefined && reported === digestOnDisk(configDirectory);
}
