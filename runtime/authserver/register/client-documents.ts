import { z } from 'zod';
import { BoundedMap } from '#runtime/bounded-map';
import { createJsonClient, type DispatcherFor, type JsonClientRules } from '#runtime/incoming/json-client';
import type { Client } from './client.ts';
import { readClientMetadata, type MetadataRules } from './read-client-metadata.ts';

/** A client ID metadata document cannot be read or is invalid. */
export class DocumentUnusable extends Error {
  override readonly name = 'DocumentUnusable';
}

export interface ClientDocuments {
  /** `asker`: address of the browser as the limits count it; absent without a browser. @throws DocumentUnusable */
  read(url: string, asker?: string): Promise<Client>;
  close(): void;
}

interface DocumentSettings extends MetadataRules {
  readonly now: () => number;
  readonly dispatcherFor: DispatcherFor | undefined;
  /** For tests on one machine: addresses, certificate authorities, deadline. */
  readonly rules?: Partial<Pick<JsonClientRules, 'allowPrivateAddress' | 'readCaBundle' | 'deadline'>>;
}

const MAX_BYTES = 10_240;
const DEADLINE = 5_000;
/** Milliseconds for which a document, or its absence, is remembered. */
const GOOD_FOR = 600_000;
const BAD_FOR = 60_000;
const MAX_REMEMBERED = 1_000;
/** Maximum number of concurrent reads for all logins. */
const MAX_IN_FLIGHT = 32;
/** Limits per asker, concurrent and per minute: one asker must not take all reads, and each one calls an unknown server. */
const MAX_FOR_ONE = 4;
const MAX_A_MINUTE = 60;
const MINUTE = 60_000;
const MAX_ASKERS = 10_000;

/** Accepts public clients only: a document cannot hold a secret, and signed requests are not supported. Logos are ignored. */
const Document = z.object({
  client_id: z.string(),
  token_endpoint_auth_method: z.literal('none').optional(),
});

interface Remembered {
  readonly client: Promise<Client>;
  until: number;
}

/** The URL is untrusted: public addresses only (checked at the connection), no redirects, and limited size, time, number and memory. */
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
  const quota = createQuota(now);

  async function fetchClient(url: string, asker: string | undefined): Promise<Client> {
    const leave = quota.enter(asker);
    try {
      return parseDocument(url, await http.get(url), settings);
    } catch (cause) {
      throw cause instanceof DocumentUnusable ? cause : new DocumentUnusable('cannot be read', { cause });
    } finally {
      leave();
    }
  }

  return {
    async read(url, asker) {
      const known = remembered.get(url);
      if (known && known.until > now()) return known.client;
      quota.check(asker);
      const entry: Remembered = { client: fetchClient(url, asker), until: now() + GOOD_FOR };
      entry.client.catch(() => (entry.until = now() + BAD_FOR));
      remembered.set(url, entry);
      return entry.client;
    },
    close: () => http.close(),
  };
}

interface Asked {
  readonly inFlight: number;
  /** Number of reads in the minute that ends at `until`. */
  readonly lately: number;
  readonly until: number;
}

function createQuota(now: () => number) {
  const askers = new BoundedMap<string, Asked>(MAX_ASKERS);
  let all = 0;
  const of = (asker: string): Asked => {
    const { inFlight, ...window } = askers.get(asker) ?? { inFlight: 0, lately: 0, until: 0 };
    return window.until > now() ? { inFlight, ...window } : { inFlight, lately: 0, until: now() + MINUTE };
  };
  return {
    /** Checks the quota. @throws DocumentUnusable */
    check(asker: string | undefined): void {
      const { inFlight, lately } = of(asker ?? '');
      const hasEnough = asker !== undefined && (inFlight >= MAX_FOR_ONE || lately >= MAX_A_MINUTE);
      if (hasEnough || all >= MAX_IN_FLIGHT)
        throw new DocumentUnusable('too many client metadata documents are being read');
    },
    /** Counts a read. @returns the function that ends it */
    enter(asker = ''): () => void {
      const { inFlight, lately, until } = of(asker);
      askers.set(asker, { inFlight: inFlight + 1, lately: lately + 1, until });
      all += 1;
      return () => {
        const left = of(asker);
        askers.set(asker, { ...left, inFlight: Math.max(left.inFlight - 1, 0) });
        all -= 1;
      };
    },
  };
}

function parseDocument(url: string, document: unknown, rules: MetadataRules): Client {
  const parsed = Document.safeParse(document);
  if (!parsed.success) throw new DocumentUnusable('it is no document of a public client');
  if (parsed.data.client_id !== url) throw new DocumentUnusable('its client_id is not its URL');
  const { client_name, redirect_uris, scope } = readClientMetadata(document, rules);
  return { client_id: url, client_name, redirect_uris, scope };
}
