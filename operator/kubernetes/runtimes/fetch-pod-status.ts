import { z } from 'zod';
import { RuntimeStatus } from '#crds/run-config/runtime-status';
import { fetchStatus } from '#operator/fetch-status';
import type { SILENT } from '#operator/last-heard';

const DEADLINE = 3000;
/** Characters. What many pods say is held at once, and whoever may start pods may start many. */
const LONGEST = 1024 * 1024;
const PRIVATE_PORT = 4484;

/** What a pod says of itself, and a keyed HMAC of each secret file by the path that its document names. */
export interface PodStatus {
  status: RuntimeStatus;
  secretFiles: Record<string, string>;
}

/** Files that are listened to. */
const MOST_FILES = 4000;

const SecretFiles = z.object({
  secret_files: z
    .record(z.string(), z.unknown())
    .transform((said) => Object.fromEntries(Object.entries(said).slice(0, MOST_FILES)))
    .pipe(z.record(z.string(), z.string()))
    .default({}),
});

const read = (value: unknown): PodStatus => ({
  status: RuntimeStatus.parse(value),
  secretFiles: SecretFiles.parse(value).secret_files,
});

/** What the runtime of a pod says at /status; undefined while none serves there, and `silent` where it says nothing for 3 s. */
export async function fetchPodStatus(
  ip: string,
  tokens: readonly string[],
  port = PRIVATE_PORT,
): Promise<PodStatus | typeof SILENT | undefined> {
  return fetchStatus({ host: ip, port, tokens, deadline: DEADLINE, longest: LONGEST }, read);
}
