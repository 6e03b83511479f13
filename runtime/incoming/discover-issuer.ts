import { z } from 'zod';
import { IdpUnavailable, NotFound, type JsonClient } from './json-client.ts';

const Url = z.url().max(2048);
/** The required members of OpenID Connect Discovery 1.0 §3 and RFC 8414 §2. */
const IssuerMetadata = z.object({
  issuer: z.string(),
  jwks_uri: Url.optional(),
  introspection_endpoint: Url.optional(),
});
export type IssuerMetadata = z.infer<typeof IssuerMetadata>;

/** Returns the first document at the well-known URLs with exactly this issuer (RFC 8414 §3.3: byte for byte). @throws IdpUnavailable */
export async function discoverIssuer(issuer: string, client: JsonClient): Promise<IssuerMetadata> {
  let last: unknown;
  for (const place of metadataUrls(issuer)) {
    try {
      return checkMetadata(await client.get(place), issuer);
    } catch (error) {
      if (!(error instanceof NotFound)) throw error;
      last = error;
    }
  }
  throw new IdpUnavailable(`${new URL(issuer).host} publishes no metadata for its issuer`, { cause: last });
}

/** Returns the metadata URLs. OpenID Connect appends to the issuer; RFC 8414 §3.1 inserts before its path. */
export function metadataUrls(issuer: string): string[] {
  const { origin, pathname } = new URL(issuer);
  const path = pathname.replace(/\/$/, '');
  return [
    ...new Set([
      `${origin}${path}/.well-known/openid-configuration`,
      `${origin}/.well-known/oauth-authorization-server${path}`,
      `${origin}/.well-known/openid-configuration${path}`,
    ]),
  ];
}

function checkMetadata(document: unknown, issuer: string): IssuerMetadata {
  const { host } = new URL(issuer);
  const parsed = IssuerMetadata.safeParse(document);
  if (!parsed.success) throw new NotFound(`${host} published metadata that is not an issuer's`);
  if (parsed.data.issuer !== issuer) {
    throw new IdpUnavailable(`${host} calls itself another issuer than configured; compare the two byte for byte`);
  }
  return parsed.data;
}
