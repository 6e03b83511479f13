import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { eventually, makeWorkplace, type Workplace } from '../local/run-vmcp.ts';

/** A running `vmcp up` in a workplace, with its management API. */
export interface RunningApi {
  place: Workplace;
  /** URL with the base path. */
  url: string;
  token: string;
  /** Returns the output of the command so far. */
  output(): string;
  call(method: string, path: string, body?: unknown, headers?: Record<string, string>): Promise<Response>;
  close(): Promise<void>;
}

/** Calls the management API of a workplace with its token, and with a JSON body if given. */
export function callApi(
  place: Pick<Workplace, 'read'>,
  method: string,
  path: string,
  body?: unknown,
  headers?: Record<string, string>,
): Promise<Response> {
  return fetch(`${place.read('.vmcp/management-address')}/api/v1beta${path}`, {
    method,
    headers: {
      authorization: `Bearer ${place.read('.vmcp/management-token')}`,
      ...(body !== undefined && { 'content-type': 'application/json' }),
      ...headers,
    },
    ...(body !== undefined && { body: JSON.stringify(body) }),
  });
}

/** Runs manifests (file name to text) with the command itself, and with a home folder of its own for registered clients. */
export async function useApi(
  manifests: Record<string, string>,
  environment: NodeJS.ProcessEnv = {},
): Promise<RunningApi> {
  const place = makeWorkplace();
  for (const [name, text] of Object.entries(manifests)) place.manifest(name, text);
  const running = place.start(['up', 'manifests'], { HOME: place.path, ...environment });
  const file = join(place.path, '.vmcp/management-address');
  try {
    await eventually(
      () => existsSync(file),
      (there) => there,
    );
  } catch (error) {
    throw new Error(`vmcp up does not serve the API: ${running.output()}`, { cause: error });
  }
  return {
    place,
    url: `${place.read('.vmcp/management-address')}/api/v1beta`,
    token: place.read('.vmcp/management-token'),
    output: running.output,
    call: (method, path, body, headers) => callApi(place, method, path, body, headers),
    async close() {
      running.signal('SIGTERM');
      await running.ended;
      await place.close();
    },
  };
}
