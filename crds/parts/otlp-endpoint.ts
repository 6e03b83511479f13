import type { TelemetryConfig } from './telemetry.ts';

const PATH = '/v1/traces';

/** Returns the URL for spans over OTLP/HTTP, or the problem with its remedy. Defaults: https (http with `insecure`) and OTLP's path. */
export function readTracesUrl({
  endpoint,
  insecure,
}: Pick<TelemetryConfig, 'endpoint' | 'insecure'>): { readonly url: string } | { readonly problem: string } {
  if (endpoint === undefined)
    return { problem: 'tracingEnabled needs endpoint: write the OTLP/HTTP URL of a collector' };
  const text = endpoint.includes('://') ? endpoint : `${insecure ? 'http' : 'https'}://${endpoint}`;
  if (!URL.canParse(text)) return { problem: 'endpoint is no URL: write https://host:4318, with a path if it has one' };
  const url = new URL(text);
  if (url.protocol !== 'https:' && url.protocol !== 'http:')
    return { problem: 'endpoint has another scheme: write the https (or http) URL of OTLP/HTTP' };
  if (url.protocol === 'http:' && !insecure) return { problem: 'endpoint is http: write https, or insecure: true' };
  if (url.username !== '' || url.password !== '') return { problem: 'endpoint holds a password: write it in headers' };
  if (url.pathname === '/') url.pathname = PATH;
  return { url: url.href };
}
