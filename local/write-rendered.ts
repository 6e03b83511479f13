import { createHash } from 'node:crypto';
import { existsSync, mkdirSync, readdirSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import type { Rendered, SecretSource } from '#operator/plan/outcome';
import { readIfThere, writeFileAtomic } from '#lib/files/write-file';

export const RUN_CONFIG_FILE = 'run-config.yaml';

/** Returns the SHA-256 (hex) that a runtime reports as `config_digest`; undefined without a file. */
export function digestOnDisk(configDirectory: string): string | undefined {
  const text = readIfThere(join(configDirectory, RUN_CONFIG_FILE));
  return text === undefined ? undefined : createHash('sha256').update(text).digest('hex');
}

/** Writes the document last, after the files that it names. Each write is atomic; unchanged files are skipped. */
export function writeRendered(rendered: Rendered, valueOf: (source: SecretSource) => string): void {
  const { configDirectory, secretDirectory, text: document, secretFiles, plainFiles } = rendered;
  for (const directory of [configDirectory, secretDirectory]) mkdirSync(directory, { recursive: true, mode: 0o700 });
  for (const [name, source] of Object.entries(secretFiles))
    writeFileAtomic(join(secretDirectory, name), valueOf(source));
  for (const [name, text] of Object.entries(plainFiles)) writeFileAtomic(join(configDirectory, name), text);
  writeFileAtomic(join(configDirectory, RUN_CONFIG_FILE), document);
}

function pruneFolder(directory: string, kept: Set<string>): void {
  if (!existsSync(directory)) return;
  for (const entry of readdirSync(directory, { withFileTypes: true })) {
    if (entry.isFile() && !kept.has(entry.name)) rmSync(join(directory, entry.name), { force: true });
  }
}

/** Call it only after the runtime serves the document. */
export function pruneRendered({ configDirectory, secretDirectory, secretFiles, plainFiles }: Rendered): void {
  const kept = new Set([RUN_CONFIG_FILE, ...Object.keys(secretFiles), ...Object.keys(plainFiles)]);
  for (const directory of new Set([configDirectory, secretDirectory])) pruneFolder(directory, kept);
}
