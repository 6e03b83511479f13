import { makeKey, sign, startIssuer, type FakeIssuer, type SigningKey } from '#runtime/incoming/testdata/fake-issuer';
import { servePlain, type PlainBackend, type PlainOptions } from '../fakes/backend/serve-plain.ts';
import { serveGateway, type ServedGateway, type ServeOptions } from '../gateway/serve-gateway.ts';
import type { GatewayConfig } from '../gateway/start-gateway.ts';
import { closing } from '../relay/gateway-to.ts';

/** A gateway that requires tokens of an issuer on loopback. By default it has one backend, `a`. */
export interface ProtectedGateway {
  readonly issuer: FakeIssuer;
  readonly key: SigningKey;
  readonly gateway: ServedGateway;
  readonly backend: PlainBackend;
  /** Configuration of boundary 1. */
  readonly incoming: GatewayConfig['incoming'];
  /** Makes a valid token, with other claims or header members if given. */
  token(claims?: Record<string, unknown>, header?: Record<string, unknown>): Promise<string>;
  /** Makes the header of such a token. */
  readonly bearer: (claims?: Record<string, unknown>) => Promise<{ authorization: string }>;
}

interface ProtectedOptions extends ServeOptions {
  readonly incoming?: object;
  readonly config?: Partial<GatewayConfig>;
  readonly backend?: PlainOptions;
}

export async function protectedGateway(options: ProtectedOptions = {}): Promise<ProtectedGateway> {
  const key = await makeKey('k');
  const issuer = closing(await startIssuer([key.jwk]));
  const backend = closing(await servePlain({ tools: 2, ...options.backend }));
  const incoming = {
    type: 'oidc' as const,
    issuer: issuer.issuer,
    audience: 'vmcp',
    jwks_allow_private_ip: true,
    ...options.incoming,
  };
  const gateway = closing(
    await serveGateway(
      {
        incoming,
        backends: [{ name: 'a', transport: 'streamable-http', url: backend.url }],
        ...options.config,
      },
      options,
    ),
  );
  const token: ProtectedGateway['token'] = (claims = {}, header = {}) => {
    const now = Math.floor(Date.now() / 1000);
    const all = { iss: issuer.issuer, aud: 'vmcp', sub: 'alice', iat: now, exp: now + 600, ...claims };
    return sign(all, key, header);
  };
  return {
    issuer,
    key,
    gateway,
    backend,
    incoming,
    token,
    bearer: async (claims) => ({ authorization: `Bearer ${await token(claims)}` }),
  };
}
