import { describe, expect, it } from '@jest/globals';
import { TemplateSearch } from './template-search.ts';

const templates = (count: number, template: string) =>
  Array.from({ length: count }, () => ({ originalName: template }));
const URI = `x://${'a'.repeat(2_000)}`;

describe('a search for the template of a URI', () => {
  it('finds the first', async () => {
    const entries = ['y://{a}', 'x://{b}', 'x://{+c}'].map((originalName) => ({ originalName }));
    expect(await new TemplateSearch(1_000_000).first(entries, 'x://1')).toBe(entries[1]);
  });

  it('lets others have their turn', async () => {
    let turns = 0;
    const isOver = new AbortController();
    const count = () => {
      turns++;
      if (!isOver.signal.aborted) setImmediate(count);
    };
    setImmediate(count);
    await new TemplateSearch(10_000_000).first(templates(500, 'x://{a}{b}{c}!'), URI);
    isOver.abort();
    expect(turns).toBeGreaterThan(10);
  });

  it('ends when the request has used up what it may look at, for all its URIs together', async () => {
    const search = new TemplateSearch(100_000);
    const entries = [...templates(500, 'x://{a}{b}{c}!'), { originalName: 'x://{a}' }];
    expect(await search.first(entries, URI)).toBeUndefined();
    expect(await search.first([{ originalName: 'x://{a}' }], 'x://1')).toBeUndefined();
  });
});
