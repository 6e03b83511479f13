import { z } from 'zod';
import { text } from '#crds/parts/primitives';
import { Condition } from '#crds/parts/conditions';
import { PermissionProfileDocument } from '#crds/parts/permission-profile';
import { ResourceName } from '#crds/parts/object-meta';
import { flag } from '../flag.ts';
import { NEXT_CURSOR, PAGING } from '../paging.ts';
import { recordedFields } from './recorded.ts';
import { Header, OAuthConfig } from './registry-entry.ts';

const Text = z.string().max(65_536);
const Texts = z.array(Text).max(1000);
const Port = z.int().min(1).max(65_535);
/** 0 stands for no port. */
const WantedPort = z.int().min(0).max(65_535);
const TextMap = z.record(z.string().max(256), Text);

const WORKLOAD_STATUSES = [
  'running',
  'stopped',
  'error',
  'starting',
  'stopping',
  'unhealthy',
  'removing',
  'unknown',
  'unauthenticated',
] as const;
export const WorkloadStatus = z.enum(WORKLOAD_STATUSES);
export type WorkloadStatus = z.infer<typeof WorkloadStatus>;

const Transport = z.enum(['stdio', 'sse', 'streamable-http']);
const ProxyMode = z.enum(['sse', 'streamable-http']);

export const WorkloadSummary = z
  .strictObject({
    name: z.string().describe('Its name.'),
    status: WorkloadStatus.describe('How it is.'),
    status_context: z.string().describe('Why, and what to do; empty where there is nothing to say.'),
    package: z.string().describe('Image or program that it runs; empty for a remote one.'),
    remote: z.boolean().describe('It runs elsewhere.'),
    transport_type: Transport.describe('Transport.'),
    proxy_mode: ProxyMode.describe('What its endpoint speaks.'),
    group: z.string().describe('Its group; empty for none.'),
    labels: TextMap.describe('Labels of its resource.'),
    tools: Texts.describe('The only tools that are offered; empty: all.'),
    url: z.string().optional().describe('Where it is reached, once it is.'),
    port: Port.optional().describe('Port of that.'),
    created_at: z.string().optional().describe('RFC 3339, where known.'),
    started_at: z.string().optional().describe('Since when it is ready, RFC 3339.'),
  })
  .meta({ id: 'WorkloadSummary' });
export type WorkloadSummary = z.infer<typeof WorkloadSummary>;

export const WorkloadList = z.strictObject({
  workloads: z.array(WorkloadSummary),
  next_cursor: NEXT_CURSOR,
});

/** Reference to a secret (`<secret>/<key>`) with the environment variable that receives its value. */
const SecretTarget = z.strictObject({
  name: z.string().max(512).describe('Reference: <secret>/<key>.'),
  target: z.string().max(256).optional().describe('Environment variable that gets the value; default the key.'),
});
type SecretTarget = z.infer<typeof SecretTarget>;

const HeaderForward = z.strictObject({
  add_plaintext_headers: TextMap.optional().describe('Header to value.'),
  add_headers_from_secret: TextMap.optional().describe('Header to reference: <secret>/<key>.'),
});

const Oidc = z.strictObject({
  issuer: Text.optional().describe('Issuer of the tokens.'),
  audience: Text.optional().describe('`aud` that a token must have.'),
  client_id: Text.optional().describe('Client for introspection.'),
  client_secret: Text.optional().describe('Reference: <secret>/<key>.'),
  introspection_url: Text.optional().describe('Introspection endpoint.'),
  jwks_url: Text.optional().describe('Key set.'),
  scopes: Texts.optional().describe('Scopes that every token must have.'),
});

const RemoteOAuth = z.strictObject({
  ...OAuthConfig.shape,
  bearer_token: SecretTarget.optional().describe('A fixed token in place of any login.'),
  client_secret: SecretTarget.optional().describe('Client secret.'),
  skip_browser: z.boolean().optional().describe('The login is not opened in a browser by itself.'),
});

/** GET's answer can be sent back without effect. An absent field stays; an empty one (`""`, `[]`, `{}`, null, port 0) is removed. */
export const WorkloadDetail = z
  .strictObject({
    name: z.string().max(63).optional().describe('Its name; it cannot be changed.'),
    image: z.string().max(1024).optional().describe('Container image.'),
    command: z
      .array(z.string().max(4096))
      .max(256)
      .optional()
      .describe('Program to start, with its arguments; beside an image, in it.'),
    url: z.string().max(2048).optional().describe('URL of a remote server.'),
    group: z.string().max(253).optional().describe('Its group.'),
    transport: Transport.optional().describe('Transport.'),
    host: z.string().max(253).optional().describe('Address that its own endpoint listens on; read only.'),
    proxy_mode: ProxyMode.optional().describe('What its own endpoint speaks.'),
    proxy_port: WantedPort.optional().describe('Port of its own endpoint; 0 takes it away.'),
    target_port: WantedPort.optional().describe('Port that the program listens on; 0 takes it away.'),
    stdio_process: z
      .enum(['shared', 'perSession'])
      .optional()
      .describe('One process for all sessions or one for each; perSession on one machine only.'),
    cmd_arguments: Texts.optional().describe('Arguments of the program.'),
    env_vars: TextMap.optional().describe('Environment variables. Secrets stand under `secrets`.'),
    secrets: z.array(SecretTarget).max(256).optional().describe('Environment variables that are secrets.'),
    volumes: Texts.optional().describe('<folder of the machine>:<folder that the program sees>[:ro]'),
    tools: Texts.optional().describe('The only tools that are offered, by original name.'),
    tools_override: z
      .record(
        z.string().max(256),
        z.strictObject({ name: z.string().max(256).optional(), description: Text.optional() }),
      )
      .optional()
      .describe('Original tool name to what replaces its own texts.'),
    headers: z.array(Header.strict()).max(256).optional().describe('Headers that a remote server takes; recorded.'),
    header_forward: HeaderForward.optional().describe('Headers that are added to requests to it.'),
    network_isolation: z.boolean().optional().describe('It may not reach every address.'),
    permission_profile: PermissionProfileDocument.optional().describe(
      'Hosts that the server may reach, and folders that it may read and write.',
    ),
    authz_config: z.string().max(1_048_576).optional().describe('Cedar policies, a JSON text.'),
    oidc: Oidc.optional().describe('Whose tokens its own endpoint lets in.'),
    oauth_config: RemoteOAuth.optional().describe('How vmcp logs in at a remote server.'),
    trust_proxy_headers: z.boolean().optional().describe('Forwarding headers of trusted proxies count.'),
    publish: Texts.optional().describe('More ports of its container: [address:][port here:]port there.'),
    allow_docker_gateway: z.boolean().optional().describe('Its container knows the machine as host.docker.internal.'),
    env_file_dir: Text.optional().describe('Folder of the machine with files of variables for its container.'),
    debug: z.boolean().optional().describe('Its own endpoint logs in detail.'),
    ...recordedFields,
  })
  .meta({ id: 'WorkloadDetail' });
export type WorkloadDetail = z.infer<typeof WorkloadDetail>;

type Nullable<S extends z.core.$ZodShape> = { [K in keyof S]: z.ZodNullable<S[K]> };

function nullable<S extends z.core.$ZodShape>(shape: S): Nullable<S> {
  return Object.fromEntries(Object.entries(shape).map(([name, field]) => [name, z.nullable(field)])) as Nullable<S>;
}

/** null removes a field, as an empty value does. */
export const WorkloadEdit = z.strictObject(nullable(WorkloadDetail.shape)).meta({ id: 'WorkloadEdit' });
export type WorkloadEdit = z.infer<typeof WorkloadEdit>;

/** On one machine a command may replace the image. */
export const NewWorkload = z
  .strictObject({
    ...WorkloadDetail.shape,
    name: ResourceName.optional().describe('Its name; of a registry_entry by default the last part of that.'),
    registry_entry: text(512)
      .optional()
      .describe(
        'Server of the default registry that it is made of: where neither image, command nor url is sent, the entry says what runs. Where it says who signs its image, signatures are verified, and an image whose signature holds is pinned by its digest.',
      ),
  })
  .meta({ id: 'NewWorkload' });
export type NewWorkload = z.infer<typeof NewWorkload>;

const WARNINGS = z
  .array(z.string())
  .optional()
  .describe('What is accepted and has no effect here, a line each; absent where there is nothing.');

export const WorkloadChanged = z
  .strictObject({
    name: z.string().describe('Its name.'),
    port: z.int().min(0).max(65_535).describe('Port of its own endpoint; 0 where it has none, or not yet.'),
    warnings: WARNINGS,
  })
  .meta({ id: 'WorkloadChanged' });

export const WorkloadMade = z
  .strictObject({
    ...WorkloadChanged.shape,
    image_context: z
      .string()
      .optional()
      .describe(
        'What the signatures of its image show, as status_context says it; absent where nothing says who signs it.',
      ),
  })
  .meta({ id: 'WorkloadMade' });

export const WorkloadReport = z
  .strictObject({
    name: z.string().describe('Its name.'),
    status: WorkloadStatus.describe('How it is.'),
    status_context: z.string().describe('Why, and what to do; empty where there is nothing to say.'),
    conditions: z.array(Condition).describe('What is the case with its resource, and what to do.'),
    warnings: WARNINGS,
  })
  .meta({ id: 'WorkloadReport' });
export type WorkloadReport = z.infer<typeof WorkloadReport>;

export const WorkloadInPath = z.strictObject({ name: text(253).describe('Name of a workload.') });

export const WorkloadsWanted = z.strictObject({
  all: flag('Also those that do not run.'),
  group: text(253).optional().describe('Only those of this group.'),
  ...PAGING,
});

export const WorkloadForced = z.strictObject({
  force: flag(
    'Takes fields over that another manager owns, writes a manifest anew that cannot be edited, and accepts isolation that nothing enforces.',
  ),
});

export const LogsWanted = z.strictObject({
  lines: z.coerce.number().int().min(0).max(10_000).default(100).describe('Lines of the past.'),
  follow: flag('Goes on with what is written from now on.'),
});
