import { z } from 'zod';
import { FetchFailure } from '../fetching/fetch-failure.ts';
import { weightOf } from '#operator/json-amounts';
import { RegistryContent } from '../records/registry.ts';

/** A part of a registry as it is kept. What it weighs is never taken from there. */
export const KeptPage = z.object({
  /** Where it came from: a URL or path. */
  from: z.string(),
  /** To ask whether it has changed. */
  tag: z.string().optional(),
  /** Where the next one is. */
  next: z.string().optional(),
  content: RegistryContent,
});
export type KeptPage = z.infer<typeof KeptPage>;

/** A part of a registry as it was read last. */
export interface Page extends KeptPage {
  /** What its content weighs. */
  bytes: number;
}

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

export const weighPage = (page: KeptPage): Page => ({ ...page, bytes: weightOf(JSON.stringify(page.content)) });

/** With its weight. @throws FetchFailure where all of a registry would weigh more than that */
export function checkWeight(page: KeptPage, longest: number): Page {
  const weighed = weighPage(page);
  if (weighed.bytes <= longest) return weighed;
  throw new FetchFailure('unexpected', `what it lists takes more than ${longest} bytes here`);
}

export const weightOfPages = (pages: readonly Page[]): number => pages.reduce((sum, { bytes }) => sum + bytes, 0);
