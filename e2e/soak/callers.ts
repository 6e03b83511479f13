import { makeKey, sign, startIssuer } from '#runtime/incoming/testdata/fake-issuer';
import type { GatewayConfig } from '../gateway/start-gateway.ts';

/** Longer than any soak, in seconds. */
const TOKEN_LIFESPAN = 86_400;

interface Callers {
  readonly incoming: GatewayConfig['incoming'];
  /** The headers of each caller. */
  readonly callers: readonly Record<string, string>[];
  close(): Promise<void>;
}

/** Starts an issuer of tokens for this number of principals. 0: callers are anonymous. */
export async function startCallers(principals: number): Promise<Callers> {
  if (principals === 0) return { incoming: { type: 'anonymous' }, callers: [{}], close: () => Promise.resolve() };
  const key = await makeKey('soak');
  const issuer = await startIssuer([key.jwk]);
  const iat = Math.floor(Date.now() / 1000);
  const claims = { iss: issuer.issuer, aud: 'vmcp', iat, exp: iat + TOKEN_LIFESPAN };
  const tokens = await Promise.all(
    Array.from({ length: principals }, (_, index) => sign({ ...claims, sub: `caller-${index}` }, key)),
  );
  return {
    incoming: { type: 'oidc', issuer: issuer.issuer, audience: 'vmcp', jwks_allow_private_ip: true },
    callers: tokens.map((token) => ({ authorization: `Bearer ${token}` })),
    close: () => issuer.close(),
  };
}
