import { readTracesUrl } from '#crds/parts/otlp-endpoint';
import type { Telemetry } from '#crds/parts/telemetry';
import type { RunConfigDocument } from '#crds/run-config/run-config';
import { Stalled } from '../errors.ts';
import { defined } from './defined.ts';
import { type FileList, HEADER_FLAWS } from './file-list.ts';

/** Renders traces and metrics of a server. @throws Stalled if the written settings cannot send spans */
export function renderTelemetry(
  telemetry: Telemetry | undefined,
  files: FileList,
): RunConfigDocument['telemetry_config'] {
  if (!telemetry) return undefined;
  const { headersFromSecret = {}, caBundleRef, ...settings } = telemetry;
  const place = settings.tracingEnabled ? readTracesUrl(settings) : undefined;
  if (place && 'problem' in place) throw new Stalled('InvalidSpec', `telemetry: ${place.problem}`);
  const secret = Object.entries(headersFromSecret).map(
    ([name, reference]) => [name, files.secret(reference, 'telemetry.headersFromSecret', HEADER_FLAWS)] as const,
  );
  return defined({
    ...settings,
    header_files: secret.length === 0 ? undefined : Object.fromEntries(secret),
    ca_bundle_file: caBundleRef && files.authorities(caBundleRef, 'telemetry.caBundleRef'),
  });
}
