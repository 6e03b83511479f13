import { isStatus } from '../api/api-error.ts';
import type { KubeApi } from '../api/api.ts';
import type { KubeObject, ObjectMeta } from '../api/object.ts';
import type { OwnedChildren } from '../watch/owned-children.ts';
import { SECRETS } from '../api/resources.ts';
import { compareVersions } from '../watch/section.ts';
import type { ShareTexts } from '../watch/share-texts.ts';
import { stripWeight } from '../watch/strip-weight.ts';

/** The operator's own Secrets: watched as metadata, and read by name once per version. */
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

  /** Returns the current Secret; undefined if there is none. @throws ApiError */
  async read(namespace: string, name: string): Promise<KubeObject | undefined> {
    const known = this.#children.at({ apiVersion: 'v1', kind: 'Secret', metadata: { namespace, name } });
    const told = this.#metadataOf(namespace, name);
    // A Secret that the watch has not reported may have just been created by the operator.
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
