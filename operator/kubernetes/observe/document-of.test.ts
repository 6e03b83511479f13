import { describe, expect, it } from '@jest/globals';
import { createHash } from 'node:crypto';
import { gzipSync } from 'node:zlib';
import { digestOfDocument, documentOf, lazyDocument } from './document-of.ts';

const configMap = (fields: object) => ({ apiVersion: 'v1', kind: 'ConfigMap', metadata: { name: 'a' }, ...fields });
const TEXT = 'schema_version: v0.1.0\nbackends: []\n';
const sha256 = (bytes: string | Buffer) => createHash('sha256').update(bytes).digest('hex');

describe('the document of a ConfigMap', () => {
  it('is read, and its digest is that of the file in the pod', () => {
    const plain = configMap({ data: { 'run-config.yaml': TEXT } });
    expect(documentOf(plain)).toEqual({ schema_version: 'v0.1.0', backends: [] });
    expect(digestOfDocument(plain)).toBe(sha256(TEXT));
  });

  it('may be compressed', () => {
    const packed = gzipSync(TEXT);
    const object = configMap({ binaryData: { 'run-config.yaml': packed.toString('base64') } });
    expect(documentOf(object)).toEqual({ schema_version: 'v0.1.0', backends: [] });
    expect(digestOfDocument(object)).toBe(sha256(packed));
  });

  it('is read at the first look alone, and every look has one of its own', () => {
    const data = { 'run-config.yaml': TEXT };
    const look = lazyDocument(configMap({ data }));
    const first = look();
    data['run-config.yaml'] = 'schema_version: v0.2.0';
    expect(look()).toEqual(first);
    expect(look()).not.toBe(first);
    expect(lazyDocument(configMap({}))()).toBeUndefined();
  });

  it('is none where there is nothing, or what a person wrote is no document', () => {
    expect(documentOf(configMap({}))).toBeUndefined();
    expect(documentOf(configMap({ data: { 'run-config.yaml': '{' } }))).toBeUndefined();
    expect(documentOf(configMap({ data: { 'run-config.yaml': 'text' } }))).toBeUndefined();
    expect(documentOf(configMap({ binaryData: { 'run-config.yaml': 'H4sI' } }))).toBeUndefined();
  });
});
