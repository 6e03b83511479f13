import { createSecureContext } from 'node:tls';
import { codeOf } from '../files/write-file.ts';

/** Certificates and keys in PEM form. */
interface TlsMaterial {
  ca?: string | undefined;
  cert?: string | undefined;
  key?: string | undefined;
}

const LONGER = 'make one with a key of at least 2048 bits (RSA) or 256 bits (EC)';
const PROBLEMS: Readonly<Record<string, string>> = {
  ERR_SSL_EE_KEY_TOO_SMALL: `the key of the certificate is too short for TLS: ${LONGER}`,
  ERR_SSL_CA_KEY_TOO_SMALL: `the key of a certificate of its chain is too short for TLS: ${LONGER}`,
  ERR_SSL_CA_MD_TOO_WEAK: 'a certificate is signed with a hash that is too weak for TLS: make one with SHA-256',
  ERR_OSSL_X509_KEY_VALUES_MISMATCH: 'the private key is not that of the certificate: write the key that belongs to it',
};

/** Returns why Node cannot use a certificate or a private key for TLS, with the remedy; undefined: Node can. */
export function findTlsProblem(material: TlsMaterial): string | undefined {
  try {
    createSecureContext(material);
    return undefined;
  } catch (error) {
    return PROBLEMS[codeOf(error) ?? ''] ?? unreadable(error, findPart(material));
  }
}

/** Returns the part that Node rejects on its own. */
function findPart({ ca, cert, key }: TlsMaterial): string {
  if (ca !== undefined && isRefused({ ca })) return 'a certificate of the authorities';
  if (cert !== undefined && isRefused({ cert })) return 'a certificate or its chain';
  return key !== undefined && isRefused({ key }) ? 'the private key' : 'the certificate with its key';
}

function isRefused(part: TlsMaterial): boolean {
  try {
    createSecureContext(part);
    return false;
  } catch {
    return true;
  }
}

function unreadable(error: unknown, part: string): string {
  const reason = String(error).replace(/^.*:/, '');
  return `${part} cannot be read (${reason}): write whole PEM blocks, the key without passphrase`;
}
