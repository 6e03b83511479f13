import { isAbsolute } from 'node:path';
import { z } from 'zod';
import { HttpUrl, IdentifierUrl, Scopes, text } from '#crds/parts/primitives';

/** A text may match the pattern without being a URL, such as `https://[`. */
const NO_URL = 'not a URL; write for example https://host.example/path';
const Source = HttpUrl.refine((url) => URL.canParse(url), NO_URL);

const Auth = z.strictObject({
  issuer: IdentifierUrl.refine((url) => URL.canParse(url), NO_URL).describe('Issuer of the tokens.'),
  client_id: text(512).describe('OAuth client that vmcp is.'),
  client_secret_ref: text(512)
    .regex(
      /^[a-z0-9]([-.a-z0-9]*[a-z0-9])?\/[-._a-zA-Z0-9]+$/,
      'not a reference; write `<secret>/<key>`, never the secret itself',
    )
    .optional()
    .describe(
      'Secret of the client as `<secret>/<key>`, of what is stored by this API `vmcp-secrets/<key>`: vmcp logs in as itself. ' +
        'Without it a person logs in, on another device.',
    ),
  audience: text(2048).optional().describe('What the tokens are for.'),
  scopes: Scopes.optional().describe('Scopes to ask for.'),
});

const ONE_SOURCE = 'url, api_url and local_path exclude each other; write one, or none for what vmcp brings along';

const ABSOLUTE = 'not an absolute path; write it from the root';

/** A record without a source means the built-in registry. */
export const RegistrySettings = z
  .strictObject({
    url: Source.optional().describe('A registry file.'),
    api_url: Source.optional().describe('A registry that speaks the API of the official one (v0.1).'),
    local_path: text(4096)
      .regex(/^(\/|[A-Za-z]:[\\/])/, ABSOLUTE)
      .refine(isAbsolute, ABSOLUTE)
      .optional()
      .describe('A registry file of this machine; not in a cluster.'),
    allow_private_ip: z
      .boolean()
      .default(false)
      .describe('The registry and its issuer may be at private addresses, and there may speak plain http.'),
    auth: Auth.optional().describe('How vmcp logs in there.'),
  })
  .refine(({ url, api_url, local_path }) => [url, api_url, local_path].filter(Boolean).length <= 1, {
    error: ONE_SOURCE,
    path: ['url'],
  })
  .refine(({ url, api_url, auth }) => auth === undefined || url !== undefined || api_url !== undefined, {
    error: 'a login is for url and api_url only; remove it, or write one of them',
    path: ['auth'],
  })
  .meta({
    allOf: [
      { not: { required: ['url', 'api_url'] } },
      { not: { required: ['url', 'local_path'] } },
      { not: { required: ['api_url', 'local_path'] } },
    ],
    dependentSchemas: { auth: { anyOf: [{ required: ['url'] }, { required: ['api_url'] }] } },
  });
export type RegistrySettings = z.infer<typeof RegistrySettings>;

export function secretOf(reference: string): { name: string; key: string } {
  const [name = '', key = ''] = reference.split('/');
  return { name, key };
}

export function sourceOf(settings: RegistrySettings): { type: 'default' | 'file' | 'url' | 'api'; source: string } {
  if (settings.url !== undefined) return { type: 'url', source: settings.url };
  if (settings.api_url !== undefined) return { type: 'api', source: settings.api_url };
  if (settings.local_path !== undefined) return { type: 'file', source: settings.local_path };
  return { type: 'default', source: '' };
}
