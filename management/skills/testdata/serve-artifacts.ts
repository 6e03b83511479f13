import { createHash } from 'node:crypto';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';

export interface ArtifactServer {
  /** Host and port. */
  host: string;
  /** Stores an artifact with one layer, and returns the digest of its manifest. */
  put: (repository: string, tag: string, layer: Buffer, size?: number) => string;
  /** Received requests with their tokens. */
  asked: { path: string; authorization: string | undefined }[];
  close(): Promise<void>;
}

export const digestOf = (bytes: Buffer | string): string =>
  `sha256:${createHash('sha256').update(bytes).digest('hex')}`;

/** Serves the pull API of a registry; `intercept` may answer a request instead. */
export async function serveArtifacts(
  intercept: (request: IncomingMessage, response: ServerResponse) => boolean = () => false,
): Promise<ArtifactServer> {
  const found = new Map<string, Buffer>();
  const asked: ArtifactServer['asked'] = [];
  const server = createServer((request, response) => {
    const path = request.url ?? '';
    asked.push({ path, authorization: request.headers.authorization });
    if (intercept(request, response)) return;
    const bytes = found.get(path);
    response.writeHead(bytes ? 200 : 404).end(bytes);
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const host = `127.0.0.1:${(server.address() as AddressInfo).port}`;
  return {
    ...{ host, asked },
    put(repository, tag, layer, size = layer.length) {
      const mediaType = 'application/vnd.oci.image.layer.v1.tar+gzip';
      const manifest = JSON.stringify({ schemaVersion: 2, layers: [{ mediaType, digest: digestOf(layer), size }] });
      found.set(`/v2/${repository}/blobs/${digestOf(layer)}`, layer);
      for (const name of [tag, digestOf(manifest)])
        found.set(`/v2/${repository}/manifests/${name}`, Buffer.from(manifest));
      return digestOf(manifest);
    },
    async close() {
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}
