import { indexedRecord, type ResourceIndex } from '#operator/plan/resource-index';
import type { Manifest } from '#operator/snapshot';
import { Section } from '../watch/section.ts';

/** Resources of one kind, indexed by the names that they refer to. */
export class ManifestSection extends Section<Manifest> {
  readonly #indexes: Map<string, ResourceIndex>;

  constructor() {
    const indexes = new Map<string, ResourceIndex>();
    super((namespace) => {
      const { record, index } = indexedRecord();
      indexes.set(namespace, index);
      return record;
    });
    this.#indexes = indexes;
  }

  override set(namespace: string, name: string, manifest: Manifest | undefined): void {
    super.set(namespace, name, manifest);
    const index = this.#indexes.get(namespace);
    if (manifest) index?.set(manifest);
    else index?.delete(name);
  }
}
