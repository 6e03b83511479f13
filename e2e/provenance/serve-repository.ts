import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { digestOf } from '../skills/serve-oci.ts';
import type { SignatureStore } from './sign-image.ts';

/** A registry with arbitrary answers, over HTTP on the loopback interface. All repositories are the same. */
export interface Repository extends SignatureStore {
  /** `127.0.0.1:<port>` */
  host: string;
  /** Files by their paths in a repository: `manifests/v1`. */
  files: Map<string, Buffer | string>;
  /** `Link` headers by path. */
  links: Map<string, string>;
  /** Failure statuses by path. */
  failures: Map<string, number>;
  /** Requested paths. */
  asked: string[];
  /** Accepts calls for this path from now on, and answers none. Without a path, answers all again. */
  hang(path?: string): void;
  close(): Promise<void>;
}

export async function serveRepository(): Promise<Repository> {
  const files: Repository['files'] = new Map();
  const links: Repository['links'] = new Map();
  const failures: Repository['failures'] = new Map();
  const asked: string[] = [];
  let silent: string | undefined;
  const server = createServer(({ url = '' }, response) => {
    const path = url.replace(/^\/v2\/o\/[^/]+\//, '');
    asked.push(path);
    if (path === silent) return;
    const file = files.get(path);
    const link = links.get(path);
    response
      .writeHead(failures.get(path) ?? (file === undefined ? 404 : 200), link === undefined ? {} : { link })
      .end(file);
  });
  await new Promise<void>((listening) => server.listen(0, '127.0.0.1', listening));
  return {
    host: `127.0.0.1:${(server.address() as AddressInfo).port}`,
    files,
    links,
    failures,
    asked,
    putBlob(_, bytes) {
      files.set(`blobs/${digestOf(bytes)}`, bytes);
      return Promise.resolve(digestOf(bytes));
    },
    putManifest(_, tag, manifest) {
      const body = typeof manifest === 'string' ? manifest : JSON.stringify(manifest);
      for (const name of [tag, digestOf(body)]) files.set(`manifests/${name}`, body);
      return Promise.resolve(digestOf(body));
    },
    hang: (path) => void (silent = path),
    async close() {
      const closed = new Promise((resolve) => server.close(resolve));
      server.closeAllConnections();
      await closed;
    },
  };
}
