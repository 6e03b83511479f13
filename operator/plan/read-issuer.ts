import { InlineOidc, secureUrl } from '#crds/parts/oidc-config';
import { type Read, readBlock } from './read-config-map-block.ts';

/** References need the right to their targets. The API server checks this for the writer of a resource, not of a ConfigMap. */
const REFERENCES = ['clientSecretRef', 'caBundleRef'] as const;

/** Reads an issuer from a ConfigMap's text. Rejects http outside of loopback here, as the resource's schema does not see a ConfigMap. */
export function readIssuer(text: string): Read<InlineOidc> {
  const read = readBlock(InlineOidc, text);
  if ('problems' in read) return read;
  const secure = secureUrl(['issuer'], ['insecureAllowHTTP']);
  if (!secure.holds(read.data)) return { problems: [`issuer: ${secure.message}`] };
  const referring = REFERENCES.find((name) => read.data[name] !== undefined);
  if (referring === undefined) return read;
  return { problems: [`${referring}: a ConfigMap refers to nothing: write the issuer in oidcConfig.inline`] };
}
