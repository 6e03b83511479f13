import type { RegistryInfo } from '#management/records/registry';
import type { ImageServer, RemoteServer } from '#management/records/registry-entry';
import type { Listing } from '../print-records.ts';

export const REGISTRIES: Listing<RegistryInfo> = {
  columns: ['NAME', 'TYPE', 'SERVERS', 'UPDATED', 'LOGIN', 'SOURCE'],
  row: (one) => [
    one.name,
    one.type,
    String(one.server_count),
    one.last_updated,
    one.auth_type === '' ? '' : one.auth_status,
    one.source,
  ],
  name: ({ name }) => name,
  none: (typed) => `there is no registry: ${typed('registry rm')} brings the one of vmcp back`,
};

export type Entry = ImageServer | RemoteServer;

export const ENTRIES: Listing<Entry> = {
  columns: ['NAME', 'RUNS', 'TIER', 'DESCRIPTION'],
  row: (entry) => [
    entry.name ?? '',
    'url' in entry ? 'elsewhere' : runnerOf(entry.image),
    entry.tier ?? '',
    cut(`${entry.status === 'deprecated' ? '(deprecated) ' : ''}${entry.description ?? ''}`),
  ],
  name: ({ name = '' }) => name,
  none: (typed) => `the registry has no such server: ${typed('registry search')} lists all`,
};

const runnerOf = (image: string): string => /^(npx|uvx):\/\//.exec(image)?.[1] ?? 'image';

const LONGEST = 80;
const cut = (text: string): string => (text.length > LONGEST ? `${text.slice(0, LONGEST - 1)}…` : text);
