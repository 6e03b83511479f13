import { z } from 'zod';
import { text } from '#crds/parts/primitives';
import { PermissionProfileDocument } from '#crds/parts/permission-profile';

const Text = z.string().max(65_536);
const LongText = z.string().max(1_048_576);
const Texts = z.array(Text).max(1_000);
const STATUSES = ['active', 'deprecated'] as const;
/** Registries use both cases; answers use lower case. */
const status = z.string().toLowerCase().pipe(z.enum(STATUSES)).meta({ enum: STATUSES });
const Port = z.int().min(0).max(65_535);

const given = {
  description: Text.optional().describe('What it is for.'),
  required: z.boolean().optional().describe('The server does not work without it.'),
  secret: z.boolean().optional().describe('Its value is a secret.'),
  default: Text.optional().describe('Value where none is given.'),
};

export const EnvVar = z.object({ name: text(256).describe('Name of the variable.'), ...given }).meta({ id: 'EnvVar' });

export const Header = z
  .object({
    name: text(256).describe('Name of the header.'),
    ...given,
    choices: Texts.optional().describe('Values that are accepted.'),
  })
  .meta({ id: 'Header' });

export const EntryMetadata = z
  .object({
    last_updated: Text.optional().describe('When the entry changed last, RFC 3339.'),
    stars: z.int().min(0).optional().describe('How popular its repository is.'),
    kubernetes: z
      .object({
        kind: Text.optional().describe('Kind of the object.'),
        name: Text.optional().describe('Its name.'),
        namespace: Text.optional().describe('Its namespace.'),
        uid: Text.optional().describe('Its uid.'),
        image: Text.optional().describe('Image that it runs.'),
        transport: Text.optional().describe('Transport.'),
      })
      .optional()
      .describe('The object of the cluster that the entry stands for.'),
  })
  .meta({ id: 'EntryMetadata' });

export const OAuthConfig = z
  .object({
    issuer: Text.optional().describe('Issuer of its tokens.'),
    authorize_url: Text.optional().describe('Where users log in, if there is no issuer to ask.'),
    token_url: Text.optional().describe('Where tokens are given out, if there is no issuer to ask.'),
    client_id: Text.optional().describe('OAuth client.'),
    scopes: Texts.optional().describe('Scopes to ask for.'),
    resource: Text.optional().describe('Resource that tokens are for (RFC 8707).'),
    oauth_params: z.record(z.string().max(256), Text).optional().describe('Further parameters of the authorization.'),
    callback_port: Port.optional().describe('Port of the callback on loopback.'),
    use_pkce: z.boolean().optional().describe('PKCE is used.'),
  })
  .meta({ id: 'OAuthConfig' });

export const Provenance = z
  .object({
    sigstore_url: Text.optional().describe('Host of the sigstore instance.'),
    repository_uri: Text.optional().describe('Source repository.'),
    repository_ref: Text.optional().describe('Ref that it was built from.'),
    signer_identity: Text.optional().describe('Who signed: the workflow, or an address.'),
    runner_environment: Text.optional().describe('Where it was built.'),
    cert_issuer: Text.optional().describe('Who told the certificate authority who signed.'),
    attestation: z
      .object({
        predicate_type: Text.optional().describe('Type of the predicate.'),
        predicate: z.unknown().optional().describe('What is attested.'),
      })
      .optional()
      .describe('What is attested besides.'),
  })
  .meta({ id: 'Provenance' });
export type Provenance = z.infer<typeof Provenance>;

const entry = {
  name: text(512).optional().describe('Name within its registry.'),
  title: Text.optional().describe('Name for people.'),
  description: Text.optional().describe('What it does, in a line.'),
  overview: LongText.optional().describe('What it does, on a page.'),
  status: status.optional().describe('Deprecated servers should not be used any more.'),
  tier: z.enum(['Official', 'Community']).optional().describe('Whether who runs the service also made the server.'),
  transport: z.enum(['stdio', 'sse', 'streamable-http']).optional().describe('Transport.'),
  tools: Texts.optional().describe('Names of its tools.'),
  tags: Texts.optional().describe('Words to find it by.'),
  env_vars: z.array(EnvVar).max(256).optional().describe('Environment variables that it takes.'),
  repository_url: Text.optional().describe('Where its source is.'),
  proxy_port: Port.optional().describe('Port that its own endpoint should have.'),
  metadata: EntryMetadata.optional(),
  custom_metadata: z.record(z.string().max(256), z.unknown()).optional().describe('Whatever else the registry says.'),
};

/** Server that runs from an image or a package (`npx://name@version`, `uvx://name@version`). */
export const ImageServer = z
  .object({
    ...entry,
    image: text(1_024).describe('Image reference, or npx:// or uvx:// and a package.'),
    args: Texts.optional().describe(
      'Arguments that it is usually started with. Given on, never applied by themselves.',
    ),
    docker_tags: Texts.optional().describe('Tags of the image.'),
    permissions: PermissionProfileDocument.optional().describe(
      'What it says it needs. Given on, never granted by itself.',
    ),
    provenance: Provenance.optional(),
    target_port: Port.optional().describe('Port that it listens on.'),
    stdio_process: z
      .enum(['shared', 'perSession'])
      .optional()
      .describe('perSession: it asks its client, or keeps a state of each session. On one machine only.'),
  })
  .meta({ id: 'ImageServer' });
export type ImageServer = z.infer<typeof ImageServer>;

export const RemoteServer = z
  .object({
    ...entry,
    url: text(2_048).describe('Its endpoint; a part in braces has to be filled in.'),
    headers: z.array(Header).max(256).optional().describe('Headers that it takes.'),
    oauth_config: OAuthConfig.optional(),
  })
  .meta({ id: 'RemoteServer' });
export type RemoteServer = z.infer<typeof RemoteServer>;
