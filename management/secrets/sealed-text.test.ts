import { createDecipheriv, createHash, scryptSync } from 'node:crypto';
import { describe, expect, it } from '@jest/globals';
import { deriveKey, fits, openSealed, parseSealed, saltOf, sealText } from './sealed-text.ts';

const TEXT = '[["default",[["KEY","väl-ue"]]]]';
const FILE = '/state/secrets.encrypted';
const key = await deriveKey('correct horse');
const sealed = sealText(TEXT, key);

interface HeaderFields {
  salt: string;
  nonce: string;
  n: number;
  r: number;
  p: number;
  cipher: string;
}
const linesOf = (text: string): [string, string] => {
  const [header = '', body = ''] = text.split('\n');
  return [header, body];
};
const fieldsOf = (text: string) => JSON.parse(linesOf(text)[0]) as HeaderFields;
const summed = (lines: string) => `${lines}${createHash('sha256').update(lines).digest('hex')}\n`;
const open = (text: string) => openSealed(parseSealed(text, FILE), key, FILE);

describe('sealed text', () => {
  it('opens with its password, by a key that is derived from its salt', async () => {
    const parsed = parseSealed(sealed, FILE);
    const again = await deriveKey('correct horse', saltOf(parsed));
    expect(fits(parsed, again)).toBe(true);
    expect(openSealed(parsed, again, FILE)).toBe(TEXT);
  });

  it('accepts a password in any Unicode composition', async () => {
    const composed = await deriveKey('p\u00e4sswort', key.salt);
    expect((await deriveKey('pa\u0308sswort', key.salt)).key).toEqual(composed.key);
  });

  it('rejects any other password, and a key of another salt', async () => {
    const parsed = parseSealed(sealed, FILE);
    expect(fits(parsed, await deriveKey('correct horsf', key.salt))).toBe(false);
    expect(fits(parsed, { ...key, salt: (await deriveKey('x')).salt })).toBe(false);
  });

  it('opens with only the password and standard algorithms', () => {
    const [header, body] = linesOf(sealed);
    const { salt, nonce, n, r, p, cipher } = fieldsOf(sealed);
    expect([n, r, p, cipher]).toEqual([131_072, 8, 1, 'aes-256-gcm']);
    const options = { N: n, r, p, maxmem: 512 * 1024 * 1024 };
    const bytes = scryptSync('correct horse', Buffer.from(salt, 'base64url'), 32, options);
    const data = Buffer.from(body, 'base64url');
    const decipher = createDecipheriv('aes-256-gcm', bytes, Buffer.from(nonce, 'base64url'));
    decipher.setAAD(Buffer.from(header)).setAuthTag(data.subarray(-16));
    expect(decipher.update(data.subarray(0, -16), undefined, 'utf8') + decipher.final('utf8')).toBe(TEXT);
  });

  it('has a new nonce each time, and a salt of its own for each key', async () => {
    const [first, second] = [sealText(TEXT, key), sealText(TEXT, key)].map((text) => fieldsOf(text));
    expect(first?.nonce).not.toBe(second?.nonce);
    expect((await deriveKey('correct horse')).salt).not.toBe(key.salt);
    expect(sealed).not.toContain('ue');
  });

  it('reports any lost or changed byte as damage, and names the file', () => {
    for (let at = 0; at < sealed.length; at += 7) {
      const changed = sealed[at] === 'A' ? 'B' : 'A';
      const flipped = `${sealed.slice(0, at)}${changed}${sealed.slice(at + 1)}`;
      for (const text of [flipped, sealed.slice(0, at)])
        expect(() => parseSealed(text, FILE)).toThrow(`${FILE} is damaged`);
    }
    expect(() => parseSealed('', FILE)).toThrow('restore it from a backup');
    expect(() => parseSealed(`${sealed}\n`, FILE)).toThrow('damaged');
  });

  it('stays closed after its header or body was exchanged, even with a new checksum', () => {
    const [header = '', body = ''] = sealed.split('\n');
    const [other = '', otherBody = ''] = sealText('[]', key).split('\n');
    expect(() => open(summed(`${other}\n${body}\n`))).toThrow('damaged');
    expect(() => open(summed(`${header}\n${otherBody}\n`))).toThrow('damaged');
    expect(() => open(summed(`${header}\nAAAA\n`))).toThrow('damaged');
    expect(() => open(summed(`${header.replace('{"format"', '{ "format"')}\n${body}\n`))).toThrow('damaged');
    expect(open(summed(`${header}\n${body}\n`))).toBe(TEXT);
  });

  it.each([
    ['another version', '"version":1', '"version":2'],
    ['a cheaper password hash', '"n":131072', '"n":2'],
    ['a dearer one, which would take all memory', '"n":131072', '"n":1073741824'],
    ['another cipher', 'aes-256-gcm', 'aes-128-gcm'],
    ['a short salt', '"salt":"', '"salt":"AA","x":"'],
  ])('rejects %s', (_, from, to) => {
    const [header = '', body = ''] = sealed.split('\n');
    expect(() => parseSealed(summed(`${header.replace(from, to)}\n${body}\n`), FILE)).toThrow(
      'another version of vmcp',
    );
  });
});
