import { spawn } from 'node:child_process';
import { createHash } from 'node:crypto';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe } from '@jest/globals';
import { isInstalled } from '../redis/is-installed.ts';

export interface OciRegistry {
  /** `127.0.0.1:<port>` */
  host: string;
  /** Stores an artifact with these layers. Returns the digest of its manifest. */
  push: (repository: string, tag: string, layers: Layer[]) => Promise<string>;
  /** Stores a manifest unchanged. */
  putManifest: (repository: string, tag: string, manifest: unknown, type?: string) => Promise<string>;
  putBlob: (repository: string, bytes: Buffer) => Promise<string>;
  /** Returns the file of a blob, for tests that corrupt it. */
  fileOf: (digest: string) => string;
  close(): Promise<void>;
}

interface Layer {
  bytes: Buffer;
  type?: string;
}

export const MANIFEST = 'application/vnd.oci.image.manifest.v1+json';
export const INDEX = 'application/vnd.oci.image.index.v1+json';
export const TGZ = 'application/vnd.oci.image.layer.v1.tar+gzip';

export const digestOf = (bytes: Buffer | string) => `sha256:${createHash('sha256').update(bytes).digest('hex')}`;

/** Declares tests against a real registry. Skips them with the reason if the machine has none. */
export function describeWithRegistry(name: string, tests: () => void): void {
  if (isInstalled('docker-registry')) {
    describe(name, tests);
    return;
  }
  const missing = 'skipped: docker-registry not found; apt-get install docker-registry';
  process.stderr.write(`${name}: ${missing}\n`);
  describe.skip(`${name} (${missing})`, tests);
}

/** Starts the registry of the CNCF distribution project on a free port of the loopback interface. */
export async function serveOci(): Promise<OciRegistry> {
  const root = mkdtempSync(join(tmpdir(), 'vmcp-oci-'));
  const config = join(root, 'config.yml');
  const storage = `storage: { filesystem: { rootdirectory: ${root} } }`;
  writeFileSync(config, `version: 0.1\nlog: { level: info }\n${storage}\nhttp: { addr: '127.0.0.1:0' }\n`);
  const child = spawn('docker-registry', ['serve', config], { stdio: ['ignore', 'ignore', 'pipe'] });
  const ended = new Promise((resolve) => child.once('close', resolve));
  const host = await new Promise<string>((resolve, reject) => {
    let said = '';
    child.stderr.setEncoding('utf8').on('data', (text: string) => {
      said += text;
      const [, address] = /listening on (127\.0\.0\.1:\d+)/.exec(said) ?? [];
      if (address !== undefined) resolve(address);
    });
    child.once('close', () => reject(new Error(`docker-registry ended: ${said}`)));
  });
  const base = (repository: string) => `http://${host}/v2/${repository}`;
  const putBlob = async (repository: string, bytes: Buffer): Promise<string> => {
    const digest = digestOf(bytes);
    const started = await check(fetch(`${base(repository)}/blobs/uploads/`, { method: 'POST' }));
    const place = new URL(started.headers.get('location') ?? '', `http://${host}`);
    place.searchParams.set('digest', digest);
    const headers = { 'content-type': 'application/octet-stream' };
    await check(fetch(place, { method: 'PUT', body: new Uint8Array(bytes), headers }));
    return digest;
  };
  const putManifest: OciRegistry['putManifest'] = async (repository, tag, manifest, type = MANIFEST) => {
    const body = JSON.stringify(manifest);
    const headers = { 'content-type': type };
    await check(fetch(`${base(repository)}/manifests/${tag}`, { method: 'PUT', body, headers }));
    return digestOf(body);
  };
  return {
    ...{ host, putBlob, putManifest },
    fileOf: (digest) => join(root, 'docker/registry/v2/blobs/sha256', digest.slice(7, 9), digest.slice(7), 'data'),
    async push(repository, tag, layers) {
      const described = [];
      for (const { bytes, type = TGZ } of layers)
        described.push({ mediaType: type, digest: await putBlob(repository, bytes), size: bytes.length });
      const empty = Buffer.from('{}');
      const config = {
        mediaType: 'application/vnd.oci.empty.v1+json',
        digest: await putBlob(repository, empty),
        size: empty.length,
      };
      return putManifest(repository, tag, { schemaVersion: 2, mediaType: MANIFEST, config, layers: described });
    },
    async close() {
      child.kill('SIGTERM');
      await ended;
      rmSync(root, { recursive: true, force: true });
    },
  };
}

async function check(answer: Promise<Response>): Promise<Response> {
  const response = await answer;
  if (!response.ok) throw new Error(`the registry answered ${response.status}: ${await response.text()}`);
  return response;
}
