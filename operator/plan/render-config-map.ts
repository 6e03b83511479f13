import { RUN_CONFIG_VERSION } from '#crds/run-config/run-config';
import { gzipText } from '../gzip-text.ts';
import type { Manifest, Snapshot } from '../snapshot.ts';
import { LONGEST_DOCUMENT, tooLarge, tooLong } from './document-size.ts';
import { childOf, ownedMetadata, runtimeSelector } from './object-parts.ts';
import type { ClusterObject, Rendered } from './outcome.ts';

const RUN_CONFIG_FILE = 'run-config.yaml';

/** Bytes of a document above which it is stored compressed. The runtime reads both forms. */
const COMPRESSED_FROM = 700_000;

/** Bytes of data in a ConfigMap. The API server's limit of 1 MiB includes the metadata. */
const LIMIT = 1_000_000;

/** Returns the ConfigMap name of a document of one schema version. Two versions may coexist. */
export function configMapName(child: string): string {
  return `${child}-${RUN_CONFIG_VERSION}`;
}

const bytes = (text: string) => Buffer.byteLength(text);

/** @throws Stalled for a document that is too long, or that no ConfigMap can hold */
export function renderConfigMap(manifest: Manifest, rendered: Rendered, snapshot: Snapshot): ClusterObject['object'] {
  const { text } = rendered;
  if (bytes(text) > LONGEST_DOCUMENT) throw tooLong(bytes(text), rendered);
  const packed = bytes(text) > COMPRESSED_FROM ? gzipText(text) : undefined;
  const files = Object.values(rendered.plainFiles).reduce((sum, file) => sum + bytes(file), 0);
  const size = (packed ? packed.length : bytes(text)) + files;
  if (size > LIMIT) throw tooLarge(size, `a ConfigMap holds ${LIMIT / 1000}`, rendered);
  const document = packed
    ? { data: rendered.plainFiles, binaryData: { [RUN_CONFIG_FILE]: packed.toString('base64') } }
    : { data: { [RUN_CONFIG_FILE]: text, ...rendered.plainFiles } };
  const child = childOf(manifest);
  return {
    apiVersion: 'v1',
    kind: 'ConfigMap',
    metadata: ownedMetadata(configMapName(child), runtimeSelector(manifest), manifest, snapshot),
    ...document,
  };
}
