import { X509Certificate } from 'node:crypto';
import { describe, expect, it } from '@jest/globals';
import { type Certificates, renewCertificates } from './renew-certificates.ts';

const NAMES = ['vmcp-webhook.vmcp-system.svc'];
const DAY = 24 * 60 * 60 * 1000;
const NOW = Date.parse('2026-03-01T00:00:00Z');

const authoritiesOf = ({ authorities }: Certificates) =>
  (authorities.match(/-----BEGIN[^-]+-----[^-]+-----END CERTIFICATE-----/g) ?? []).map(
    (pem) => new X509Certificate(pem),
  );
const trusted = (pem: string, by: Certificates) =>
  authoritiesOf(by).some((authority) => new X509Certificate(pem).verify(authority.publicKey));

/** Returns the certificates after one check per day until `end`. */
async function lookUntil(end: number, start: Certificates, from: number): Promise<Certificates> {
  let stored = start;
  for (let now = from; now <= end; now += DAY) stored = await renewCertificates(stored, NAMES, now);
  return stored;
}

describe('renewCertificates', () => {
  it('creates certificates for the Service, signed by an own authority, if there are none', async () => {
    const made = await renewCertificates(undefined, NAMES, NOW);
    const certificate = new X509Certificate(made.certificate);
    expect(certificate.checkHost(NAMES[0]!)).toBe(NAMES[0]);
    expect(certificate.checkHost('vmcp-webhook.other.svc')).toBeUndefined();
    expect(certificate.ca).toBe(false);
    expect(authoritiesOf(made)).toHaveLength(1);
    expect(authoritiesOf(made)[0]!.ca).toBe(true);
    expect(trusted(made.certificate, made)).toBe(true);
    expect(made.certificate).not.toContain('PRIVATE KEY');
  });

  it('keeps fresh certificates', async () => {
    const made = await renewCertificates(undefined, NAMES, NOW);
    expect(await renewCertificates(made, NAMES, NOW + 59 * DAY)).toBe(made);
  });

  it('renews a certificate with a third of its life left, and keeps the authorities', async () => {
    const made = await renewCertificates(undefined, NAMES, NOW);
    const later = await renewCertificates(made, NAMES, NOW + 61 * DAY);
    expect(later.certificate).not.toBe(made.certificate);
    expect(later.authorities).toBe(made.authorities);
    expect(trusted(later.certificate, made)).toBe(true);
  });

  it('adds a new authority to the trusted ones before it signs, and keeps the old one while it is valid', async () => {
    const made = await renewCertificates(undefined, NAMES, NOW);
    const before = await lookUntil(NOW + 485 * DAY, made, NOW);
    expect(before.authorities).toBe(made.authorities);
    const after = await renewCertificates(before, NAMES, NOW + 488 * DAY);
    expect(authoritiesOf(after)).toHaveLength(2);
    expect(after.certificate).toBe(before.certificate);
    const signed = await lookUntil(NOW + 580 * DAY, after, NOW + 489 * DAY);
    expect(trusted(signed.certificate, { ...signed, authorities: made.authorities })).toBe(false);
    expect(trusted(signed.certificate, signed)).toBe(true);
    const end = await lookUntil(NOW + 740 * DAY, signed, NOW + 581 * DAY);
    expect(authoritiesOf(end)).toHaveLength(1);
  });

  it('signs with a new authority ten minutes after its announcement, and with the old one until then', async () => {
    const MINUTE = 60_000;
    const made = await renewCertificates(undefined, NAMES, NOW);
    const before = await renewCertificates({ ...made, certificate: 'damaged' }, NAMES, NOW + 426 * DAY);
    // Authority and certificate both have less than a third of their life left.
    const due = NOW + 488 * DAY;
    const announced = await renewCertificates(before, NAMES, due);
    expect([authoritiesOf(announced).length, announced.certificate]).toEqual([2, before.certificate]);
    expect(await renewCertificates(announced, NAMES, due + 9 * MINUTE)).toBe(announced);
    const signed = await renewCertificates(announced, NAMES, due + 11 * MINUTE);
    expect(trusted(signed.certificate, { ...signed, authorities: made.authorities })).toBe(false);
    expect(trusted(signed.certificate, signed)).toBe(true);
  });

  it.each<[string, (stored: Certificates) => Certificates]>([
    ['an unreadable certificate', (stored) => ({ ...stored, certificate: 'damaged' })],
    ['a key that is not of the certificate', (stored) => ({ ...stored, key: stored.authorityKey })],
    ['an unreadable authority', (stored) => ({ ...stored, authorities: '' })],
    ['an authority without its key', (stored) => ({ ...stored, authorityKey: 'damaged' })],
  ])('replaces damaged ones: %s', async (_what, damage) => {
    const damaged = damage(await renewCertificates(undefined, NAMES, NOW));
    const later = NOW + DAY;
    const mended = await renewCertificates(damaged, NAMES, later);
    const certificate = new X509Certificate(mended.certificate);
    expect(trusted(mended.certificate, mended)).toBe(true);
    expect(certificate.checkHost(NAMES[0]!)).toBe(NAMES[0]);
    expect(await renewCertificates(mended, NAMES, later + DAY)).toBe(mended);
  });

  it('issues a new certificate for another name of the Service', async () => {
    const made = await renewCertificates(undefined, NAMES, NOW);
    const moved = await renewCertificates(made, ['other.vmcp-system.svc'], NOW + DAY);
    expect(new X509Certificate(moved.certificate).checkHost('other.vmcp-system.svc')).toBeDefined();
  });
});
