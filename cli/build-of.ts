import { fingerprintOf } from '#local/fingerprint';
import type { Context } from './context.ts';

export function buildOf({ self, runtime }: Pick<Context, 'self' | 'runtime'>): string {
  return fingerprintOf([self.at(-1) ?? '', runtime.at(-1) ?? '']);
}
