import type { Semaphore } from '#lib/limits/semaphore';
import { weightOf } from '#operator/json-amounts';
import { BOUNDS } from '#operator/memory-bounds';
import { ApiError } from './api-error.ts';
import { describe, type Exchange } from './exchange.ts';
import type { KubeObject } from './object.ts';

export interface KubeList {
  items: KubeObject[];
  resourceVersion: string;
  /** Approximate size of the page in memory. Bytes. */
  weight: number;
  next: NextPage | undefined;
}

export interface NextPage {
  token: string;
  /** Most objects of the page: fewer if they are long. */
  limit: number | undefined;
}

/** Factor by which a page that is too long shrinks. */
const FEWER = 4;

const TOO_LONG = 'TooLong';

export const tooLong = (doing: string, longest: number): ApiError =>
  new ApiError(`${doing}: what is there takes more than ${longest} bytes`, { status: 0, reason: TOO_LONG });

export const isTooLong = (problem: unknown): boolean => problem instanceof ApiError && problem.reason === TOO_LONG;

interface PageSizes {
  /** Most objects of a page; undefined for everything at once. */
  limit: number | undefined;
  /** Most objects of this page at first. */
  first: number | undefined;
}

/** JSON and its approximate size in memory. Bytes. */
export interface Measured {
  value: unknown;
  weight: number;
}

/** Limits of the text and of the parsed value. Bytes. */
export interface Longest {
  text: number;
  weight: number;
}

/** Reads a page, with fewer objects until it fits. @throws ApiError */
export async function readPage(
  read: (size: number | undefined, longest: Longest) => Promise<Measured>,
  { limit, first }: PageSizes,
): Promise<KubeList> {
  let size = first;
  for (;;) {
    try {
      const { value, weight } = await read(size, longestOf(size));
      // After short objects, the page grows again.
      const isShort = weight * FEWER < BOUNDS.api.page;
      const more = isShort && size !== undefined ? Math.min(size * 2, limit ?? size) : size;
      return { ...listOf(value as Answer, more), weight };
    } catch (problem) {
      if (!isTooLong(problem) || size === undefined || size === 1) throw problem;
      size = Math.max(1, Math.floor(size / FEWER));
    }
  }
}

function longestOf(size: number | undefined): Longest {
  if (size === 1) return { text: BOUNDS.api.object, weight: Infinity };
  const longest = size === undefined ? BOUNDS.api.list : BOUNDS.api.page;
  return { text: longest, weight: longest };
}

interface Answer {
  apiVersion: string;
  kind: string;
  metadata?: { resourceVersion?: string; continue?: string };
  items?: KubeObject[] | null;
}

function listOf({ apiVersion, kind, metadata, items }: Answer, limit: number | undefined): Omit<KubeList, 'weight'> {
  // The server may omit apiVersion and kind of list items.
  const type = { apiVersion, kind: kind.replace(/List$/, '') };
  const { resourceVersion = '', continue: token = '' } = metadata ?? {};
  return {
    items: (items ?? []).map((item) => ({ ...type, ...item })),
    resourceVersion,
    next: token === '' ? undefined : { token, limit },
  };
}

interface Reading {
  wanted: Exchange;
  longTexts: Semaphore;
}

/** Reads a body up to `longest` bytes. A long body waits until few others are being read. Passes on errors of the stream. @throws ApiError */
export async function readText(
  body: AsyncIterable<Uint8Array>,
  longest: number,
  { wanted, longTexts }: Reading,
): Promise<string> {
  const parts: Uint8Array[] = [];
  let length = 0;
  let release: (() => void) | undefined;
  try {
    for await (const part of body) {
      length += part.length;
      if (length > longest) throw tooLong(describe(wanted), longest);
      if (length > BOUNDS.api.shortText) release ??= await longTexts.acquire();
      parts.push(part);
    }
    return Buffer.concat(parts).toString('utf8');
  } finally {
    release?.();
  }
}

/** Reads a body of JSON up to its limit. Counts its values before parsing. Passes on errors of the stream. @throws ApiError, SyntaxError */
export async function readMeasured(
  body: AsyncIterable<Uint8Array>,
  longest: Longest,
  reading: Reading,
): Promise<Measured> {
  const text = await readText(body, longest.text, reading);
  const weight = weightOf(text);
  if (weight > longest.weight) throw tooLong(describe(reading.wanted), longest.weight);
  return { value: JSON.parse(text), weight };
}
