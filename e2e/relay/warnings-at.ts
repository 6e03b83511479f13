import type { ServedGateway } from '../gateway/serve-gateway.ts';
import { send } from '../gateway/session-client.ts';
import { until } from '../gateway/until.ts';

/** Reads the warnings of `/status`. */
export function warningsAt(gateway: ServedGateway) {
  const warnings = async () => {
    const { text } = await send(`http://127.0.0.1:${gateway.runtime.address.privatePort}/status`, 'GET', {});
    return (JSON.parse(text) as { warnings: string[] }).warnings;
  };
  return {
    warned: (pattern: RegExp) =>
      until(`a warning ${pattern.source}`, async () => (await warnings()).some((one) => pattern.test(one))),
    notWarned: (pattern: RegExp) =>
      until(`no warning ${pattern.source}`, async () => (await warnings()).every((one) => !pattern.test(one))),
  };
}
