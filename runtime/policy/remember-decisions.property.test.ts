import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { callerQuestions, callerSources } from './testdata/caller-questions.ts';
import { identityOf, load, plainly, readPlainVisibility } from './testdata/plain-decisions.ts';
import {
  questions,
  resourceQuestions,
  resourceSources,
  sources,
  type PolicySource,
  type Question,
} from './testdata/policy-questions.ts';

function expectCedarsAnswers(source: PolicySource, asked: readonly Question[], cacheSize: number): void {
  const { texts } = source;
  const authorizer = load(source, { cacheSize });
  const isVisible = readPlainVisibility(source);
  for (const each of [...asked, ...asked]) {
    const { allowed } = authorizer.decide(identityOf(each), each.action, each.resource, each.args);
    expect({ texts, each, allowed }).toEqual({ texts, each, allowed: plainly(source, each) });
    const visible = authorizer.visible(identityOf(each), each.action, each.resource);
    expect({ texts, each, visible }).toEqual({ texts, each, visible: isVisible(each) });
    if (allowed) expect(visible).toBe(true);
  }
}

const cacheSizes = fc.constantFrom(4, 1_000);

describe('cached decision', () => {
  it('equals the decision of Cedar, and every allowed entry is visible', () => {
    fc.assert(fc.property(sources, questions, cacheSizes, expectCedarsAnswers), { seed: 7_301, numRuns: 60 });
  });

  it('differs for two resources that policies distinguish', () => {
    fc.assert(fc.property(resourceSources, resourceQuestions, cacheSizes, expectCedarsAnswers), {
      seed: 7_303,
      numRuns: 150,
    });
  });

  it('differs for two callers that policies distinguish', () => {
    fc.assert(fc.property(callerSources, callerQuestions, cacheSizes, expectCedarsAnswers), {
      seed: 7_307,
      numRuns: 200,
    });
  });
});
