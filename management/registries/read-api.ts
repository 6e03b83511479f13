import { z } from 'zod';
import { BOUNDS } from '../memory-bounds.ts';
import { FetchFailure } from '../fetching/fetch-failure.ts';
import { type JsonBounds, readJson } from '../fetching/read-body.ts';
import { mapServers } from './map-server-json.ts';
import { callIfChanged, checkWeight, type Page, type Reading } from './page.ts';

const AMOUNTS: JsonBounds = { bytes: BOUNDS.registries.page, objects: 20_000, values: 100_000 };
const PAGE_SIZE = 100;
const MOST_PAGES = 200;

/** Entries are validated later, one by one, so a malformed entry does not invalidate the others. */
const Answer = z.object({
  servers: z.array(z.unknown()).max(10 * PAGE_SIZE),
  metadata: z.object({ nextCursor: z.string().max(2048).nullish() }).nullish(),
});

/** Reads the official registry API (v0.1) page by page. Reuses the former page on 304. @throws FetchFailure */
export async function readApi(reading: Reading): Promise<Page[]> {
  const known = new Map(reading.former.map((page) => [page.from, page]));
  const seen = new Set<string>();
  const pages: Page[] = [];
  let url: string | undefined = firstUrl(reading.source);
  let left = reading.longest;
  while (url !== undefined) {
    if (pages.length >= MOST_PAGES || seen.has(url))
      throw new FetchFailure('unexpected', `${new URL(url).host} has more than ${MOST_PAGES} pages, or repeats them`);
    seen.add(url);
    const page: Page = await readPage(url, reading, known.get(url));
    left -= page.bytes;
    if (left < 0)
      throw new FetchFailure(
        'unexpected',
        `what ${new URL(url).host} lists takes more than ${reading.longest} bytes here`,
      );
    pages.push(page);
    url = page.next;
  }
  return pages;
}

function firstUrl(source: string): string {
  const base = source.replace(/[?#].*$/s, '').replace(/\/+$/, '');
  const url = new URL(base.endsWith('/v0.1') ? `${base}/servers` : `${base}/v0.1/servers`);
  url.searchParams.set('version', 'latest');
  url.searchParams.set('limit', String(PAGE_SIZE));
  return url.href;
}

async function readPage(url: string, reading: Reading, former: Page | undefined): Promise<Page> {
  const answer = await callIfChanged(url, reading, former);
  if ('from' in answer) return answer;
  const { host } = answer.url;
  const value = await readJson(answer, AMOUNTS);
  const parsed = Answer.safeParse(value);
  if (!parsed.success) throw new FetchFailure('unexpected', `${host} does not answer as a registry API (v0.1)`);
  const { servers, metadata } = parsed.data;
  const tag = answer.headers.etag;
  const next = nextUrl(url, metadata?.nextCursor);
  const content = mapServers(servers);
  const page = { from: url, ...(tag !== undefined && { tag }), ...(next !== undefined && { next }), content };
  return checkWeight(page, reading.longest);
}

function nextUrl(url: string, cursor: string | null | undefined): string | undefined {
  if (cursor === undefined || cursor === null || cursor === '') return undefined;
  const next = new URL(url);
  next.searchParams.set('cursor', cursor);
  return next.href;
}
