import { ApiError } from './api-error.ts';
import { describe, type Exchange } from './exchange.ts';
import type { KubeObject } from './object.ts';

export interface KubeList {
  items: KubeObject[];
  resourceVersion: string;
  /** How long the page was, as text. */
  bytes: number;
  /** The next page; undefined on the last one. */
  next: NextPage | undefined;
}

/** Where a list goes on. */
export interface NextPage {
  token: string;
  /** How many objects it may have: fewer where they are long. */
  limit: number | undefined;
}

/** Bytes of a page of several objects, as text: read and parsed they take several times as much. */
const LONGEST_PAGE = 8 * 1024 * 1024;
/** Of one object: the largest in etcd is 1.5 MB, and JSON makes it longer. */
const LONGEST_OBJECT = 16 * 1024 * 1024;
/** Of everything at once, where the API server no longer knows a page from which to go on. */
const LONGEST_LIST = 64 * 1024 * 1024;

/** What is too long has so many times fewer objects the next time. */
const FEWER = 4;

const TOO_LONG = 'TooLong';

export const tooLong = (doing: string, longest: number): ApiError =>
  new ApiError(`${doing}: what is there is longer than ${longest} bytes`, { status: 0, reason: TOO_LONG });

/** Whether more is there than is read. */
export const isTooLong = (problem: unknown): boolean => problem instanceof ApiError && problem.reason === TOO_LONG;

interface PageSizes {
  /** Most objects of a page; undefined for everything at once. */
  limit: number | undefined;
  /** Those of this one, to begin with. */
  first: number | undefined;
}

/** JSON, and how many bytes that was. */
export interface Measured {
  value: unknown;
  bytes: number;
}

/** Reads a page, with fewer objects as long as it is too long. @throws ApiError */
export async function readPage(
  read: (size: number | undefined, longest: number) => Promise<Measured>,
  { limit, first }: PageSizes,
): Promise<KubeList> {
  let size = first;
  for (;;) {
    try {
      const { value, bytes } = await read(size, longestOf(size));
      // After short ones more fit again.
      const isShort = bytes * FEWER < LONGEST_PAGE;
      const more = isShort && size !== undefined ? Math.min(size * 2, limit ?? size) : size;
      return { ...listOf(value as Answer, more), bytes };
    } catch (problem) {
      if (!isTooLong(problem) || size === undefined || size === 1) throw problem;
      size = Math.max(1, Math.floor(size / FEWER));
    }
  }
}

function longestOf(size: number | undefined): number {
  if (size === undefined) return LONGEST_LIST;
  return size === 1 ? LONGEST_OBJECT : LONGEST_PAGE;
}

interface Answer {
  apiVersion: string;
  kind: string;
  metadata?: { resourceVersion?: string; continue?: string };
  items?: KubeObject[] | null;
}

function listOf({ apiVersion, kind, metadata, items }: Answer, limit: number | undefined): Omit<KubeList, 'bytes'> {
  // Items of a list have neither apiVersion nor kind where the server leaves them out.
  const type = { apiVersion, kind: kind.replace(/List$/, '') };
  const { resourceVersion = '', continue: token = '' } = metadata ?? {};
  return {
    items: (items ?? []).map((item) => ({ ...type, ...item })),
    resourceVersion,
    next: token === '' ? undefined : { token, limit },
  };
}

/** A body of JSON, and no more of it than may be. @throws ApiError, SyntaxError; lets through what breaks the stream */
export async function readMeasured(
  body: AsyncIterable<Uint8Array>,
  longest: number,
  wanted: Exchange,
): Promise<Measured> {
  const parts: Uint8Array[] = [];
  let length = 0;
  for await (const part of body) {
    length += part.length;
    if (length > longest) throw tooLong(describe(wanted), longest);
    parts.push(part);
  }
  return { value: JSON.parse(Buffer.concat(parts).toString('utf8')), bytes: length };
}
