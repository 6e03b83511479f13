import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';

type Answer = (request: IncomingMessage, response: ServerResponse) => void;

export interface RegistryServer {
  url: string;
  /** Requests: path with query, and headers. */
  asked: { path: string; headers: IncomingMessage['headers'] }[];
  /** Handler of later requests. */
  answer: Answer;
  close(): Promise<void>;
}

/** Serves answers of the test's choice. */
export async function serveRegistry(answer: Answer): Promise<RegistryServer> {
  const server = createServer((request, response) => {
    served.asked.push({ path: request.url ?? '', headers: request.headers });
    served.answer(request, response);
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const served: RegistryServer = {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    asked: [],
    answer,
    close: () =>
      new Promise((resolve) => {
        server.close(() => resolve());
        server.closeAllConnections();
      }),
  };
  return served;
}

/** Answers JSON with an entity tag, and 304 if the request names that tag. */
export function answerJson(value: unknown, tag?: string): Answer {
  return (request, response) => {
    if (tag !== undefined && request.headers['if-none-match'] === tag) {
      response.writeHead(304).end();
      return;
    }
    response.writeHead(200, { 'content-type': 'application/json', ...(tag !== undefined && { etag: tag }) });
    response.end(JSON.stringify(value));
  };
}

/** Registry file with one server of each kind and a group with one of each. */
export const FILE = {
  version: '1.2.3',
  last_updated: '2026-01-02T03:04:05Z',
  servers: {
    weather: {
      image: 'ghcr.io/example/weather:1',
      title: 'Weather',
      description: 'How it is outside',
      overview: 'All of it.',
      status: 'Active',
      tier: 'Community',
      transport: 'stdio',
      args: ['--metric'],
      docker_tags: ['1', 'latest'],
      env_vars: [{ name: 'API_KEY', description: 'Key', required: true, secret: true }],
      tools: ['forecast'],
      tags: ['outside'],
      target_port: 8080,
      proxy_port: 9090,
      repository_url: 'https://example.com/weather',
      permissions: {
        name: 'weather',
        network: {
          mode: 'bridge',
          inbound: { allow_host: ['a'] },
          outbound: { allow_host: ['b'], allow_port: [443], insecure_allow_all: true },
        },
        privileged: true,
        read: ['/etc'],
        write: ['/var'],
      },
      provenance: {
        sigstore_url: 'tuf-repo-cdn.sigstore.dev',
        repository_uri: 'https://example.com/weather',
        repository_ref: 'refs/heads/main',
        signer_identity: '/.github/workflows/release.yml',
        runner_environment: 'github-hosted',
        cert_issuer: 'https://token.actions.githubusercontent.com',
        attestation: { predicate_type: 'https://slsa.dev/provenance/v1', predicate: { any: ['thing'] } },
      },
      metadata: { stars: 7, last_updated: '2026-01-01T00:00:00Z' },
      custom_metadata: { whatever: { it: ['is'] }, status: 'Beta' },
    },
  },
  remote_servers: {
    tides: {
      url: 'https://tides.example.com/mcp',
      transport: 'streamable-http',
      status: 'deprecated',
      headers: [{ name: 'X-Key', description: 'Key', required: true, secret: true, default: 'x', choices: ['x', 'y'] }],
      oauth_config: {
        issuer: 'https://tides.example.com',
        authorize_url: 'https://tides.example.com/authorize',
        token_url: 'https://tides.example.com/token',
        client_id: 'c',
        scopes: ['read'],
        resource: 'https://tides.example.com/mcp',
        oauth_params: { prompt: 'consent' },
        callback_port: 8666,
        use_pkce: true,
      },
      env_vars: [{ name: 'REGION', default: 'north' }],
    },
  },
  groups: [
    {
      name: 'space',
      description: 'Far away',
      servers: { stars: { image: 'npx://@example/stars@2.0.0', transport: 'stdio' } },
      remote_servers: { moon: { url: 'https://moon.example.com/mcp', transport: 'sse' } },
    },
  ],
};
