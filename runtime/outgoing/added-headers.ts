import type { HttpBackend } from '#crds/run-config/backend';
import type { SecretFiles } from '#runtime/secret-files';
import type { Log } from '#runtime/telemetry/log';
import { checkHeaderValue, isHeaderValue } from './static-header.ts';

interface AddedHeadersDeps {
  readonly backend: string;
  readonly files: Pick<SecretFiles, 'read'>;
  readonly log: Pick<Log, 'warn'>;
}

const NONE: readonly string[] = [];

/** Flat list of names and values, which follow their files. An invalid value does not replace a valid one. @throws ConfigError for one */
export function addedHeaders(
  { add_plaintext_headers: texts, add_header_files: byName }: HttpBackend['header_forward'],
  { backend, files, log }: AddedHeadersDeps,
): () => readonly string[] {
  const plain = Object.entries(texts).flatMap(([name, value]) => [name.toLowerCase(), value]);
  const secret = Object.entries(byName).map(([name, file]) => ({
    name: name.toLowerCase(),
    file,
    value: checkHeaderValue(files.read(file), file, backend),
    seen: files.read(file),
  }));
  if (secret.length === 0) return plain.length === 0 ? () => NONE : () => plain;
  return () => [
    ...plain,
    ...secret.flatMap((header) => {
      const now = files.read(header.file);
      if (now !== header.seen) {
        header.seen = now;
        if (isHeaderValue(now)) header.value = now;
        else log.warn('secret file holds no usable header value; the one before stays', { backend, file: header.file });
      }
      return [header.name, header.value];
    }),
  ];
}
