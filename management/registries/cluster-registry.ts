import { transportOf } from '#crds/kinds/mcp-server';
import { RegistryContent } from '../records/registry.ts';
import type { EntryMetadata, ImageServer, RemoteServer } from '../records/registry-entry.ts';
import type { Resources, StoredResource } from '../stores/resources.ts';
import { z } from 'zod';

/** Other fields require permission to read the MCPServer. */
const Spec = z.object({
  image: z.string().optional(),
  remoteUrl: z.string().optional(),
  command: z.array(z.string()).min(1).optional(),
  transport: z.enum(['stdio', 'sse', 'streamable-http']).optional(),
  mcpPort: z.int().optional(),
});

export async function readClusterRegistry(
  resources: Pick<Resources, 'list'>,
  namespace: string,
): Promise<RegistryContent> {
  const servers: Record<string, ImageServer> = {};
  const remotes: Record<string, RemoteServer> = {};
  let lastUpdated = '';
  for (const resource of await resources.list('MCPServer')) {
    const spec = Spec.safeParse(resource.spec).data;
    if (spec === undefined) continue;
    const transport = transportOf(spec);
    const entry = {
      name: resource.name,
      transport,
      status: 'active' as const,
      metadata: metadataOf(resource, namespace, spec.image, transport),
    };
    if (spec.remoteUrl !== undefined) remotes[resource.name] = { ...entry, url: spec.remoteUrl };
    else if (spec.image !== undefined)
      servers[resource.name] = { ...entry, image: spec.image, ...(spec.mcpPort && { target_port: spec.mcpPort }) };
    if ((resource.createdAt ?? '') > lastUpdated) lastUpdated = resource.createdAt ?? '';
  }
  return RegistryContent.parse({ servers, remote_servers: remotes, last_updated: lastUpdated });
}

function metadataOf(
  { name, uid, createdAt }: StoredResource,
  namespace: string,
  image: string | undefined,
  transport: string,
): z.infer<typeof EntryMetadata> {
  return {
    ...(createdAt !== undefined && { last_updated: createdAt }),
    kubernetes: {
      kind: 'MCPServer',
      name,
      namespace,
      transport,
      ...(uid !== undefined && { uid }),
      ...(image !== undefined && { image }),
    },
  };
}
