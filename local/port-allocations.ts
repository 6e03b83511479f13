import { randomUUID } from 'node:crypto';
import { keyText, parseKey, type ResourceKey, runtimeName } from '#operator/snapshot';
import { runtimeNameOf } from '#operator/plan/object-parts';
import {
  allocatePorts,
  type Allocations,
  candidatePorts,
  isComplete,
  backendPortOfSlot,
  portOfSlot,
  privatePortOfSlot,
  type PortFacts,
  readAllocations,
  writeAllocations,
} from './allocate-ports.ts';
import { applicantsOf } from './build-snapshot.ts';
import { findBusyPorts } from './check-port.ts';
import type { FolderContent } from './manifest-folder.ts';
import { findPortConflicts, portClaims, type PortConflicts, type PortHolder } from './port-claims.ts';
import type { StateFolder } from './state-folder.ts';
import type { LocalStatusFile } from './local-status-file.ts';

interface PortAllocationsOptions {
  state: StateFolder;
  statusFile: LocalStatusFile;
  folderContent: () => FolderContent;
  running: () => PortHolder[];
}

/** Ports and uids of a folder's resources, kept in its state folder. */
export class PortAllocations {
  readonly #options: PortAllocationsOptions;
  #value: Allocations;
  #closed = false;
  /** Cached, because computing the claims takes long. */
  #claims: { folderContent: FolderContent; claims: ReturnType<typeof portClaims> } | undefined;

  constructor(options: PortAllocationsOptions) {
    this.#options = options;
    this.#value = readAllocations(options.state);
  }

  get value(): Allocations {
    return this.#value;
  }

  get conflicts(): Map<string, PortConflicts> {
    const folderContent = this.#options.folderContent();
    if (this.#claims?.folderContent !== folderContent)
      this.#claims = { folderContent, claims: portClaims(folderContent.manifests) };
    return findPortConflicts(this.#claims.claims, this.#options.running());
  }

  /** Returns the resources whose ports changed. */
  async update({ starting, lost }: Pick<PortFacts, 'starting' | 'lost'> = {}): Promise<ResourceKey[]> {
    const { state, statusFile, folderContent } = this.#options;
    const busy = await this.#findBusy({ starting, lost });
    if (this.#closed) return [];
    const before = this.#ports();
    // A failed write must not hide a change: a resource waits for its port. Without the file, ports hold until the next start.
    statusFile.attempt(state.allocations, () => {
      const { servers, backends } = applicantsOf(folderContent());
      const facts = { busy: (port: number) => busy.has(port), starting, lost, runs: this.#runs() };
      this.#value = allocatePorts(this.#value, servers, backends, { ...facts, makeUid: randomUUID });
      writeAllocations(state, this.#value);
    });
    const changed = [...this.#ports()].filter(([owner, ports]) => (before.get(owner) ?? ports) !== ports);
    return changed.map(([owner]) => parseKey(owner));
  }

  #runs(): (port: number, name: string) => boolean {
    const places = new Map(
      this.#options.running().flatMap(({ owner, role, port }): [number, string][] => {
        const key = parseKey(owner);
        return role === 'runtime' ? [[port, `${key.namespace}/${runtimeName(key)}`]] : [];
      }),
    );
    return (port, name) => places.get(port) === name;
  }

  close(): void {
    this.#closed = true;
  }

  async #findBusy({ starting = false, lost }: Pick<PortFacts, 'starting' | 'lost'>): Promise<Set<number>> {
    const { servers, backends } = applicantsOf(this.#options.folderContent());
    if (!starting && lost === undefined && isComplete(this.#value, servers, backends)) return new Set();
    return findBusyPorts(candidatePorts(this.#value, servers, backends, starting));
  }

  #ports(): Map<string, string> {
    const { slots, privatePlaces, backendPlaces } = this.#value;
    const texts = this.#options.folderContent().manifests.map((manifest) => {
      const { namespace, name } = manifest.metadata;
      const runtime = `${namespace}/${runtimeNameOf(manifest)}`;
      const port = (given: Record<string, number>, place: string, portOf: (number: number) => number) =>
        given[place] === undefined ? '' : String(portOf(given[place]));
      const ports = [
        port(slots, runtime, portOfSlot),
        port(privatePlaces, runtime, privatePortOfSlot),
        manifest.kind === 'MCPServer' ? port(backendPlaces, `${namespace}/${name}`, backendPortOfSlot) : '',
      ];
      return [keyText({ kind: manifest.kind, namespace, name }), ports.join(' ')] as const;
    });
    return new Map(texts);
  }
}
