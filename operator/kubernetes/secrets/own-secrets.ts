import { isStatus } from '../api/api-error.ts';
import type { KubeApi } from '../api/api.ts';
import type { KubeObject, ObjectMeta } from '../api/object.ts';
import type { OwnedChildren } from '../watch/owned-children.ts';
import { SECRETS } from '../api/resources.ts';
import { compareVersions } from '../watch/section.ts';
import type { ShareTexts } from '../watch/share-texts.ts';
import { stripWeight } from '../watch/strip-weight.ts';

/** Secrets of our own: watched as metadata like all others, read by name once for each version. */
export class OwnSecrets {
  readonly #api: KubeApi;
  readonly #children: OwnedChildren;
  readonly #metadataOf: (namespace: string, name: string) => ObjectMeta | undefined;
  readonly #share: ShareTexts | undefined;

  constructor(
    api: KubeApi,
    children: OwnedChildren,
    metadataOf: (namespace: string, name: string) => ObjectMeta | undefined,
    share?: ShareTexts,
  ) {
    this.#api = api;
    this.#children = children;
    this.#metadataOf = metadataOf;
    this.#share = share;
  }

  /** The Secret as it stands; undefined where there is none. Throws an ApiError. */
  async read(namespace: string, name: string): Promise<KubeObject | undefined> {
    const known = this.#children.at({ apiVersion: 'v1', kind: 'Secret', metadata: { namespace, name } });
    const told = this.#metadataOf(namespace, name);
    // One that the watch does not have may have been made a moment ago, by ourselves.
    if (!told || (known && compareVersions(known.metadata.resourceVersion, told.resourceVersion) >= 0)) return known;
    try {
      const secret = stripWeight(await this.#api.get(SECRETS, { namespace, name }), this.#share);
      this.#children.wrote(secret);
      return secret;
    } catch (problem) {
      if (isStatus(problem, 404)) return undefined;
      throw problem;
    }
  }
}
