import { fingerprintOf } from '#local/fingerprint';
import type { Context } from './context.ts';

/** What this build of vmcp is told from another one by, which may still run here. */
export function buildOf({ self, runtime }: Pick<Context, 'self' | 'runtime'>): string {
  return fingerprintOf([self.at(-1) ?? '', runtime.at(-1) ?? '']);
}
