import { existsSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { chromium, type BrowserContext, type BrowserContextOptions } from 'playwright-core';

const EXECUTABLE = '/usr/bin/chromium';

/** Why this machine cannot run a browser; undefined: it can. */
export const NO_CHROMIUM = existsSync(EXECUTABLE)
  ? undefined
  : `there is no ${EXECUTABLE}: apt-get install -y chromium`;

const DEADLINE = 60_000;
const FLAGS = [
  '--no-sandbox',
  '--disable-gpu',
  '--disable-quic',
  '--no-first-run',
  '--disable-background-networking',
  '--disable-component-update',
  '--disable-sync',
];

/** Opens a real browser without a screen, with a new profile. */
export async function openChromium(
  options: BrowserContextOptions = {},
  flags: readonly string[] = [],
): Promise<{ context: BrowserContext; close: () => Promise<void> }> {
  const profile = mkdtempSync(join(tmpdir(), 'vmcp-chromium-'));
  const context = await chromium.launchPersistentContext(profile, {
    executablePath: EXECUTABLE,
    headless: true,
    args: [...FLAGS, ...flags],
    ...options,
  });
  context.setDefaultTimeout(DEADLINE);
  return {
    context,
    close: async () => {
      await context.close();
      rmSync(profile, { recursive: true, force: true });
    },
  };
}
