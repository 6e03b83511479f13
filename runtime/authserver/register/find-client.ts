import { BoundedMap } from '#runtime/bounded-map';
import { hashId } from '../ids.ts';
import type { AuthStorage } from '../storage/storage.ts';
import type { ClientDocuments } from './client-documents.ts';
import type { Client } from './client.ts';
import { isDocumentUrl } from './document-url.ts';

/** Lifespan of a registered client since it last got tokens, in milliseconds. */
export const CLIENT_LIFESPAN = 30 * 86_400_000;
/** Lifespan of a client that never got tokens. It is short, so that mass registrations block the quota for a day only. */
export const NEW_CLIENT_LIFESPAN = 86_400_000;
/** Minimum interval between two extensions of a client's lifespan. */
const TOUCH_EVERY = 3_600_000;
const MAX_TOUCHED = 10_000;
const MAX_CLIENT_ID = 2048;

export interface Clients {
  /** `asker`: address as the limits count it. @throws StorageUnavailable, DocumentUnusable for an unreadable or invalid document */
  find(clientId: string, asker?: string): Promise<Client | undefined>;
  /** Returns whether the client exists, without reading documents. For endpoints that receive a code or token of the client. */
  isKnown(clientId: string): Promise<boolean>;
  /** Extends the lifespan of a client that got tokens. @throws StorageUnavailable */
  use(clientId: string): Promise<void>;
}

interface ClientSettings {
  readonly storage: AuthStorage;
  readonly documents: ClientDocuments | undefined;
  readonly now: () => number;
}

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
