import { ASN1Obj } from '@sigstore/core';
import type { Signer } from '@sigstore/verify';
import type { Provenance } from '../records/registry-entry.ts';
import { SignatureRefused } from './signature.ts';

/** These fields identify the signer unambiguously. */
export type WantedSigner = Pick<
  Provenance,
  'signer_identity' | 'repository_uri' | 'repository_ref' | 'runner_environment'
> & {
  cert_issuer: string;
};

export interface SignedBy {
  identity: string;
  issuer: string;
}

/** Returns undefined for an ambiguous entry: an issuer without an identity, or a workflow path without its repository. */
export function wantedSigner({ cert_issuer, ...provenance }: Provenance): WantedSigner | undefined {
  const { signer_identity: identity = '', repository_uri: repository = '' } = provenance;
  if (!cert_issuer || (identity === '' && repository === '')) return undefined;
  return identity.startsWith('/') && repository === '' ? undefined : { ...provenance, cert_issuer };
}

type Identity = NonNullable<Signer['identity']>;

/** Extensions of Fulcio certificates (1.3.6.1.4.1.57264.1), each a DER UTF8String. */
const EXTENSIONS = [
  ['repository_uri', '1.3.6.1.4.1.57264.1.12', 'built from'],
  ['repository_ref', '1.3.6.1.4.1.57264.1.14', 'built from the ref'],
  ['runner_environment', '1.3.6.1.4.1.57264.1.11', 'built on the runner'],
] as const;

/** @throws SignatureRefused if the signer or the origin differs from the entry */
export function checkSigner(identity: Identity, wanted: WantedSigner): SignedBy {
  const { subjectAlternativeName: name = '', extensions: { issuer = '' } = {} } = identity;
  if (issuer !== wanted.cert_issuer)
    throw new SignatureRefused(`its signer was known by ${shown(issuer)}, and not by ${shown(wanted.cert_issuer)}`);
  if (!isWanted(name, wanted)) throw new SignatureRefused(`${shown(name)} signed it, and not ${shown(nameOf(wanted))}`);
  for (const [field, oid, what] of EXTENSIONS) {
    const expected = wanted[field];
    const said = expected ? extensionOf(identity, oid) : undefined;
    if (expected && said !== plain(expected))
      throw new SignatureRefused(
        `it was ${what} ${said === undefined ? 'nobody says which' : shown(said)}, and not ${shown(expected)}`,
      );
  }
  return { identity: name, issuer };
}

/** An entry names a workflow by its path or URL; the certificate appends the ref after an `@`. */
function isWanted(name: string, wanted: WantedSigner): boolean {
  const expected = nameOf(wanted);
  if (expected === '' || name === expected) return true;
  return /^https:\/\/.+\.ya?ml$/.test(expected) && name.startsWith(`${expected}@`);
}

function nameOf({ signer_identity: identity = '', repository_uri: repository = '' }: WantedSigner): string {
  return identity.startsWith('/') ? `${plain(repository)}${identity}` : identity;
}

const plain = (uri: string): string => uri.replace(/\/+$/, '');

function extensionOf({ oids = [] }: Identity, wanted: string): string | undefined {
  const found = oids.find(({ oid }) => oid?.id.join('.') === wanted);
  return found && ASN1Obj.parseBuffer(Buffer.from(found.value)).value.toString('utf8');
}

const shown = (text: string): string => (text === '' ? 'nobody' : JSON.stringify(text.slice(0, 500)));
