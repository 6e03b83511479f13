import { z } from 'zod';

/** vmcp as a client of an authorization server: given by the administrator, or registered (RFC 7591). Sealed before it is stored. */
export const RemoteClient = z.object({
  client_id: z.string().min(1),
  client_secret: z.string().optional(),
  token_endpoint_auth_method: z.enum(['none', 'client_secret_basic', 'client_secret_post']),
  /** Of which authorization server: neither its secret nor what it was given goes to another. */
  issuer: z.string(),
  /** Milliseconds since the epoch; undefined: it does not end. */
  secret_ends_at: z.number().optional(),
  /** For which redirect URI it was registered; undefined: it was given. */
  registered: z
    .object({
      redirect_uri: z.string(),
      /** A login was begun with it and has not come back: perhaps the server does not know it any more, which only the browser sees. */
      is_doubtful: z.boolean(),
    })
    .optional(),
});
export type RemoteClient = z.infer<typeof RemoteClient>;
