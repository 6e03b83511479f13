import { randomBytes } from 'node:crypto';
import { promisify } from 'node:util';
import { gunzip, gzip } from 'node:zlib';
import { z } from 'zod';
import { weightOf } from '#operator/json-amounts';
import { Problem } from '../problem.ts';
import type { RecordStore } from '../stores/record-store.ts';
import { CachedPage, type Page, weighPage } from './page.ts';

/** Characters of base64 in one record. */
const PART = 600_000;
const MOST_PARTS = 24;
/** A namespace has a few registries, so additional heads are not from vmcp. */
const MOST_HEADS = 16;

const Head = z.object({ source: z.string(), id: z.string(), parts: z.int().min(1).max(MOST_PARTS) });
const Part = z.object({ text: z.string() });
const Pages = z.array(CachedPage);

const pack = promisify(gzip);
const unpack = promisify(gunzip);
const nameOf = (id: string, part: number): string => `part.${id}.${part}`;

/** Stores a head and parts, as one record may be too small. Writes parts, then head; deletes the previous parts last. */
export class CachedCopies {
  readonly #store: RecordStore;
  /** Maximum weight of a copy, as other writers of the records may have written it. */
  readonly #longest: number;

  constructor(store: RecordStore, longest: number) {
    this.#store = store;
    this.#longest = longest;
  }

  /** Returns the last copy of this source; undefined if it is missing or unreadable. @throws Problem of the store */
  async load(name: string, source: string): Promise<Page[] | undefined> {
    const head = await this.#headOf(name);
    if (head?.source !== source) return undefined;
    const parts = await Promise.all(
      Array.from({ length: head.parts }, async (_, part) => this.#store.get(nameOf(head.id, part))),
    );
    const texts = parts.map((part) => Part.safeParse(part?.value).data?.text);
    if (!texts.every((text) => text !== undefined)) return undefined;
    try {
      const bytes = await unpack(Buffer.from(texts.join(''), 'base64'), { maxOutputLength: 2 * this.#longest });
      const text = bytes.toString('utf8');
      return weightOf(text) > 2 * this.#longest ? undefined : Pages.parse(JSON.parse(text)).map(weighPage);
    } catch {
      return undefined;
    }
  }

  /** @throws Problem `too_large`, and problems of the store */
  async save(name: string, source: string, pages: readonly Page[]): Promise<void> {
    const kept = pages.map(({ from, tag, next, content }): CachedPage => ({ from, tag, next, content }));
    const packed = (await pack(JSON.stringify(kept))).toString('base64');
    const parts = packed.match(new RegExp(`.{1,${PART}}`, 'g')) ?? [];
    if (parts.length > MOST_PARTS) throw new Problem('too_large', 'the registry is too large to be kept');
    const id = randomBytes(9).toString('hex');
    for (const [part, text] of parts.entries()) await this.#store.create(nameOf(id, part), { text });
    const former = await this.#store.get(name);
    const head = { source, id, parts: parts.length };
    if (former === undefined) await this.#store.create(name, head);
    else await this.#store.replace(name, head, former.version);
    await this.#removeOthers(idOf(former?.value));
  }

  async remove(name: string): Promise<void> {
    // A damaged copy is deleted too.
    const former = await this.#store.get(name).catch(() => undefined);
    await this.#store.delete(name);
    await this.#removeOthers(idOf(former?.value));
  }

  async #headOf(name: string): Promise<z.infer<typeof Head> | undefined> {
    return Head.safeParse((await this.#store.get(name))?.value).data;
  }

  /** Removes parts of previous copies and killed processes. Above `MOST_HEADS` it deletes only the parts of the previous copy. */
  async #removeOthers(former: string | undefined): Promise<void> {
    const names = await this.#store.names();
    const heads = names.filter((name) => partOf(name) === undefined);
    const live = new Set<string | undefined>();
    if (heads.length <= MOST_HEADS) for (const name of heads) live.add((await this.#headOf(name))?.id);
    const isLeft = (id: string): boolean => (heads.length > MOST_HEADS ? id === former : !live.has(id));
    for (const name of names) {
      const id = partOf(name);
      if (id !== undefined && isLeft(id)) await this.#store.delete(name);
    }
  }
}

const partOf = (name: string): string | undefined => (name.startsWith('part.') ? name.split('.')[1] : undefined);

const idOf = (head: unknown): string | undefined => Head.safeParse(head).data?.id;
