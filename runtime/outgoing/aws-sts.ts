import { hash } from 'node:crypto';
import aws4 from 'aws4';
import type { Dispatcher } from 'undici';
import { ConfigError, RequestError } from '#runtime/errors';
import type { Identity } from '#runtime/incoming/identity';
import { assumeRole, type AwsCredentials } from './assume-role.ts';
import { awsError } from './aws-error.ts';
import type { CredentialDeps } from './credential-deps.ts';
import type { Credential, CredentialHeaders, OutgoingRequest } from './credential.ts';
import { createDispatcher } from './dispatcher.ts';
import { ExchangedTokens, type Exchanged } from './exchanged-tokens.ts';
import { createRoleSelection, type AwsSts } from './select-role.ts';

const DEADLINE = 5_000;
const CONNECT_TIMEOUT = 3_000;
const CONNECTIONS = 16;
const DURATION = 3_600;
const SERVICE = 'aws-mcp';
const NO_REQUEST: OutgoingRequest = { verb: 'GET', body: undefined };
const UNSIGNED = { 'content-type': true, 'content-length': true };
const UNUSED_END = 30_000;
const RENEW_BEFORE = 300_000;

interface AssumedRole extends Exchanged {
  readonly credentials: AwsCredentials;
}

/** Signs method, path and body (AWS Signature Version 4). The caller's token authorizes the role; cached by both. @throws ConfigError */
export function awsSts(auth: AwsSts, deps: CredentialDeps): Credential {
  return new AwsStsCredential(auth, deps);
}

class AwsStsCredential implements Credential {
  readonly authType = 'awsSts';
  readonly perUser = true;
  readonly #auth: AwsSts;
  readonly #deps: CredentialDeps;
  readonly #endpoint: string;
  readonly #host: string;
  readonly #path: string;
  readonly #roleOf: (claims: Identity['claims']) => string | undefined;
  readonly #roles: ExchangedTokens<AssumedRole>;
  /** Last credentials of an identity, so that a cache hit reads no claim. */
  readonly #known = new WeakMap<Identity, AssumedRole>();
  readonly #signers = new WeakMap<CredentialHeaders, AssumedRole>();
  readonly #dispatcher: Dispatcher;

  constructor(auth: AwsSts, deps: CredentialDeps) {
    if (deps.url === undefined) throw new ConfigError(`backend ${deps.backend}: awsSts needs a backend over HTTP`);
    const url = new URL(deps.url);
    this.#auth = auth;
    this.#deps = deps;
    this.#endpoint = deps.stsEndpoint ?? regionalEndpoint(auth.region);
    this.#host = url.host;
    this.#path = url.pathname + url.search;
    this.#roleOf = createRoleSelection(auth);
    this.#roles = new ExchangedTokens({ now: deps.now });
    const connections = { connectTimeout: CONNECT_TIMEOUT, connections: CONNECTIONS };
    this.#dispatcher = createDispatcher({ proxy: deps.proxy, ...connections });
  }

  headersFor(
    identity: Identity,
    request: OutgoingRequest = NO_REQUEST,
  ): CredentialHeaders | Promise<CredentialHeaders> {
    const known = this.#known.get(identity);
    if (known !== undefined && !known.dropped && this.#deps.now() < known.refreshAt) return this.#sign(request, known);
    const role = this.#lookUp(identity);
    return role instanceof Promise ? role.then((assumed) => this.#sign(request, assumed)) : this.#sign(request, role);
  }

  invalidate(identity: Identity, refused: CredentialHeaders): boolean {
    const signer = this.#signers.get(refused);
    if (signer !== undefined) signer.dropped = true;
    return identity.token !== undefined;
  }

  close(): void {
    void this.#dispatcher.close();
  }

  #lookUp(identity: Identity): AssumedRole | Promise<AssumedRole> {
    const { backend, now } = this.#deps;
    if (identity.token === undefined || now() >= identity.expiresAt) {
      throw awsError('aws_no_subject', backend, new Error('no valid subject token'));
    }
    const role = this.#roleOf(identity.claims);
    if (role === undefined)
      throw awsError('aws_no_role', backend, new Error('no mapping matches, and there is no fallback'));
    const sessionName = sessionNameOf(identity, this.#auth.session_name_claim);
    const key = JSON.stringify([identity.key, role, sessionName]);
    const assume = () => this.#assume(identity, identity.token ?? '', role, sessionName);
    const known = this.#roles.serving(key, assume);
    if (known === undefined) return this.#await(key, assume);
    this.#known.set(identity, known);
    return known;
  }

  async #await(key: string, assume: () => Promise<AssumedRole>): Promise<AssumedRole> {
    const flight = this.#roles.obtain(key, assume);
    if (flight === undefined)
      throw awsError('aws_sts_busy', this.#deps.backend, new Error('too many requests in flight'));
    return flight;
  }

  async #assume(identity: Identity, webIdentity: string, role: string, sessionName: string): Promise<AssumedRole> {
    const { backend, now, log, count, exchangeDeadline: deadline = DEADLINE } = this.#deps;
    const duration = this.#auth.session_duration ?? DURATION;
    const where = { backend, endpoint: this.#endpoint, dispatcher: this.#dispatcher, deadline, now };
    try {
      const credentials = await assumeRole({ ...where, role, sessionName, webIdentity, duration });
      const life = credentials.expiresAt - now();
      const assumed = {
        credentials,
        refreshAt: credentials.expiresAt - Math.min(RENEW_BEFORE, life / 5),
        usableUntil: credentials.expiresAt - Math.min(UNUSED_END, life / 10),
        dropped: false,
        used: true,
      };
      count?.('exchanged');
      this.#known.set(identity, assumed);
      return assumed;
    } catch (error) {
      count?.('failed');
      log.warn('a role could not be assumed', {
        backend,
        code: error instanceof RequestError ? error.answer.code : '',
        error,
      });
      throw error;
    }
  }

  /** Signs only the named headers, in lower case (RFC 9110). */
  #sign({ verb, body, path = this.#path }: OutgoingRequest, assumed: AssumedRole): CredentialHeaders {
    const { region, service = SERVICE } = this.#auth;
    const { credentials } = assumed;
    const date = new Date(this.#deps.now()).toISOString().replace(/[:-]|\.\d{3}/g, '');
    const digest = hash('sha256', body ?? '', 'hex');
    const request = {
      service,
      region,
      method: verb,
      path,
      body: body ?? '',
      headers: {
        host: this.#host,
        'x-amz-content-sha256': digest,
        'x-amz-date': date,
        'x-amz-security-token': credentials.sessionToken,
      },
      extraHeadersToIgnore: UNSIGNED,
    };
    const signed = aws4.sign(request, credentials);
    const headers = Object.freeze([
      ...['x-amz-content-sha256', digest, 'x-amz-date', date, 'x-amz-security-token', credentials.sessionToken],
      ...['authorization', String(signed.headers?.Authorization)],
    ]);
    this.#signers.set(headers, assumed);
    return headers;
  }
}

/** Returns the endpoint of the region, which AWS recommends over the global one. */
function regionalEndpoint(region: string): string {
  return `https://sts.${region}.amazonaws.com${region.startsWith('cn-') ? '.cn' : ''}/`;
}

const MAX_NAME = 64;

/** Returns the name of the caller in CloudTrail: `[\w+=,.@-]{2,64}`. */
function sessionNameOf({ claims, subject }: Identity, claim: string | undefined): string {
  const value = claim !== undefined && Object.hasOwn(claims, claim) ? claims[claim] : undefined;
  const text = typeof value === 'string' && value !== '' ? value : subject;
  const name = text.replace(/[^\w+=,.@-]/g, '-').slice(0, MAX_NAME);
  return name.length < 2 ? name.padEnd(2, '-') : name;
}
