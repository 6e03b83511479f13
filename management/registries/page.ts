import { z } from 'zod';
import { FetchFailure } from '../fetching/fetch-failure.ts';
import { weightOf } from '#operator/json-amounts';
import type { HttpAnswer, HttpClient } from '../fetching/http-client.ts';
import { RegistryContent } from '../records/registry.ts';

/** The weight is computed again after a load, because the store is not trusted. */
export const CachedPage = z.object({
  from: z.string(),
  tag: z.string().optional(),
  next: z.string().optional(),
  content: RegistryContent,
});
export type CachedPage = z.infer<typeof CachedPage>;

export interface Page extends CachedPage {
  bytes: number;
}

/** On duplicate names, the first entry wins. */
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

export const weighPage = (page: CachedPage): Page => ({ ...page, bytes: weightOf(JSON.stringify(page.content)) });

/** @throws FetchFailure if the weight exceeds the limit of a whole registry */
export function checkWeight(page: CachedPage, longest: number): Page {
  const weighed = weighPage(page);
  if (weighed.bytes <= longest) return weighed;
  throw new FetchFailure('unexpected', `what it lists takes more than ${longest} bytes here`);
}

export const weightOfPages = (pages: readonly Page[]): number => pages.reduce((sum, { bytes }) => sum + bytes, 0);

export interface Reading {
  /** URL or absolute path. */
  source: string;
  former: readonly Page[];
  http: HttpClient;
  authorization: string | undefined;
  signal: AbortSignal;
  longest: number;
}

const REDIRECTS = 3;

/** Returns `former` if the server states that it is current. @throws FetchFailure for a failure or another status */
export async function callIfChanged(
  url: string,
  { http, authorization, signal }: Reading,
  former: Page | undefined,
): Promise<Page | HttpAnswer> {
  const headers = {
    accept: 'application/json',
    ...(authorization !== undefined && { authorization }),
    ...(former?.tag !== undefined && { 'if-none-match': former.tag }),
  };
  const answer = await http.call(url, { headers, signal, redirects: REDIRECTS });
  if (answer.status === 200) return answer;
  await answer.body.dump();
  if (answer.status === 304 && former?.tag !== undefined) return former;
  throw new FetchFailure('unexpected', `${answer.url.host} answered ${answer.status}`, { status: answer.status });
}
