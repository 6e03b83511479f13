import { describe, expect, it } from '@jest/globals';
import { createHash } from 'node:crypto';
import { gzipSync } from 'node:zlib';
import { digestOfDocument, allowedDigestsOf, textOfDocument } from './document-of.ts';

const configMap = (fields: object) => ({ apiVersion: 'v1', kind: 'ConfigMap', metadata: { name: 'a' }, ...fields });
const TEXT = 'schema_version: v0.1.0\nbackends: []\n';
const sha256 = (bytes: string | Buffer) => createHash('sha256').update(bytes).digest('hex');

describe('textOfDocument and digestOfDocument', () => {
  it('return the text, and the digest of the file in the pod', () => {
    const plain = configMap({ data: { 'run-config.yaml': TEXT } });
    expect(textOfDocument(plain)).toBe(TEXT);
    expect(digestOfDocument(plain)).toBe(sha256(TEXT));
  });

  it('accept a compressed document', () => {
    const packed = gzipSync(TEXT);
    const object = configMap({ binaryData: { 'run-config.yaml': packed.toString('base64') } });
    expect(textOfDocument(object)).toBe(TEXT);
    expect(digestOfDocument(object)).toBe(sha256(packed));
  });

  it('return an allowed digest of name and content for the document and each file beside it', () => {
    const packed = gzipSync(TEXT);
    const binaryData = { 'run-config.yaml': packed.toString('base64') };
    expect(allowedDigestsOf(configMap({ data: { ca: 'näher' }, binaryData }))).toEqual([
      `config.${sha256('ca\nnäher')}`,
      `config.${sha256(Buffer.concat([Buffer.from('run-config.yaml\n'), packed]))}`,
    ]);
    expect(allowedDigestsOf(configMap({}))).toEqual([]);
  });

  it('return undefined if the document is missing or cannot be unpacked', () => {
    expect(textOfDocument(configMap({}))).toBeUndefined();
    expect(textOfDocument(configMap({ binaryData: { 'run-config.yaml': 'H4sI' } }))).toBeUndefined();
  });

  it('unpack at most 8 MiB', () => {
    const packed = (mebibytes: number) => gzipSync('a'.repeat(mebibytes * 1024 * 1024)).toString('base64');
    const textOf = (text: string) => textOfDocument(configMap({ binaryData: { 'run-config.yaml': text } }));
    expect(textOf(packed(8))).toHaveLength(8 * 1024 * 1024);
    expect(textOf(packed(9))).toBeUndefined();
  });
});
