import { z } from 'zod';
import {
  AddedHeaderName,
  DnsLabel,
  durationBetween,
  EnvName,
  HEADER_VALUE,
  HttpUrl,
  ObjectName,
  Port,
  Scopes,
  text,
} from './primitives.ts';
import { listByKey, mapOf } from './collections.ts';
import { DEFAULTS } from './defaults.ts';
import { CaBundleRef, SecretKeyRef } from './references.ts';
import { needs, type Rule, withRules } from './rule.ts';

export const EnvVars = listByKey(
  z.strictObject({
    name: EnvName.describe('Name of the variable.'),
    value: z.string().max(32_768).default('').describe('Its value. Secrets are references: see secrets.'),
  }),
  256,
  'name',
);

const AbsolutePath = z.string().max(4096).regex(/^\//, 'not an absolute path; write it from /');

/** Rejects names that a container engine would parse as an option. */
export const Image = z
  .string()
  .max(1024)
  .regex(/^[A-Za-z0-9][!-~]*$/, 'not an image reference; write for example ghcr.io/owner/name:1.0');

export const EnvSecrets = listByKey(
  z
    .strictObject({
      name: ObjectName.describe('Name of the Secret.'),
      key: SecretKeyRef.shape.key,
      targetEnvName: EnvName.optional().describe('Environment variable that gets it; default the key.'),
    })
    .meta({ refersTo: 'Secret' }),
  256,
  'name',
  'key',
);

export const Volumes = listByKey(
  z.strictObject({
    name: DnsLabel.describe('Name of the volume.'),
    hostPath: AbsolutePath.describe('Folder of the machine.'),
    mountPath: AbsolutePath.describe('Path inside the container.'),
    readOnly: z.boolean().default(false).describe('The workload may not write.'),
  }),
  64,
  'name',
);

const BYTE = '(25[0-5]|2[0-4][0-9]|1?[0-9]{1,2})';
const ADDRESS = `(${BYTE}(\\.${BYTE}){3}|\\[[0-9A-Fa-f:.]{2,45}\\])`;
const PORT = '(6553[0-5]|655[0-2][0-9]|65[0-4][0-9]{2}|6[0-4][0-9]{3}|[1-5][0-9]{4}|[1-9][0-9]{0,3})';
const PUBLISHED = new RegExp(`^(${ADDRESS}:)?(${PORT}:)?${PORT}(/(tcp|udp))?$`);

/** Published ports of a container in the form of engines: `[address:][host port:]container port[/tcp|udp]`. */
export const PublishedPorts = z
  .array(
    z
      .string()
      .max(80)
      .regex(
        PUBLISHED,
        'not a published port; write <port of the machine>:<port of the container>, for example 8080:80',
      ),
  )
  .max(64);

export const EnvFileFolder = AbsolutePath;

const HeaderValue = z
  .string()
  .max(8192)
  .regex(HEADER_VALUE, 'not the value of a header; write no line breaks and no control characters');

export const HeaderForward = z.strictObject({
  addPlaintextHeaders: mapOf(AddedHeaderName, HeaderValue, 64)
    .optional()
    .describe('Header name to value, added to each request to the backend.'),
  addHeadersFromSecret: mapOf(AddedHeaderName, SecretKeyRef, 64)
    .optional()
    .describe('Header name to the Secret key with its value.'),
});

const Profile = z.strictObject({
  type: z.enum(['builtin', 'configmap']).describe('Source of the profile.'),
  name: ObjectName.describe('`none` or `network` with builtin; else name of the ConfigMap.'),
  key: text(253).optional().describe('Key of the ConfigMap.'),
});

const profileRule: Rule<z.infer<typeof Profile>> = {
  at: ['name'],
  message: 'type builtin has the profiles none and network and no key, type configmap needs a key; write accordingly',
  holds: ({ type, name, key }) =>
    type === 'builtin' ? (name === 'none' || name === 'network') && key === undefined : key !== undefined,
  cel: "self.type == 'builtin' ? self.name in ['none', 'network'] && !has(self.key) : has(self.key)",
};

export const PermissionProfile = withRules(Profile, profileRule);

const Texts = mapOf(text(317), z.string().max(8192), 64);

export const ResourceOverrides = z.strictObject({
  proxyDeployment: z
    .strictObject({
      labels: Texts.optional().describe('More labels.'),
      annotations: Texts.optional().describe('More annotations.'),
      podLabels: Texts.optional().describe('More labels of its pods.'),
      podAnnotations: Texts.optional().describe('More annotations of its pods.'),
      env: EnvVars.optional().describe('More environment variables of its container.'),
    })
    .optional()
    .describe('The Deployment of the proxy.'),
  proxyService: z
    .strictObject({
      labels: Texts.optional().describe('More labels.'),
      annotations: Texts.optional().describe('More annotations.'),
    })
    .optional()
    .describe('The Service of the proxy.'),
});

export const RemoteAuth = withRules(
  z.strictObject({
    issuer: HttpUrl.optional().describe('Issuer; absent: the challenge of the server says it.'),
    authorizeUrl: HttpUrl.optional().describe('Authorization endpoint; absent: found by discovery.'),
    tokenUrl: HttpUrl.optional().describe('Token endpoint; absent: found by discovery.'),
    clientId: text(512).optional().describe('Client identifier; absent: vmcp registers itself.'),
    clientSecretRef: SecretKeyRef.optional().describe('Client secret.'),
    bearerTokenSecretRef: SecretKeyRef.optional().describe('A fixed token in place of any login.'),
    scopes: Scopes.optional().describe('Scopes that are asked for.'),
    resource: HttpUrl.optional().describe('Resource indicator (RFC 8707); default remoteUrl.'),
    oauthParams: mapOf(text(256), z.string().max(2048), 32)
      .optional()
      .describe('More parameters of the authorization request.'),
    usePkce: z.boolean().default(true).describe('Use PKCE (RFC 7636).'),
    callbackPort: Port.optional().describe('Port of the callback on this machine.'),
    timeout: durationBetween('1s', '1h')
      .default(DEFAULTS.remoteLoginTimeout)
      .describe('Longest time that the login may take.'),
    administrators: z
      .array(text(512))
      .max(100)
      .optional()
      .describe('Subjects who may log in at /connections; the token is one shared identity.'),
  }),
  needs(['clientSecretRef'], ['clientId']),
);

const Webhook = z.strictObject({
  name: DnsLabel.describe('Name in logs and audit events.'),
  url: HttpUrl.describe('URL of the webhook.'),
  timeout: durationBetween('1s', '30s')
    .default(DEFAULTS.webhookTimeout)
    .describe('Longest time to wait for its answer.'),
  failurePolicy: z
    .enum(['fail', 'ignore'])
    .default('fail')
    .describe('Refuse the call or let it through when the webhook fails.'),
  hmacSecretRef: SecretKeyRef.optional().describe('Secret that signs the request (HMAC-SHA256).'),
  tls: withRules(
    z.strictObject({
      caBundleRef: CaBundleRef.optional().describe('Authorities of the webhook; with it only these count.'),
      clientCertSecretRef: SecretKeyRef.optional().describe('Client certificate.'),
      clientKeySecretRef: SecretKeyRef.optional().describe('Key of the client certificate.'),
      insecureSkipVerify: z.boolean().default(false).describe('Do not check the certificate: development only.'),
    }),
    needs(['clientCertSecretRef'], ['clientKeySecretRef']),
    needs(['clientKeySecretRef'], ['clientCertSecretRef']),
  )
    .optional()
    .describe('TLS towards the webhook.'),
});

export const Webhooks = z.strictObject({
  validating: listByKey(Webhook, 16, 'name').optional().describe('Asked before each tools/call, in this order.'),
});
