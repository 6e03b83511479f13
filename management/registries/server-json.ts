import { z } from 'zod';
import { text } from '#crds/parts/primitives';

const Text = z.string().max(65_536);

const Input = z.object({
  description: Text.optional(),
  isRequired: z.boolean().optional(),
  isSecret: z.boolean().optional(),
  value: Text.optional(),
  default: Text.optional(),
  choices: z.array(Text).max(1_000).optional(),
});

const Named = z.object({ ...Input.shape, name: text(256) });

const Argument = z.object({
  ...Input.shape,
  type: z.enum(['positional', 'named']),
  name: Text.optional(),
});

const Transport = z.object({
  type: z.enum(['stdio', 'sse', 'streamable-http']),
  url: z.string().max(2048).optional(),
  headers: z.array(Named).max(256).optional(),
});

export const Package = z.object({
  registryType: z.string().max(64),
  registryBaseUrl: z.string().max(2048).optional(),
  identifier: text(1024),
  version: z.string().max(255).optional(),
  transport: Transport,
  packageArguments: z.array(Argument).max(256).optional(),
  environmentVariables: z.array(Named).max(256).optional(),
});
export type Package = z.infer<typeof Package>;

export const Remote = z.object({ ...Transport.shape, url: text(2048) });
export type Remote = z.infer<typeof Remote>;

export const ServerEntry = z.object({
  server: z.object({
    name: text(512),
    description: Text.optional(),
    title: Text.optional(),
    version: z.string().max(255).optional(),
    websiteUrl: Text.optional(),
    repository: z.object({ url: Text.optional() }).optional(),
    // Validated later, one by one, so an invalid one does not invalidate the others.
    packages: z.array(z.unknown()).max(100).nullish(),
    remotes: z.array(z.unknown()).max(100).nullish(),
  }),
  _meta: z
    .object({
      'io.modelcontextprotocol.registry/official': z
        .object({
          status: z.string().optional(),
          updatedAt: Text.optional(),
          publishedAt: Text.optional(),
          isLatest: z.boolean().optional(),
        })
        .optional(),
    })
    .nullish(),
});
export type ServerEntry = z.infer<typeof ServerEntry>;
