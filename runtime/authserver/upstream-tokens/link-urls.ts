import { BoundedMap } from '#runtime/bounded-map';
import type { AuthStorage } from '../storage/storage.ts';
import { issueLinkUrl } from './issue-link-url.ts';

/** Milliseconds in which calls that fail together get one link URL. */
const SAME_FOR = 5_000;
const MAX_USERS = 10_000;

interface LinkUrlSettings {
  readonly storage: AuthStorage;
  readonly connectionsUrl: string;
  readonly issued: (sub: string, provider: string) => void;
}

/** Recently issued link URLs, by user and provider. */
export class LinkUrls {
  readonly #settings: LinkUrlSettings;
  readonly #known = new BoundedMap<string, Map<string, Promise<string>>>(MAX_USERS);

  constructor(settings: LinkUrlSettings) {
    this.#settings = settings;
  }

  /** Returns a link URL. @throws StorageUnavailable */
  async of(sub: string, provider: string): Promise<string> {
    const ofUser = this.#known.get(sub) ?? new Map<string, Promise<string>>();
    const known = ofUser.get(provider);
    if (known) return known;
    const { storage, connectionsUrl } = this.#settings;
    const issuing = issueLinkUrl(storage, connectionsUrl, { sub, provider });
    const forget = (): void => {
      if (ofUser.get(provider) === issuing) ofUser.delete(provider);
    };
    this.#known.set(sub, ofUser.set(provider, issuing));
    issuing.catch(forget);
    const url = await issuing;
    setTimeout(forget, SAME_FOR).unref();
    this.#settings.issued(sub, provider);
    return url;
  }

  forget(sub: string): void {
    this.#known.delete(sub);
  }
}
