import { z } from 'zod';

/** vmcp as a client of an authorization server: configured by the administrator, or registered (RFC 7591). Stored only in sealed form. */
export const RemoteClient = z.object({
  client_id: z.string().min(1),
  client_secret: z.string().optional(),
  token_endpoint_auth_method: z.enum(['none', 'client_secret_basic', 'client_secret_post']),
  /** Issuer of the client. Its secret and its tokens are sent to no other issuer. */
  issuer: z.string(),
  /** Milliseconds since the epoch; undefined: no expiry. */
  secret_ends_at: z.number().optional(),
  /** Redirect URI of the registration; undefined: a configured client. */
  registered: z
    .object({
      redirect_uri: z.string(),
      /** A login with this client has not returned. The server may have dropped the client, which only the browser shows. */
      is_doubtful: z.boolean(),
    })
    .optional(),
});
export type RemoteClient = z.infer<typeof RemoteClient>;
