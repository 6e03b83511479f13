import { z } from 'zod';
import { BoundedMap } from '#runtime/bounded-map';
import { createJsonClient, type DispatcherFor, type JsonClientRules } from '#runtime/incoming/json-client';
import type { Client } from './find-client.ts';
import { readClientMetadata, type MetadataRules } from './read-client-metadata.ts';

/** A client ID metadata document cannot be had, or does not say what it must. */
export class DocumentUnusable extends Error {
  override readonly name = 'DocumentUnusable';
}

export interface ClientDocuments {
  /** @throws DocumentUnusable */
  read(url: string): Promise<Client>;
  close(): void;
}

interface DocumentSettings extends MetadataRules {
  readonly now: () => number;
  readonly dispatcherFor: DispatcherFor | undefined;
  /** What is meant for tests on one machine: addresses, certificate authorities, deadline. */
  readonly rules?: Partial<Pick<JsonClientRules, 'allowPrivateAddress' | 'readCaBundle' | 'deadline'>>;
}

const MAX_BYTES = 10_240;
const DEADLINE = 5_000;
/** Milliseconds that a document, and the lack of one, is remembered. */
const GOOD_FOR = 600_000;
const BAD_FOR = 60_000;
const MAX_REMEMBERED = 1_000;
/** Documents that are asked for at one time, by all who log in. */
const MAX_UNDER_WAY = 32;

/** Public clients alone: a document cannot hold a secret, and signed requests are not supported. No logo is ever looked at. */
const Document = z.object({
  client_id: z.string(),
  token_endpoint_auth_method: z.literal('none').optional(),
});

interface Remembered {
  readonly client: Promise<Client>;
  until: number;
}

/**
 * Reads client ID metadata documents. The URL is a stranger's: only public addresses are connected to (as the connection itself
 * resolves them), no redirect is followed, and size, time, number and memory are bounded.
 */
export function createClientDocuments(settings: DocumentSettings): ClientDocuments {
  const http = createJsonClient({
    allowPrivateAddress: false,
    allowHttp: false,
    readCaBundle: undefined,
    deadline: DEADLINE,
    maxBytes: MAX_BYTES,
    dispatcherFor: settings.dispatcherFor,
    ...settings.rules,
  });
  const { now } = settings;
  const remembered = new BoundedMap<string, Remembered>(MAX_REMEMBERED);
  let underWay = 0;

  async function fetchClient(url: string): Promise<Client> {
    underWay += 1;
    try {
      return parseDocument(url, await http.get(url), settings);
    } catch (cause) {
      throw cause instanceof DocumentUnusable ? cause : new DocumentUnusable('cannot be read', { cause });
    } finally {
      underWay -= 1;
    }
  }

  return {
    async read(url) {
      const known = remembered.get(url);
      if (known && known.until > now()) return known.client;
      if (underWay >= MAX_UNDER_WAY) throw new DocumentUnusable('too many client metadata documents are being read');
      const entry: Remembered = { client: fetchClient(url), until: now() + GOOD_FOR };
      entry.client.catch(() => (entry.until = now() + BAD_FOR));
      remembered.set(url, entry);
      return entry.client;
    },
    close: () => http.close(),
  };
}

function parseDocument(url: string, document: unknown, rules: MetadataRules): Client {
  const parsed = Document.safeParse(document);
  if (!parsed.success) throw new DocumentUnusable('it is no document of a public client');
  if (parsed.data.client_id !== url) throw new DocumentUnusable('its client_id is not its URL');
  const { client_name, redirect_uris } = readClientMetadata(document, rules);
  return { client_id: url, client_name, redirect_uris };
}
