import { z } from 'zod';
import { RegistryContent } from '../records/registry.ts';

/** A part of a registry as it was read last. */
export const Page = z.object({
  /** Where it came from: a URL or path. */
  from: z.string(),
  /** To ask whether it has changed. */
  tag: z.string().optional(),
  /** How long it was. */
  bytes: z.int().optional(),
  /** Where the next one is. */
  next: z.string().optional(),
  content: RegistryContent,
});
export type Page = z.infer<typeof Page>;

/** What all pages have together. Of entries of one name the first counts. */
export function joinPages(pages: readonly Page[]): RegistryContent {
  const all = pages.map(({ content }) => content);
  const [first] = all;
  if (first === undefined || all.length === 1) return first ?? RegistryContent.parse({});
  return {
    version: first.version,
    last_updated: all.map((content) => content.last_updated).reduce((a, b) => (a > b ? a : b)),
    servers: joinMaps(all.map(({ servers }) => servers)),
    remote_servers: joinMaps(all.map((content) => content.remote_servers)),
    groups: all.flatMap(({ groups }) => groups),
  };
}

function joinMaps<T>(maps: Record<string, T>[]): Record<string, T> {
  return Object.fromEntries(maps.flatMap((map) => Object.entries(map)).reverse());
}
