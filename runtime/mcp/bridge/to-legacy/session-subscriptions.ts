import { isSubResource } from '#runtime/mcp/route/is-sub-resource';

interface Subscription {
  listeners: number;
  /** The last request for this URI. It resolves to whether the backend is subscribed. */
  last: Promise<boolean>;
}

/** Returns whether the backend accepted the request. Never rejects. */
type Request = (method: string, uri: string) => Promise<boolean>;

/** The resource subscriptions of a session, which several listeners share. */
export class SessionSubscriptions {
  readonly #request: Request;
  readonly #byUri = new Map<string, Subscription>();

  constructor(request: Request) {
    this.#request = request;
  }

  /** Resolves to whether the backend is subscribed. Call `leave` once in any case. */
  join(uri: string): Promise<boolean> {
    const known = this.#byUri.get(uri);
    const subscription = known ?? { listeners: 0, last: Promise.resolve(false) };
    this.#byUri.set(uri, subscription);
    subscription.listeners += 1;
    // Requests for one URI go one after the other, as a late unsubscribe would end a newer subscription.
    if (subscription.listeners === 1)
      subscription.last = subscription.last.then(() => this.#request('resources/subscribe', uri));
    return subscription.last;
  }

  leave(uri: string): void {
    const subscription = this.#byUri.get(uri);
    if (!subscription) return;
    subscription.listeners -= 1;
    if (subscription.listeners > 0) return;
    subscription.last = subscription.last.then(async (isSubscribed) => {
      // Another listener may have joined meanwhile. Its own request follows this one.
      if (isSubscribed) await this.#request('resources/unsubscribe', uri);
      if (subscription.listeners === 0) this.#byUri.delete(uri);
      return false;
    });
  }
}

/** A subscription to a parent counts. */
export function isListened(uri: string, uris: ReadonlySet<string>): boolean {
  if (uris.has(uri)) return true;
  for (const whole of uris) if (isSubResource(uri, whole)) return true;
  return false;
}
