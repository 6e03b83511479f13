import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { findFreePort } from '../gateway/find-free-port.ts';
import { ROOT, type Workplace } from './run-vmcp.ts';

/** Returns free ports that replace those of an example, so that a test can run beside a real one. */
export async function movePorts<P extends number>(ports: readonly P[]): Promise<Record<P, number>> {
  const free: number[] = [];
  while (free.length < ports.length) {
    const port = await findFreePort();
    if (!free.includes(port)) free.push(port);
  }
  return Object.fromEntries(ports.map((port, index) => [port, free[index]])) as Record<P, number>;
}

/** Copies the manifests of an example into a workplace, with other ports and paths. */
export function copyExample(name: string, place: Workplace, ports: Readonly<Record<number, number>>): void {
  const folder = join(ROOT, 'examples', name);
  for (const file of readdirSync(folder).filter((entry) => entry.endsWith('.yaml'))) {
    const text = readFileSync(join(folder, file), 'utf8')
      .replaceAll(/\b\d{4}\b/g, (written) => String(ports[Number(written)] ?? written))
      .replaceAll('../../', `${ROOT}/`)
      .replaceAll('./on-host/main.ts', join(folder, 'on-host/main.ts'))
      .replaceAll('account-server.ts', join(folder, 'account-server.ts'));
    place.manifest(file, text);
  }
}
