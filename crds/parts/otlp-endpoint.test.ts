import { describe, expect, it } from '@jest/globals';
import { readTracesUrl } from './otlp-endpoint.ts';

describe('readTracesUrl', () => {
  it.each([
    ['https://otel.example', false, 'https://otel.example/v1/traces'],
    ['https://otel.example/', false, 'https://otel.example/v1/traces'],
    ['https://otel.example:4318/own/path?team=a', false, 'https://otel.example:4318/own/path?team=a'],
    ['otel.example:4318', false, 'https://otel.example:4318/v1/traces'],
    ['otel:4318', true, 'http://otel:4318/v1/traces'],
    ['http://otel:4318', true, 'http://otel:4318/v1/traces'],
    ['https://otel:4318', true, 'https://otel:4318/v1/traces'],
  ])('reads %s (insecure: %s) as %s', (endpoint, insecure, url) => {
    expect(readTracesUrl({ endpoint, insecure })).toEqual({ url });
  });

  it.each([
    [undefined, 'needs endpoint'],
    ['http://otel:4318', 'insecure: true'],
    ['grpc://otel:4317', 'another scheme'],
    ['https://user:secret@otel', 'holds a password'],
    ['https://', 'no URL'],
  ])('rejects %s: %s', (endpoint, problem) => {
    expect(readTracesUrl({ endpoint, insecure: false })).toEqual({ problem: expect.stringContaining(problem) });
  });
});
