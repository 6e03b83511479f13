import { createHash, randomBytes } from 'node:crypto';
import { CLIENT_ID, CLIENT_SECRET, type OAuthProviderOptions } from './options.ts';

/** Consent of a user. */
export interface Grant {
  readonly user: string;
  readonly redirectUri: string;
  readonly challenge: string | null;
  readonly nonce: string | null;
  readonly scope: string;
}

/** Result of the token endpoint. */
export interface Issued {
  readonly grant: Grant;
  readonly accessToken: string;
  readonly refreshToken: string | undefined;
}

/** An error that the token endpoint answers. */
export class GrantError extends Error {
  readonly code: string;
  readonly status: number;
  constructor(code: string, status = 400) {
    super(code);
    this.code = code;
    this.status = status;
  }
}

/** Codes and tokens of a provider, checked as strictly as RFC 6749 and RFC 7636 require. */
export class Grants {
  readonly #options: OAuthProviderOptions;
  readonly #codes = new Map<string, Grant>();
  readonly #access = new Map<string, Grant>();
  readonly #refresh = new Map<string, Grant>();
  readonly #revoked = new Set<string>();
  readonly #issued: (readonly [secret: string, user: string])[] = [];

  constructor(options: OAuthProviderOptions) {
    this.#options = options;
  }

  newCode(grant: Grant): string {
    const code = randomBytes(24).toString('base64url');
    this.#codes.set(code, grant);
    this.#issued.push([code, grant.user]);
    return code;
  }

  /** Removes the user, whose tokens all become invalid. */
  revoke(user: string): void {
    this.#revoked.add(user);
  }

  /** Invalidates all codes and tokens that this user has received so far. */
  endGrants(user: string): void {
    for (const tokens of [this.#codes, this.#access, this.#refresh]) {
      for (const [token, grant] of tokens) if (grant.user === user) tokens.delete(token);
    }
  }

  /** Records another issued secret. */
  note(secret: string, user: string): void {
    this.#issued.push([secret, user]);
  }

  /** Returns every issued code and token with its user. */
  issued(): readonly (readonly [secret: string, user: string])[] {
    return this.#issued;
  }

  userOf(authorization: string | undefined): Grant | undefined {
    const grant = this.#access.get(authorization?.replace(/^Bearer /, '') ?? '');
    return grant === undefined || this.#revoked.has(grant.user) ? undefined : grant;
  }

  /** @throws GrantError */
  redeem(form: URLSearchParams, authorization: string | undefined): Issued {
    this.#checkClient(form, authorization);
    if (form.get('grant_type') === 'refresh_token') return this.#refreshed(form.get('refresh_token') ?? '');
    const code = form.get('code') ?? '';
    const grant = this.#codes.get(code);
    this.#codes.delete(code);
    const hashed = createHash('sha256')
      .update(form.get('code_verifier') ?? '')
      .digest('base64url');
    if (grant === undefined) throw new GrantError('invalid_grant');
    const matches = grant.redirectUri === form.get('redirect_uri') && grant.challenge === hashed;
    if (!matches) throw new GrantError('invalid_grant');
    return this.#issue(grant, this.#options.refresh === 'none' ? undefined : this.#newRefreshToken(grant));
  }

  #refreshed(token: string): Issued {
    const grant = this.#refresh.get(token);
    if (grant === undefined || this.#revoked.has(grant.user)) throw new GrantError('invalid_grant');
    if (this.#options.refresh !== 'rotates') return this.#issue(grant, undefined);
    this.#refresh.delete(token);
    return this.#issue(grant, this.#newRefreshToken(grant));
  }

  #issue(grant: Grant, refreshToken: string | undefined): Issued {
    const accessToken = `at-${randomBytes(24).toString('base64url')}`;
    this.#access.set(accessToken, grant);
    this.#issued.push([accessToken, grant.user]);
    return { grant, accessToken, refreshToken };
  }

  #newRefreshToken(grant: Grant): string {
    const token = `rt-${randomBytes(24).toString('base64url')}`;
    this.#refresh.set(token, grant);
    this.#issued.push([token, grant.user]);
    return token;
  }

  #checkClient(form: URLSearchParams, authorization: string | undefined): void {
    const { clientAuth = 'body', clientSecret = CLIENT_SECRET } = this.#options;
    const [id, secret] = basicOf(authorization);
    const known = {
      body: form.get('client_id') === CLIENT_ID && form.get('client_secret') === clientSecret,
      header: id === CLIENT_ID && secret === clientSecret && !form.has('client_secret'),
      public: form.get('client_id') === CLIENT_ID && !form.has('client_secret') && authorization === undefined,
    }[clientAuth];
    if (!known) throw new GrantError('invalid_client', 401);
  }
}

/** RFC 6749 §2.3.1: both parts are form-encoded. */
function basicOf(authorization = ''): (string | undefined)[] {
  const pair = Buffer.from(authorization.replace(/^Basic /, ''), 'base64').toString();
  return pair.split(':').map((part) => new URLSearchParams(`part=${part}`).get('part') ?? undefined);
}
