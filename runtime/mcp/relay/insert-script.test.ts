import { describe, expect, it } from '@jest/globals';
import { insertScript } from './insert-script.ts';

const APP = 'text/html;profile=mcp-app';
const answer = (contents: object[], more: object = {}) =>
  JSON.stringify({ jsonrpc: '2.0', id: 1, result: { contents, ...more } });
const inserted = (html: string) => insertScript(answer([{ uri: 'ui://a', mimeType: APP, text: html }]), '<script>');

describe('insertScript', () => {
  it.each([
    ['<p>"a"\n</p>', '<script><p>"a"\n</p>'],
    ['<!DOCTYPE html><p>', '<!DOCTYPE html><script><p>'],
    ['\uFEFF <!-- a --><!-- > -->\n<!doctype html>\n<p>', '\uFEFF <!-- a --><!-- > -->\n<!doctype html><script>\n<p>'],
    ['<!-- a', '<script><!-- a'],
    ['<p><!doctype html>', '<script><p><!doctype html>'],
  ])('inserts the script after the doctype of %j', (html, expected) => {
    expect(inserted(html)).toBe(answer([{ uri: 'ui://a', mimeType: APP, text: expected }]));
  });

  it('inserts it into base64 and into each of several apps, and makes the answer private', () => {
    const blob = (html: string) => Buffer.from(html).toString('base64');
    const contents = (script: string) => [
      { mimeType: 'text/html', text: '<p>' },
      { mimeType: APP, blob: blob(`${script}<p>é`) },
      { mimeType: 'TEXT/HTML; profile=mcp-app', text: script, _meta: { ui: { prefersBorder: true } } },
    ];
    expect(insertScript(answer(contents(''), { cacheScope: 'public' }), '<s>')).toBe(
      answer(contents('<s>'), { cacheScope: 'private' }),
    );
  });

  it('keeps all other answers', () => {
    const others = [
      answer([{ mimeType: 'text/html', text: '<p>' }], { cacheScope: 'public' }),
      answer([{ mimeType: APP, text: 5 }, 7 as unknown as object]),
      '{"jsonrpc":"2.0","id":1,"result":{"contents":{}}}',
      '{"jsonrpc":"2.0","id":1,"error":{"code":-32002,"message":"no"}}',
      '{"jsonrpc":"2.0","method":"notifications/message","params":{}}',
      '',
    ];
    for (const text of others) expect(insertScript(text, '<script>')).toBe(text);
  });
});
