import { describe, expect, it } from '@jest/globals';
import { answerFailure } from './answer-failure.ts';
import { OAuthError } from './errors.ts';
import { htmlAnswer } from './handler.ts';
import { StorageUnavailable } from './storage/storage.ts';

describe('answerFailure', () => {
  const logged = (error: unknown) => {
    const lines: [level: string, message: string, fields: unknown][] = [];
    const at = (level: string) => (message: string, fields?: unknown) => void lines.push([level, message, fields]);
    const log = { debug: at('debug'), info: at('info'), warn: at('warn'), error: at('error') };
    const facts = { path: '/oauth/token', headers: {} };
    const { status } = answerFailure(error, facts, { kind: 'json', renderErrorPage: () => htmlAnswer(''), log });
    return [status, ...lines];
  };

  it('logs a temporary failure as a warning with its reason', () => {
    const unknown = new OAuthError('temporarily_unavailable', 'x', { cause: new Error('made under another secret') });
    const fields = { path: '/oauth/token', reason: 'made under another secret' };
    expect(logged(unknown)).toEqual([503, ['warn', 'not available', fields]]);
    expect(logged(new StorageUnavailable('Redis is away'))).toEqual([
      503,
      ['warn', 'not available', { path: '/oauth/token', reason: 'Redis is away' }],
    ]);
  });

  it('logs an unexpected error with its cause, and no client error', () => {
    const bug = new TypeError('x is undefined');
    expect(logged(bug)).toEqual([
      500,
      ['error', 'the authorization server failed', { path: '/oauth/token', error: bug }],
    ]);
    expect(logged(new OAuthError('invalid_grant', 'x'))).toEqual([400]);
  });
});
