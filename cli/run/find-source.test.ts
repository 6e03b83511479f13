import { describe, expect, it } from '@jest/globals';
import { classifySource, nameOf } from './find-source.ts';

const isEntry = (name: string) => ['memory', 'io.github.x/weather'].includes(name);

describe('classifySource', () => {
  it.each([
    ['memory', { kind: 'entry', name: 'memory' }, 'memory'],
    ['io.github.x/weather', { kind: 'entry', name: 'io.github.x/weather' }, 'weather'],
    ['memoryy', { kind: 'entry', name: 'memoryy' }, 'memoryy'],
    ['https://mcp.example.com/mcp', { kind: 'url', url: 'https://mcp.example.com/mcp' }, 'example'],
    ['http://127.0.0.1:8080/mcp?x=1', { kind: 'url', url: 'http://127.0.0.1:8080/mcp?x=1' }, undefined],
    ['@scope/server-files', { kind: 'image', image: 'npx://@scope/server-files' }, 'files'],
    ['@scope/tool@1.2.3', { kind: 'image', image: 'npx://@scope/tool@1.2.3' }, 'tool'],
    ['some-mcp@latest', { kind: 'image', image: 'npx://some-mcp@latest' }, 'some'],
    ['npx://some-mcp', { kind: 'image', image: 'npx://some-mcp' }, 'some'],
    ['uvx://mcp-server-time', { kind: 'image', image: 'uvx://mcp-server-time' }, 'time'],
    ['ghcr.io/x/y-server:1.0', { kind: 'image', image: 'ghcr.io/x/y-server:1.0' }, 'y'],
    ['localhost:5000/img', { kind: 'image', image: 'localhost:5000/img' }, 'img'],
    ['mcp/fetch', { kind: 'image', image: 'mcp/fetch' }, 'fetch'],
  ])('classifies %s by its form', (text, source, name) => {
    const found = classifySource(text, isEntry);
    expect(found).toEqual(source);
    if (name === undefined) expect(() => nameOf(found)).toThrow('--name');
    else expect(nameOf(found)).toBe(name);
  });

  it.each(['', 'a b', '-rf', 'a\nb', 'x'.repeat(3000)])('rejects as wrong usage: %j', (text) => {
    expect(() => classifySource(text, isEntry)).toThrow('is no entry, package, URL or image');
  });

  it.each(['./server.js', '../server.js', '/opt/server', '~/server'])(
    'rejects the path %s as an image, and names the manifest to write',
    (text) => {
      expect(() => classifySource(text, isEntry)).toThrow(/is a path: .* write an MCPServer with its command/);
    },
  );

  it('rejects a URL with a password without repeating it', () => {
    const attempt = () => classifySource('https://user:hunter2@mcp.example.com/', isEntry);
    expect(attempt).toThrow('holds a password');
    expect(attempt).not.toThrow('hunter2');
  });
});
