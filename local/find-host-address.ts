import { execFile } from 'node:child_process';
import { networkInterfaces } from 'node:os';
import { promisify } from 'node:util';
import { z } from 'zod';
import { inheritedVariables } from '#crds/parts/inherited-variables';

const runFile = promisify(execFile);
/** Milliseconds for each answer of the engine: on a busy machine it takes seconds. */
const PATIENCE = 20_000;
/** Since version 4.7, podman gives its containers the host name without configuration. */
const BY_ITSELF = 4.07;

const Info = z.object({
  version: z.object({ Version: z.string() }),
  host: z.object({ security: z.object({ rootless: z.boolean() }) }),
});
const Networks = z
  .array(z.object({ subnets: z.array(z.object({ gateway: z.string().optional() })).optional() }))
  .min(1);

/** Returns 4.03 for 4.3.1. */
function versionOf(text: string): number {
  const [, major = 0, minor = 0] = /^(\d+)\.(\d+)/.exec(text) ?? [];
  return Number(major) + Number(minor) / 100;
}

function ownAddress(): string | undefined {
  const all = Object.values(networkInterfaces()).flatMap((addresses = []) => addresses);
  return all.find(({ internal, family }) => !internal && family === 'IPv4')?.address;
}

/** Returns undefined when podman knows a host name itself, or the host has no address. Rejects when podman's output cannot be read. */
export async function findHostAddress(environment: NodeJS.ProcessEnv): Promise<string | undefined> {
  const env = inheritedVariables(environment);
  const ask = async (...args: string[]): Promise<unknown> => {
    const { stdout } = await runFile('podman', args, { env, timeout: PATIENCE, killSignal: 'SIGKILL' });
    return JSON.parse(stdout);
  };
  const { version, host } = Info.parse(await ask('info', '--format', 'json'));
  if (versionOf(version.Version) >= BY_ITSELF) return undefined;
  if (host.security.rootless) return ownAddress();
  const [network] = Networks.parse(await ask('network', 'inspect', 'podman'));
  return network?.subnets?.find(({ gateway }) => gateway !== undefined)?.gateway;
}
