import { existsSync, readdirSync, readFileSync, statSync } from 'node:fs';
import { basename, dirname, join } from 'node:path';
import { parse } from 'yaml';
import { z } from 'zod';
import type { StateFolder } from '#local/state-folder';
import { RUN_CONFIG_FILE } from '#local/write-rendered';

/** An audit log that programs append to, and its rotated files, oldest first. */
export interface AuditLog {
  path: string;
  rotated: string[];
}

const Audited = z.object({ audit_config: z.object({ enabled: z.literal(true), logFile: z.string().optional() }) });

/** Returns the logs of the programs of a state folder, and the files that their audit configurations name. */
export function findAuditLogs({ logs, run, ownLog }: StateFolder): AuditLog[] {
  const written = namesIn(logs)
    .filter((name) => name.endsWith('.log'))
    .map((name) => join(logs, name));
  const paths = new Set([...written.filter((path) => path !== ownLog), ...configuredFiles(run)]);
  return [...paths].map((path) => ({ path, rotated: rotatedFiles(path) }));
}

const namesIn = (folder: string): string[] => (existsSync(folder) ? readdirSync(folder).sort() : []);

function configuredFiles(run: string): string[] {
  if (!existsSync(run)) return [];
  const documents = readdirSync(run, { recursive: true, encoding: 'utf8' }).filter(
    (path) => basename(path) === RUN_CONFIG_FILE,
  );
  return documents.flatMap((path) => {
    const { data } = Audited.safeParse(parse(readFileSync(join(run, path), 'utf8')));
    return data?.audit_config.logFile ?? [];
  });
}

/** Returns `name.1`, `name.2.gz`, `name-20260131` and the like, the oldest first. */
function rotatedFiles(path: string): string[] {
  const [folder, name] = [dirname(path), basename(path)];
  const isRotated = (other: string) => /^[.-][\d.-]+(\.gz)?$/.test(other.slice(name.length));
  return namesIn(folder)
    .filter((other) => other.startsWith(name) && isRotated(other))
    .map((other) => join(folder, other))
    .sort((a, b) => changedAt(a) - changedAt(b));
}

/** Milliseconds of the epoch. */
export const changedAt = (path: string): number => statSync(path, { throwIfNoEntry: false })?.mtimeMs ?? 0;
