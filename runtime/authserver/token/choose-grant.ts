import { OAuthError } from '../errors.ts';

/** RFC 8707 §2.2. Compared byte for byte; absent: the endpoint. @throws OAuthError `invalid_target` */
export function chooseResource(asked: readonly string[], resources: readonly string[]): string {
  const named = asked.filter((resource) => resource !== '');
  const [resource = resources[0]] = named;
  if (named.length <= 1 && resource !== undefined && resources.includes(resource)) return resource;
  throw new OAuthError(
    'invalid_target',
    'The resource is not the URL of this endpoint; they are compared byte for byte',
  );
}

/**
 * Intersects the supported scopes with those of the request and of `limits`; undefined limits nothing. `offline_access` asks for a refresh
 * token, and these grants have none. @throws OAuthError `invalid_scope` when no scope is left of a restriction
 */
export function intersectScopes(
  asked: string | undefined,
  supported: readonly string[],
  limits: readonly (readonly string[] | undefined)[],
): readonly string[] {
  const given = [...limits, asked?.split(' ')].filter((scopes) => scopes !== undefined);
  const granted = supported.filter((one) => one !== 'offline_access' && given.every((scopes) => scopes.includes(one)));
  if (granted.length > 0 || given.length === 0) return granted;
  throw new OAuthError('invalid_scope', 'The client may have none of these scopes');
}
