import { createHash } from 'node:crypto';
import { readFile } from 'node:fs/promises';
import { resolve } from 'node:path';
import { gunzipSync } from 'node:zlib';
import { z } from 'zod';
import { pathText, problemText, tellSome } from '#crds/parts/explain';
import { readRunConfig } from '#crds/run-config/read-run-config';
import { RUN_CONFIG_VERSION, type RunConfig } from '#crds/run-config/run-config';
import { ConfigError } from '#runtime/errors';
import { listFiles, type NamedFile } from './list-files.ts';
import type { ListedFiles } from './listed-files.ts';
import { type ReadDocument, readDocument } from './read-document.ts';
import { readProblem } from './secret-files.ts';

/** About ten times the size limit of a ConfigMap. */
const MAX_BYTES = 16 * 1024 * 1024;

export interface LoadedRunConfig {
  readonly config: RunConfig;
  /** SHA-256 (hex) of the file's bytes. */
  readonly digest: string;
  readonly files: readonly NamedFile[];
}

export interface ParsedRunConfig extends LoadedRunConfig {
  /** @throws ConfigError that names each file that `read` cannot read, with its place in the document */
  readonly checkFiles: (read: (file: string) => unknown) => void;
}

/** Checks that files outside of backends and providers are readable. @throws ConfigError, one line `file:line path: problem` for each */
export async function loadRunConfig(
  file: string,
  read: (file: string) => unknown,
  listed?: ListedFiles,
): Promise<LoadedRunConfig> {
  const parsed = await parseRunConfig(file, listed);
  parsed.checkFiles(read);
  return parsed;
}

/** Reads a run configuration without reading the files that it names. @throws ConfigError */
export async function parseRunConfig(file: string, listed?: ListedFiles): Promise<ParsedRunConfig> {
  const bytes = await readBytes(file);
  listed?.check(resolve(file), bytes);
  const document = readDocument(unpack(bytes, file).toString('utf8'), file);
  checkVersion(document, file);
  const { config, problems } = readRunConfig(document.value, { file, lineOf: document.lineOf });
  const refused = problems.filter(({ concernsAll }) => concernsAll);
  if (config === undefined || refused.length > 0) throw new ConfigError(tellSome(refused).join('\n'));
  const files = listFiles(config);
  return {
    config,
    digest: createHash('sha256').update(bytes).digest('hex'),
    files,
    checkFiles: (read) => checkFiles(files.filter(isOfAll), read, document, file),
  };
}

async function readBytes(file: string): Promise<Buffer> {
  let bytes: Buffer;
  try {
    bytes = await readFile(file);
  } catch (cause) {
    throw new ConfigError(`${file}: ${readProblem(cause)}`, { cause });
  }
  if (bytes.length > MAX_BYTES) throw new ConfigError(`${file}: it is larger than ${MAX_BYTES} bytes`);
  return bytes;
}

/** Decompresses a document (RFC 1952). The operator compresses one that exceeds the size of a ConfigMap. */
function unpack(bytes: Buffer, file: string): Buffer {
  if (bytes[0] !== 0x1f || bytes[1] !== 0x8b) return bytes;
  try {
    return gunzipSync(bytes, { maxOutputLength: MAX_BYTES });
  } catch (cause) {
    throw new ConfigError(`${file}: it cannot be unpacked, or is larger than ${MAX_BYTES} bytes`, { cause });
  }
}

/** Checks the version first: a document of another version would cause misleading errors about its members. */
function checkVersion({ value, lineOf }: ReadDocument, file: string): void {
  const version = z.object({ schema_version: z.string() }).safeParse(value);
  if (!version.success) {
    const message = `required field is missing; write schema_version: ${RUN_CONFIG_VERSION}`;
    throw new ConfigError(problemAt(['schema_version'], message, lineOf, file));
  }
  const { schema_version: found } = version.data;
  if (found === RUN_CONFIG_VERSION) return;
  const message = `${JSON.stringify(found)} is not known; this runtime reads ${RUN_CONFIG_VERSION}`;
  throw new ConfigError(problemAt(['schema_version'], message, lineOf, file));
}

/** An unreadable file of a backend, a provider or the traces disables only that part. */
const isOfAll = ({ path }: NamedFile) =>
  path[0] !== 'backends' && path[1] !== 'upstreams' && path[0] !== 'telemetry_config';

function checkFiles(
  files: readonly NamedFile[],
  read: (file: string) => unknown,
  { lineOf }: ReadDocument,
  file: string,
) {
  const problems: string[] = [];
  for (const named of files) {
    try {
      read(named.file);
    } catch (error) {
      const reason = error instanceof Error ? error.message : String(error);
      problems.push(problemAt(named.path, reason, lineOf, file));
    }
  }
  if (problems.length > 0) throw new ConfigError(problems.join('\n'));
}

function problemAt(path: NamedFile['path'], message: string, lineOf: ReadDocument['lineOf'], file: string): string {
  return problemText({ file, line: lineOf(path) ?? 1, path: pathText(path), message });
}
