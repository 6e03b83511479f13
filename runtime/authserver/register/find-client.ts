import { BoundedMap } from '#runtime/bounded-map';
import { hashId } from '../ids.ts';
import type { AuthStorage } from '../storage/storage.ts';
import { type ClientDocuments, DocumentUnusable } from './client-documents.ts';
import type { Client } from './client.ts';
import { isDocumentUrl } from './document-url.ts';
import type { RegisteredClients } from './registered-clients.ts';

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
  /** Returns whether the client exists. A metadata document that cannot be read does not exist. @throws StorageUnavailable */
  isKnown(clientId: string): Promise<boolean>;
  /** Extends the lifespan of a client that got tokens. @throws StorageUnavailable */
  use(clientId: string): Promise<void>;
}

interface ClientSettings {
  readonly storage: AuthStorage;
  readonly documents: ClientDocuments | undefined;
  /** Clients that the administrator registered. */
  readonly registered: Pick<RegisteredClients, 'get'>;
  readonly now: () => number;
}

export function createClients({ storage, documents, registered, now }: ClientSettings): Clients {
  const touched = new BoundedMap<string, number>(MAX_TOUCHED);

  async function lengthen(key: string): Promise<void> {
    const last = touched.get(key);
    if (last !== undefined && now() - last < TOUCH_EVERY) return;
    await storage.touch('client', key, CLIENT_LIFESPAN);
    touched.set(key, now());
  }

  async function findSelfRegistered(clientId: string): Promise<Client | undefined> {
    if (clientId === '' || clientId.length > MAX_CLIENT_ID) return undefined;
    return storage.get('client', hashId(clientId));
  }

  async function find(clientId: string, asker?: string): Promise<Client | undefined> {
    const known = registered.get(clientId);
    if (known) return known;
    if (documents !== undefined && isDocumentUrl(clientId)) return documents.read(clientId, asker);
    return findSelfRegistered(clientId);
  }

  return {
    find,
    isKnown: async (clientId) => {
      try {
        return (await find(clientId)) !== undefined;
      } catch (error) {
        if (error instanceof DocumentUnusable) return false;
        throw error;
      }
    },
    use: async (clientId) => {
      if (registered.get(clientId) === undefined) await lengthen(hashId(clientId));
    },
  };
}
