import type { RunConfigDocument } from '#crds/run-config/run-config';
import { serveGateway, type ServedGateway, type ServeOptions } from '../gateway/serve-gateway.ts';
import type { GatewayConfig } from '../gateway/start-gateway.ts';

interface Closable {
  close(): unknown;
}
type BackendDocument = RunConfigDocument['backends'][number];

const open: Closable[] = [];

/** Closes an object after the test, in reverse order of the calls. */
export function closing<T extends Closable>(one: T): T {
  open.push(one);
  return one;
}

/** Closes all registered objects. For `afterEach`, or for `afterAll` if the tests run concurrently. */
export async function closeAll(): Promise<void> {
  for (const one of open.splice(0).reverse()) await one.close();
}

/** Returns a configuration without authentication. `backends`: name to URL, or to URL and settings. */
export function configTo(
  backends: Record<string, string | (Partial<BackendDocument> & { url: string })>,
  more: Partial<GatewayConfig> = {},
): GatewayConfig {
  const documents = Object.entries(backends).map(
    ([name, settings]) =>
      ({
        name,
        transport: 'streamable-http',
        ...(typeof settings === 'string' ? { url: settings } : settings),
      }) as BackendDocument,
  );
  return { incoming: { type: 'anonymous' }, backends: documents, ...more };
}

/** Starts a gateway in front of these backends, and closes it after the test. */
export async function gatewayTo(
  backends: Parameters<typeof configTo>[0],
  more: Partial<GatewayConfig> = {},
  options: ServeOptions = {},
): Promise<ServedGateway> {
  return closing(await serveGateway(configTo(backends, more), options));
}
