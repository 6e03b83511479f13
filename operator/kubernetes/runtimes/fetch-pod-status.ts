import { z } from 'zod';
import { RuntimeStatus } from '#crds/run-config/runtime-status';
import { fetchStatus } from '#operator/fetch-status';
import type { NO_ANSWER } from '#operator/last-probe';

const DEADLINE = 3000;
/** Characters of a status. The operator holds the statuses of many pods at once, and any user who may start pods may start many. */
const LONGEST = 1024 * 1024;
const PRIVATE_PORT = 4484;

/** The status of a pod, and a keyed HMAC of each secret file by the path in its document. */
export interface PodStatus {
  status: RuntimeStatus;
  secretFiles: Record<string, string>;
}

const MOST_FILES = 4000;

const SecretFiles = z.object({
  secret_files: z
    .record(z.string(), z.unknown())
    .transform((files) => Object.fromEntries(Object.entries(files).slice(0, MOST_FILES)))
    .pipe(z.record(z.string(), z.string()))
    .default({}),
});

/** Converts the answer of a pod. @throws ZodError */
export function readPodStatus(value: unknown): PodStatus {
  const read: PodStatus = { status: RuntimeStatus.parse(value), secretFiles: SecretFiles.parse(value).secret_files };
  // Copies the texts: V8 stores a part of a text as a reference to the whole one.
  return JSON.parse(JSON.stringify(read)) as PodStatus;
}

/** Reads /status of a pod's runtime. Returns undefined if no runtime answers, and NO_ANSWER if it sends nothing for 3 s. */
export async function fetchPodStatus(
  ip: string,
  tokens: readonly string[],
  port = PRIVATE_PORT,
): Promise<PodStatus | typeof NO_ANSWER | undefined> {
  return fetchStatus({ host: ip, port, tokens, deadline: DEADLINE, longest: LONGEST }, readPodStatus);
}
