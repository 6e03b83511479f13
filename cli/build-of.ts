import { fingerprintOf } from '#local/fingerprint';
import type { Context } from './context.ts';

/** Returns an identifier of this build, to detect a running `vmcp up` of another build. */
export function buildOf({ self, runtime }: Pick<Context, 'self' | 'runtime'>): string {
  return fingerprintOf([self.at(-1) ?? '', runtime.at(-1) ?? '']);
}
