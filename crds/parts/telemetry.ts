import { z } from 'zod';
import { text } from './primitives.ts';
import { mapOf } from './collections.ts';
import { CaBundleRef, SecretKeyRef } from './references.ts';

export const TelemetryConfig = z.strictObject({
  endpoint: z.string().max(2048).optional().describe('OTLP/HTTP endpoint for traces.'),
  serviceName: z.string().max(253).optional().describe('service.name; default the server name.'),
  serviceVersion: z.string().max(64).optional().describe('service.version; default the program version.'),
  tracingEnabled: z.boolean().default(false).describe('Export spans.'),
  metricsEnabled: z.boolean().default(true).describe('Count and time requests.'),
  samplingRate: z
    .string()
    .max(16)
    .regex(/^(0(\.\d+)?|1(\.0+)?)$/)
    .default('0.05')
    .describe('Share of requests that are traced, 0 to 1.'),
  headers: mapOf(z.string().max(256), z.string().max(4096), 64).optional().describe('Headers of the export requests.'),
  insecure: z.boolean().default(false).describe('Allow an http endpoint.'),
  enablePrometheusMetricsPath: z.boolean().default(true).describe('Serve /metrics on the private port.'),
  environmentVariables: z
    .array(z.string().max(256))
    .max(64)
    .optional()
    .describe('Environment variables added to each span.'),
  customAttributes: mapOf(z.string().max(256), z.string().max(1024), 64)
    .optional()
    .describe('Attributes added to each span.'),
  useLegacyAttributes: z.boolean().default(false).describe('Also set attribute names of older semantic conventions.'),
});
export type TelemetryConfig = z.infer<typeof TelemetryConfig>;

/** The form of a resource, with references to secrets. */
export const Telemetry = TelemetryConfig.extend({
  headersFromSecret: mapOf(z.string().max(256), SecretKeyRef, 64)
    .optional()
    .describe('Header of the export requests to the Secret key with its value.'),
  caBundleRef: CaBundleRef.optional().describe('Authorities of the collector; with it only these count.'),
});
export type Telemetry = z.infer<typeof Telemetry>;

/** The form of the run configuration, with paths of secret files. */
export const TelemetryRunConfig = TelemetryConfig.extend({
  header_files: mapOf(z.string().max(256), text(4096), 64)
    .default({})
    .describe('Header of the export requests to the file with its value.'),
  ca_bundle_file: text(4096).optional().describe('Authorities of the collector, PEM; with it only these count.'),
});
