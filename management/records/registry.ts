import { z } from 'zod';
import { text } from '#crds/parts/primitives';
import { ImageServer, RemoteServer } from './registry-entry.ts';

const name = text(512);

const Group = z
  .object({
    name: text(512).describe('Name of the group.'),
    description: z.string().max(65_536).optional().describe('What its servers are for.'),
    servers: z.record(name, ImageServer).optional().describe('Its image servers by name.'),
    remote_servers: z.record(name, RemoteServer).optional().describe('Its remote servers by name.'),
  })
  .meta({ id: 'RegistryGroup' });

export const RegistryContent = z
  .object({
    version: z.string().max(256).default('1.0.0').describe('Version of the content.'),
    last_updated: z.string().max(256).default('').describe('When it changed last, RFC 3339.'),
    servers: z.record(name, ImageServer).default({}).describe('Image servers by name.'),
    remote_servers: z.record(name, RemoteServer).default({}).describe('Remote servers by name.'),
    groups: z.array(Group).max(1_000).default([]).describe('Groups of servers.'),
  })
  .meta({ id: 'RegistryContent' });
export type RegistryContent = z.infer<typeof RegistryContent>;

const AuthConfig = z.strictObject({
  issuer: z.string().describe('Issuer of the tokens.'),
  client_id: z.string().describe('OAuth client that vmcp is.'),
  audience: z.string().optional().describe('What the tokens are for.'),
  scopes: z.array(z.string()).optional().describe('Scopes that are asked for.'),
});

export const RegistryInfo = z
  .strictObject({
    name: z.string().describe('Name of the registry.'),
    type: z.enum(['default', 'file', 'url', 'api']).describe('Where it comes from; default is what vmcp brings along.'),
    source: z.string().describe('Path or URL that it is read from; empty for what vmcp brings along.'),
    version: z.string().describe('Version of its content.'),
    server_count: z.int().min(0).describe('Servers in it, those of groups included.'),
    last_updated: z.string().describe('When its content changed last, RFC 3339.'),
    auth_type: z.enum(['', 'oauth']).describe('How vmcp authenticates there.'),
    auth_status: z
      .enum(['none', 'configured', 'authenticated'])
      .describe('Configured is without a token yet: a login has to be finished, or the last one is over.'),
    auth_config: AuthConfig.optional(),
  })
  .meta({ id: 'RegistryInfo' });
export type RegistryInfo = z.infer<typeof RegistryInfo>;

export const Registry = z.strictObject({ ...RegistryInfo.shape, registry: RegistryContent }).meta({ id: 'Registry' });
export type Registry = z.infer<typeof Registry>;
