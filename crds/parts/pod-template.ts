import { z } from 'zod';

// The parts of a pod template that vmcp checks. The API server checks the others.

const Named = z.looseObject({ name: z.string().optional() });

const SecurityContext = z.looseObject({
  privileged: z.boolean().optional(),
  allowPrivilegeEscalation: z.boolean().optional(),
  runAsNonRoot: z.boolean().optional(),
  runAsUser: z.int().optional(),
  procMount: z.string().optional(),
  capabilities: z.looseObject({ add: z.array(z.string()).optional(), drop: z.array(z.string()).optional() }).optional(),
  seccompProfile: z.looseObject({ type: z.string().optional() }).optional(),
  appArmorProfile: z.looseObject({ type: z.string().optional() }).optional(),
  seLinuxOptions: z
    .looseObject({ type: z.string().optional(), user: z.string().optional(), role: z.string().optional() })
    .optional(),
  windowsOptions: z.looseObject({ hostProcess: z.boolean().optional() }).optional(),
});
export type SecurityContext = z.infer<typeof SecurityContext>;

const Host = z.looseObject({ host: z.string().optional() });
const Handler = z.looseObject({
  exec: z.looseObject({}).optional(),
  httpGet: Host.optional(),
  tcpSocket: Host.optional(),
});

const Container = z.looseObject({
  name: z.string(),
  image: z.string().optional(),
  command: z.array(z.string()).optional(),
  args: z.array(z.string()).optional(),
  env: z
    .array(
      z.looseObject({
        name: z.string(),
        value: z.string().optional(),
        valueFrom: z.looseObject({ secretKeyRef: Named.optional() }).optional(),
      }),
    )
    .optional(),
  envFrom: z.array(z.looseObject({ secretRef: Named.optional(), configMapRef: Named.optional() })).optional(),
  livenessProbe: Handler.optional(),
  readinessProbe: Handler.optional(),
  startupProbe: Handler.optional(),
  lifecycle: z.looseObject({ postStart: Handler.optional(), preStop: Handler.optional() }).optional(),
  ports: z.array(z.looseObject({ hostPort: z.int().optional() })).optional(),
  volumeMounts: z.array(z.looseObject({ name: z.string() })).optional(),
  volumeDevices: z.array(z.looseObject({})).optional(),
  securityContext: SecurityContext.optional(),
});
export type PodContainer = z.infer<typeof Container>;

const Volume = z.looseObject({
  name: z.string(),
  secret: z.looseObject({ secretName: z.string().optional() }).optional(),
  projected: z
    .looseObject({
      sources: z
        .array(z.looseObject({ secret: Named.optional(), serviceAccountToken: z.looseObject({}).optional() }))
        .optional(),
    })
    .optional(),
  csi: z.looseObject({ nodePublishSecretRef: Named.optional() }).optional(),
  ephemeral: z
    .looseObject({ volumeClaimTemplate: z.looseObject({ spec: z.looseObject({}).optional() }).optional() })
    .optional(),
});
export type PodVolume = z.infer<typeof Volume>;

export const PodTemplate = z.looseObject({
  metadata: z
    .looseObject({
      labels: z.record(z.string(), z.string()).optional(),
      annotations: z.record(z.string(), z.string()).optional(),
    })
    .optional(),
  spec: z.looseObject({
    serviceAccountName: z.string().optional(),
    serviceAccount: z.string().optional(),
    automountServiceAccountToken: z.boolean().optional(),
    hostNetwork: z.boolean().optional(),
    hostPID: z.boolean().optional(),
    hostIPC: z.boolean().optional(),
    shareProcessNamespace: z.boolean().optional(),
    securityContext: SecurityContext.extend({
      sysctls: z.array(z.looseObject({ name: z.string() })).optional(),
    }).optional(),
    containers: z.array(Container),
    initContainers: z.array(Container).optional(),
    volumes: z.array(Volume).optional(),
  }),
});
export type PodTemplate = z.infer<typeof PodTemplate>;
