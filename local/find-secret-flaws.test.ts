import { describe, expect, it } from '@jest/globals';
import { AUTHORITY } from '#operator/plan/testdata/authority';
import { findKeyPair } from './find-secret-flaws.ts';

/** Returns the certificate with a public key algorithm that Node does not know. */
function withUnknownKey(pem: string): string {
  const der = Buffer.from(pem.replaceAll(/-----[^-]+-----|\n/g, ''), 'base64');
  const algorithm = Buffer.from('06072a8648ce3d0201', 'hex');
  der.writeUInt8(0x7f, der.indexOf(algorithm) + algorithm.length - 1);
  return `-----BEGIN CERTIFICATE-----\n${der.toString('base64')}\n-----END CERTIFICATE-----\n`;
}

describe('findKeyPair', () => {
  it('ignores a certificate whose public key cannot be read', () => {
    expect(findKeyPair(AUTHORITY)).toBeDefined();
    expect(findKeyPair(withUnknownKey(AUTHORITY))).toBeUndefined();
  });
});
