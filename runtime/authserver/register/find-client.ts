import { BoundedMap } from '#runtime/bounded-map';
import { hashId } from '../ids.ts';
import type { AuthStorage } from '../storage/storage.ts';
import type { ClientDocuments } from './client-documents.ts';
import type { Client } from './client.ts';
import { isDocumentUrl } from './document-url.ts';

/** Milliseconds since it last got tokens after which a registered client is forgotten. */
export const CLIENT_LIFESPAN = 30 * 86_400_000;
/** The same of one that never got any: who registers clients to take all places has them for a day only. */
export const NEW_CLIENT_LIFESPAN = 86_400_000;
/** The life of a client in use is lengthened no more often than this. */
const TOUCH_EVERY = 3_600_000;
const MAX_TOUCHED = 10_000;
const MAX_CLIENT_ID = 2048;

export interface Clients {
  /**
   * The client of that id; undefined: there is none, or not any more. `asker`: for whom a document is read, as limits count it.
   * @throws StorageUnavailable, DocumentUnusable where its metadata document cannot be had or used
   */
  find(clientId: string, asker?: string): Promise<Client | undefined>;
  /** Whether there is such a client; documents are not asked for. For endpoints where a client comes with what it was given. */
  isKnown(clientId: string): Promise<boolean>;
  /** A client got tokens: it is in use. @throws StorageUnavailable */
  use(clientId: string): Promise<void>;
}

interface ClientSettings {
  readonly storage: AuthStorage;
  /** Undefined: client ID metadata documents are not accepted. */
  readonly documents: ClientDocuments | undefined;
  readonly now: () => number;
}

/** Registered clients and, where they are enabled, client ID metadata documents. */
export function createClients({ storage, documents, now }: ClientSettings): Clients {
  const touched = new BoundedMap<string, number>(MAX_TOUCHED);

  async function lengthen(key: string): Promise<void> {
    const last = touched.get(key);
    if (last !== undefined && now() - last < TOUCH_EVERY) return;
    await storage.touch('client', key, CLIENT_LIFESPAN);
    touched.set(key, now());
  }

  async function findRegistered(clientId: string): Promise<Client | undefined> {
    if (clientId === '' || clientId.length > MAX_CLIENT_ID) return undefined;
    return storage.get('client', hashId(clientId));
  }

  return {
    find: async (clientId, asker) =>
      documents !== undefined && isDocumentUrl(clientId) ? documents.read(clientId, asker) : findRegistered(clientId),
    isKnown: async (clientId) =>
      (documents !== undefined && isDocumentUrl(clientId)) || (await findRegistered(clientId)) !== undefined,
    use: (clientId) => lengthen(hashId(clientId)),
  };
}
