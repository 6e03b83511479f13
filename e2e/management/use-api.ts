import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { eventually, makeWorkplace, type Workplace } from '../local/run-vmcp.ts';

/** What `vmcp up` runs in a workplace, and its management API. */
export interface RunningApi {
  place: Workplace;
  /** With the base path. */
  url: string;
  token: string;
  /** With the token, and a body in JSON where one is given. */
  call(method: string, path: string, body?: unknown, headers?: Record<string, string>): Promise<Response>;
  close(): Promise<void>;
}

/** Runs manifests (file name to text) by the command itself; clients that are registered are those of a home of its own. */
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
  const token = place.read('.vmcp/management-token');
  const url = `${readFileSync(file, 'utf8')}/api/v1beta`;
  return {
    place,
    url,
    token,
    call: (method, path, body, headers) =>
      fetch(url + path, {
        method,
        headers: {
          authorization: `Bearer ${token}`,
          ...(body !== undefined && { 'content-type': 'application/json' }),
          ...headers,
        },
        ...(body !== undefined && { body: JSON.stringify(body) }),
      }),
    async close() {
      running.signal('SIGTERM');
      await running.ended;
      await place.close();
    },
  };
}
