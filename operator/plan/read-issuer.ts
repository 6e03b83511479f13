import { InlineOidc, secureUrl } from '#crds/parts/oidc-config';
import { type Read, readBlock } from './read-config-map-block.ts';

/** What it refers to is asked of whoever writes a resource; who writes a ConfigMap is asked nothing. */
const REFERENCES = ['clientSecretRef', 'caBundleRef'] as const;

/**
 * The issuer that a text of a ConfigMap says, or why it is not in force. http outside of loopback is refused here as well as inline:
 * the schema of the resource does not see a ConfigMap.
 */
export function readIssuer(text: string): Read<InlineOidc> {
  const read = readBlock(InlineOidc, text);
  if ('problems' in read) return read;
  const secure = secureUrl(['issuer'], ['insecureAllowHTTP']);
  if (!secure.holds(read.data)) return { problems: [`issuer: ${secure.message}`] };
  const referring = REFERENCES.find((name) => read.data[name] !== undefined);
  if (referring === undefined) return read;
  return { problems: [`${referring}: a ConfigMap refers to nothing: write the issuer in oidcConfig.inline`] };
}
