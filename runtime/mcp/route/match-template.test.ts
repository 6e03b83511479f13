import { describe, expect, it } from '@jest/globals';
import { matchTemplate } from './match-template.ts';

const matches = (template: string, uri: string) => matchTemplate(template, uri).matches;

describe('matchTemplate', () => {
  it.each([
    ['test://template/{id}/data', 'test://template/7/data'],
    ['file:///{+path}', 'file:///a/b,c'],
    ['repo://{owner}/{name}/files{/path*}', 'repo://a/b/files/c,d'],
    ['x://{a,b}', 'x://1,2'],
    ['x://{var:3}', 'x://abc'],
    ['x://s{?q,r}', 'x://s'],
    ['x://s{?q,r}', 'x://s?q=1'],
    ['x://s{?q,r}', 'x://s?r=&'.slice(0, -1)],
    ['x://s{?q,r}', 'x://s?q=1&r=2'],
    ['x://s?a=1{&q}', 'x://s?a=1&q=2'],
    ['x://s{?q}{#at}', 'x://s?q=1#2'],
    ['x://s{.a,b}', 'x://s.1.2'],
    ['x://s{;v}', 'x://s;v=1'],
    ['x://{a}-{b}', 'x://1-2-3'],
    ['x://plain', 'x://plain'],
  ])('matches the template %s with the URI %s', (template, uri) => {
    expect(matches(template, uri)).toBe(true);
  });

  it.each([
    ['test://template/{id}/data', 'test://template/7/8/data'],
    ['test://template/{id}/data', 'test://template//data'],
    ['test://template/{id}/data', 'test://template/7/data/'],
    ['test://template/{id}', 'TEST://template/7'],
    ['x://s{?q,r}', 'x://s?r=2&q=1'],
    ['x://s{?q}', 'x://s?z=1'],
    ['x://s{?q}', 'x://s&q=1'],
    ['x://plain', 'x://plain2'],
    ['x://{a', 'x://1'],
    ['x://a}', 'x://a}'],
    ['x://{}', 'x://1'],
    ['x://{a}}', 'x://1}'],
    ['x://{{a}}', 'x://1'],
    ['x://{a b}', 'x://1'],
    ['{+all}', 'x'.repeat(2_049)],
    ['{a}'.repeat(33), 'x'.repeat(40)],
  ])('does not match the template %s with the URI %s', (template, uri) => {
    expect(matches(template, uri)).toBe(false);
  });

  it.each([
    ['{+a}{+b}{+c}{+d}{+e}{+f}{+g}{+h}!'],
    ['{a}{b}{c}{d}{e}{f}{g}{h}!'],
    ['{a}x{b}x{c}x{d}x{e}!'],
    ['{?x*}{?x*}{?x*}{?x*}!'],
    [`${'{+a}xx'.repeat(16)}!`],
    [`{?${Array.from({ length: 32 }, (_, at) => `a${at}`).join(',')}}!`],
    [`${`{?${'a,'.repeat(31)}a}`.repeat(31)}!`],
    [`${'{?a}'.repeat(31)}${'x'.repeat(900)}!`],
  ])('bounds the steps of %s by variables times the length of the URI', (template) => {
    const { matches, steps } = matchTemplate(template, 'x'.repeat(2_000));
    expect(matches).toBe(false);
    expect(steps).toBeLessThan(2_001 * (8 * 32 + template.length));
    expect(steps).toBeLessThan(2_500_000);
  });

  it('counts the steps for the names of a query even without a match', () => {
    const names = Array.from({ length: 32 }, (_, number) => `a${number}`);
    const { matches, steps } = matchTemplate(`{?${names.join(',')}}`, 'x'.repeat(2_000));
    expect(matches).toBe(false);
    // Besides its search, each name combines three alternatives.
    expect(steps).toBeGreaterThan(3 * 32 * 2_000 + 32 * 2_000);
  });
});
