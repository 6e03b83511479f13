import { describe, expect, it } from '@jest/globals';
import { TemplateSearch } from './template-search.ts';

const templates = (count: number, template: string) =>
  Array.from({ length: count }, () => ({ originalName: template, backend: 'a' }));
const URI = `x://${'a'.repeat(2_000)}`;

describe('TemplateSearch', () => {
  it('returns the first match', async () => {
    const entries = ['y://{a}', 'x://{b}', 'x://{+c}'].map((originalName) => ({ originalName, backend: 'a' }));
    expect(await new TemplateSearch(1_000_000).first(entries, 'x://1')).toBe(entries[1]);
  });

  it.each([
    ['that does not match', 'x://{a}{b}{c}!'],
    ['that matches', 'x://{a}{b}{c}'],
  ])('yields to the event loop with a template %s', async (_, template) => {
    let iterations = 0;
    const isOver = new AbortController();
    const count = () => {
      iterations++;
      if (!isOver.signal.aborted) setImmediate(count);
    };
    setImmediate(count);
    const search = new TemplateSearch(20_000_000);
    for (let uri = 0; uri < 500; uri++) await search.first(templates(1, template), URI);
    isOver.abort();
    expect(iterations).toBeGreaterThan(10);
  });

  it('stops at a backend when the URIs of a request have used its limit there', async () => {
    const search = new TemplateSearch(100_000);
    const last = { originalName: 'x://{a}', backend: 'a' };
    const other = { originalName: 'x://{a}', backend: 'b' };
    expect(await search.first([...templates(500, 'x://{a}{b}{c}!'), last], URI)).toBeUndefined();
    expect(await search.first([last], 'x://1')).toBeUndefined();
    expect(await search.first([last, other], 'x://1')).toBe(other);
  });
});
