/** Parameters of a Bearer challenge that lead to a token (RFC 6750 §3, RFC 9728 §5.1). */
export interface Challenge {
  readonly resourceMetadata: string | undefined;
  readonly scopes: readonly string[] | undefined;
}

/** Parameters `name=value` or `name="value"` (RFC 9110 §11.2). */
const PARAMETER = /([A-Za-z_-]+)\s*=\s*(?:"((?:[^"\\]|\\.)*)"|([^\s,"]+))/g;
const LONGEST = 8192;

export function readChallenge(header: string | undefined): Challenge | undefined {
  const text = header?.slice(0, LONGEST) ?? '';
  const at = text.search(/(^|[\s,])bearer(\s|$)/i);
  if (at < 0) return undefined;
  const parameters = parametersOf(text.slice(at));
  const scopes = (parameters.get('scope') ?? '').split(' ').filter(Boolean);
  return { resourceMetadata: parameters.get('resource_metadata'), scopes: scopes.length > 0 ? scopes : undefined };
}

/** Returns parameters by name in lower case. On duplicate names, the first one wins. */
function parametersOf(text: string): Map<string, string> {
  const found = [...text.matchAll(PARAMETER)].map(([, name = '', quoted, plain = '']) => {
    return [name.toLowerCase(), quoted?.replaceAll(/\\(.)/g, '$1') ?? plain] as const;
  });
  return new Map(found.reverse());
}
