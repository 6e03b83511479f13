import { defined } from './defined.ts';
import type { ServerSpec } from './server-spec.ts';

type Written = NonNullable<ServerSpec['resources']>;
type Amounts = Record<'cpu' | 'memory', string>;

/**
 * Requests and limits of a container: of CPU and of memory the default where nothing of it is written. Where a part of it is,
 * the rest is as written, too, as a default may contradict it.
 */
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
