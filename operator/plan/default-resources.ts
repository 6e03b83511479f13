import { defined } from './defined.ts';
import type { ServerSpec } from './server-spec.ts';

type Written = NonNullable<ServerSpec['resources']>;
type Amounts = Record<'cpu' | 'memory', string>;

/** Gives CPU and memory their default only if neither request nor limit is written, as a default may contradict a written value. */
export function withDefaults(written: Written = {}, defaults: Record<'requests' | 'limits', Amounts>): Written {
  const missing = (['cpu', 'memory'] as const).filter(
    (name) => written.requests?.[name] === undefined && written.limits?.[name] === undefined,
  );
  const filled = (part: 'requests' | 'limits') => {
    const all = { ...Object.fromEntries(missing.map((name) => [name, defaults[part][name]])), ...written[part] };
    return Object.keys(all).length === 0 ? undefined : all;
  };
  return defined({ ...written, requests: filled('requests'), limits: filled('limits') });
}
