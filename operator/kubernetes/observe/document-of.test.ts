import { describe, expect, it } from '@jest/globals';
import { createHash } from 'node:crypto';
import { gzipSync } from 'node:zlib';
import { digestOfDocument, marksOf, textOfDocument } from './document-of.ts';

const configMap = (fields: object) => ({ apiVersion: 'v1', kind: 'ConfigMap', metadata: { name: 'a' }, ...fields });
const TEXT = 'schema_version: v0.1.0\nbackends: []\n';
const sha256 = (bytes: string | Buffer) => createHash('sha256').update(bytes).digest('hex');

describe('the document of a ConfigMap', () => {
  it('is read, and its digest is that of the file in the pod', () => {
    const plain = configMap({ data: { 'run-config.yaml': TEXT } });
    expect(textOfDocument(plain)).toBe(TEXT);
    expect(digestOfDocument(plain)).toBe(sha256(TEXT));
  });

  it('may be compressed', () => {
    const packed = gzipSync(TEXT);
    const object = configMap({ binaryData: { 'run-config.yaml': packed.toString('base64') } });
    expect(textOfDocument(object)).toBe(TEXT);
    expect(digestOfDocument(object)).toBe(sha256(packed));
  });

  it('has a mark, as has each file beside it, of name and content as a pod finds them', () => {
    const packed = gzipSync(TEXT);
    const binaryData = { 'run-config.yaml': packed.toString('base64') };
    expect(marksOf(configMap({ data: { ca: 'näher' }, binaryData }))).toEqual([
      `config.${sha256('ca\nnäher')}`,
      `config.${sha256(Buffer.concat([Buffer.from('run-config.yaml\n'), packed]))}`,
    ]);
    expect(marksOf(configMap({}))).toEqual([]);
  });

  it('is none where there is nothing, or nothing that can be unpacked', () => {
    expect(textOfDocument(configMap({}))).toBeUndefined();
    expect(textOfDocument(configMap({ binaryData: { 'run-config.yaml': 'H4sI' } }))).toBeUndefined();
  });
});
