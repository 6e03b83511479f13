import { RUN_CONFIG_VERSION } from '#crds/run-config/run-config';
import { Stalled } from '../errors.ts';
import { gzipText } from '../gzip-text.ts';
import type { Manifest, Snapshot } from '../snapshot.ts';
import { childOf, ownedMetadata, runtimeSelector } from './object-parts.ts';
import type { ClusterObject, Rendered } from './outcome.ts';

const RUN_CONFIG_FILE = 'run-config.yaml';

/** Bytes of a document above which it is stored compressed. The runtime reads both forms. */
const COMPRESSED_FROM = 700_000;

/** Bytes of data in a ConfigMap. The API server's limit of 1 MiB includes the metadata. */
const LIMIT = 1_000_000;

/** Parts that a message lists. */
const NAMED = 3;

/** Returns the ConfigMap name of a document of one schema version. Two versions may coexist. */
export function configMapName(child: string): string {
  return `${child}-${RUN_CONFIG_VERSION}`;
}

const bytes = (text: string) => Buffer.byteLength(text);

/** Returns the largest parts of a document: its members, each entry of lists and maps, and its files. */
function largestParts({ document, plainFiles }: Rendered): string {
  const inside = Object.entries(document).flatMap(([field, value]) =>
    typeof value === 'object'
      ? Object.entries(value).map(([key, part]): [string, string] => [`${field}.${key}`, JSON.stringify(part)])
      : [],
  );
  const backends = document.backends.map((one): [string, string] => [`backend ${one.name}`, JSON.stringify(one)]);
  const parts = [
    ...inside.filter(([name]) => !name.startsWith('backends.')),
    ...backends,
    ...Object.entries(plainFiles),
  ];
  return parts
    .map(([name, text]) => ({ name, size: bytes(text) }))
    .sort((a, b) => b.size - a.size || (a.name < b.name ? -1 : 1))
    .slice(0, NAMED)
    .map(({ name, size }) => `${name} (${Math.ceil(size / 1000)} kB)`)
    .join(', ');
}

/** @throws Stalled for a document that no ConfigMap can hold */
export function renderConfigMap(manifest: Manifest, rendered: Rendered, snapshot: Snapshot): ClusterObject['object'] {
  const { text } = rendered;
  const packed = bytes(text) > COMPRESSED_FROM ? gzipText(text) : undefined;
  const files = Object.values(rendered.plainFiles).reduce((sum, file) => sum + bytes(file), 0);
  const size = (packed ? packed.length : bytes(text)) + files;
  if (size > LIMIT) {
    const kilobytes = Math.ceil(size / 1000);
    const message = `the run configuration takes ${kilobytes} kB and a ConfigMap holds ${LIMIT / 1000}: shorten or divide the largest parts: ${largestParts(rendered)}`;
    throw new Stalled('RunConfigurationTooLarge', message);
  }
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
