import { createHash, generateKeyPairSync, sign } from 'node:crypto';
import { createServer, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';

/** A TUF repository with one target, over HTTP on the loopback interface. */
export interface TufRepository {
  /** `127.0.0.1:<port>` */
  host: string;
  /** The root file, for parties that trust this repository. */
  root: string;
  /** Requested paths. */
  asked: string[];
  /** Accepts calls from now on, and answers none. */
  hang(): void;
  close(): Promise<void>;
}

/** Returns JSON with sorted keys: signatures cover these bytes. */
function canonical(value: unknown): string {
  if (typeof value !== 'object' || value === null) return JSON.stringify(value);
  if (Array.isArray(value)) return `[${value.map(canonical).join(',')}]`;
  const members = Object.entries(value).sort(([a], [b]) => (a < b ? -1 : 1));
  return `{${members.map(([key, member]) => `${JSON.stringify(key)}:${canonical(member)}`).join(',')}}`;
}

const hash = (text: string): string => createHash('sha256').update(text).digest('hex');

/** Makes the files by path. `lifespan`: milliseconds until the metadata expires. */
function makeFiles(trustedRoot: string, lifespan: number): Map<string, string> {
  const { publicKey, privateKey } = generateKeyPairSync('ed25519');
  const raw = publicKey.export({ format: 'der', type: 'spki' }).subarray(-32).toString('hex');
  const key = { keytype: 'ed25519', scheme: 'ed25519', keyval: { public: raw } };
  const keyid = hash(canonical(key));
  const role = { keyids: [keyid], threshold: 1 };
  const base = {
    spec_version: '1.0.31',
    version: 1,
    expires: `${new Date(Date.now() + lifespan).toISOString().slice(0, 19)}Z`,
  };
  const signed = (kind: string, what: object): string => {
    const body = { _type: kind, ...base, ...what };
    const sig = sign(null, Buffer.from(canonical(body)), privateKey).toString('hex');
    return JSON.stringify({ signed: body, signatures: [{ keyid, sig }] });
  };
  const roles = { root: role, timestamp: role, snapshot: role, targets: role };
  const target = { length: Buffer.byteLength(trustedRoot), hashes: { sha256: hash(trustedRoot) } };
  return new Map([
    ['/root.json', signed('root', { consistent_snapshot: true, keys: { [keyid]: key }, roles })],
    ['/timestamp.json', signed('timestamp', { meta: { 'snapshot.json': { version: 1 } } })],
    ['/1.snapshot.json', signed('snapshot', { meta: { 'targets.json': { version: 1 } } })],
    ['/1.targets.json', signed('targets', { targets: { 'trusted_root.json': target } })],
    [`/targets/${target.hashes.sha256}.trusted_root.json`, trustedRoot],
  ]);
}

export async function serveTuf(trustedRoot: string, lifespan = 3_600_000): Promise<TufRepository> {
  const files = makeFiles(trustedRoot, lifespan);
  const asked: string[] = [];
  let hangs = false;
  const answer = (path: string, response: ServerResponse): void => {
    asked.push(path);
    if (hangs) return;
    const file = files.get(path);
    response.writeHead(file === undefined ? 404 : 200).end(file);
  };
  const server = createServer(({ url = '' }, response) => answer(url, response));
  await new Promise<void>((listening) => server.listen(0, '127.0.0.1', listening));
  return {
    host: `127.0.0.1:${(server.address() as AddressInfo).port}`,
    root: files.get('/root.json') ?? '',
    asked,
    hang: () => void (hangs = true),
    async close() {
      const closed = new Promise((resolve) => server.close(resolve));
      server.closeAllConnections();
      await closed;
    },
  };
}
