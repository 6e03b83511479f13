import { z } from 'zod';
import { flag } from '../flag.ts';
import { CLIENTS } from '#management/clients/files/clients';

const ClientName = z
  .string()
  .min(1)
  .max(64)
  .describe(`Which client: one of ${CLIENTS.map(({ id }) => id).join(', ')}.`);

const Groups = z
  .array(z.string().min(1).max(63))
  .max(1000)
  .default([])
  .describe('Groups (MCPGroups) whose endpoints the client gets; empty: those of every group, of later ones, too.');

export const Client = z.strictObject({ name: ClientName, groups: Groups });
export type Client = z.infer<typeof Client>;

const Configuration = z
  .strictObject({
    file: z.string().optional().describe('Its configuration file; absent in a cluster, which has none of its files.'),
    written: z.boolean().describe('Whether the file has these entries now; otherwise they are to be added by hand.'),
    backup: z.string().optional().describe('What the file was before, where it was changed.'),
    format: z.enum(['json', 'jsonc', 'toml', 'yaml']).describe('How the file is written.'),
    servers: z.record(z.string(), z.string()).describe('Name of each entry to the URL of its endpoint.'),
    text: z.string().describe('The entries as they stand in the file; empty while no endpoint is served.'),
    after: z.string().describe('What a person does then.'),
  })
  .describe('What the client has to know.');

export const RegisteredClient = z.strictObject({ ...Client.shape, configuration: Configuration });
export type RegisteredClient = z.infer<typeof RegisteredClient>;

/** The schema accepts any name; `Clients.register` rejects unknown clients and lists the known ones. */
const KnownClient = ClientName.meta({ enum: CLIENTS.map(({ id }) => id) });

export const NewClient = z.strictObject({ name: KnownClient, groups: Groups });
export const NewClients = z.strictObject({
  names: z.array(KnownClient).min(1).max(50).describe('Which clients.'),
  groups: Groups,
});
export const ClientInPath = z.strictObject({
  name: ClientName.regex(/^[^\u0000-\u001f\u007f]+$/, 'a name has no control characters'),
});
export const ClientList = z.strictObject({ clients: z.array(Client).describe('Sorted by name.') });

export const Forced = z.strictObject({
  force: flag('Takes the place of entries of the same name that somebody else wrote.'),
});
