import { z } from 'zod';
import { mapOf } from './collections.ts';

/** Traces and metrics. The same shape in a resource and in a run configuration. */
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
