import { describe, expect, it } from '@jest/globals';
import type { Authz } from '#crds/run-config/incoming';
import { ConfigError, RequestError } from '#runtime/errors';
import type { Identity } from '#runtime/incoming/identity';
import type { Log } from '#runtime/telemetry/log';
import { createAuthorizer, type AuthorizerOptions } from './authorize.ts';
import type { Authorizer, PolicyResource } from './authorizer.ts';

const silent: Log = { debug: () => undefined, info: () => undefined, warn: () => undefined, error: () => undefined };

function authz(policies: string[], more: Partial<Authz> = {}): Authz {
  return { type: 'cedarv1', version: '1.0', mode: 'enforce', policies, entities_json: '[]', ...more };
}

function load(policies: string[], more: Partial<Authz> = {}, options: Partial<AuthorizerOptions> = {}): Authorizer {
  return createAuthorizer(authz(policies, more), { log: silent, ...options });
}

const when = (condition: string, effect = 'permit') => `${effect}(principal, action, resource) when { ${condition} };`;
const ALL = 'permit(principal, action, resource);';

function caller(more: Partial<Identity> = {}): Identity {
  return {
    issuer: 'https://issuer.example',
    subject: 'alice',
    clientId: undefined,
    scopes: [],
    groups: [],
    claims: {},
    key: 'alice',
    token: undefined,
    expiresAt: Infinity,
    ...more,
  };
}
const tool: PolicyResource = { name: 'files_write', backend: 'files', originalName: 'write' };

/** Returns whether alice may call the tool with these arguments. */
function allows(authorizer: Authorizer, args: unknown = {}, identity: Identity = caller()): boolean {
  return authorizer.decide(identity, 'call_tool', tool, args).allowed;
}

describe('access', () => {
  it('includes every authenticated caller without policies', () => {
    const open = createAuthorizer(undefined, { log: silent });
    expect(open.decide(caller(), 'call_tool', tool, {})).toEqual({ allowed: true, wouldDeny: false, policies: [] });
    expect(open.visible(caller(), 'call_tool', tool)).toBe(true);
    expect(open.readsArguments).toBe(false);
  });

  it('excludes every caller with an empty list', () => {
    const closed = load([]);
    expect(closed.decide(caller(), 'call_tool', tool, {})).toEqual({ allowed: false, wouldDeny: false, policies: [] });
    expect(closed.visible(caller(), 'call_tool', tool)).toBe(false);
  });

  it('has a fresh id after each load', () => {
    expect(load([ALL]).id).not.toBe(load([ALL]).id);
    expect(createAuthorizer(undefined, { log: silent }).id).not.toBe(createAuthorizer(undefined, { log: silent }).id);
  });

  it('refuses invalid policies and reports every problem', () => {
    const refused = () => load(['permit(principal);', when('1 > "a"')]);
    expect(refused).toThrow(ConfigError);
    expect(refused).toThrow(/^policies\[0\]: .*/);
  });

  it('logs a policy that can never apply', () => {
    const warned: string[] = [];
    load([when('false')], {}, { log: { ...silent, warn: (message) => warned.push(message) } });
    expect(warned).toEqual([
      'policies[0]: policy is impossible: the policy expression evaluates to false for all valid requests',
    ]);
  });
});

describe('policy vocabulary', () => {
  it.each([
    'principal == Client::"alice"',
    'principal in Group::"staff"',
    'principal.claim_role == "admin" && context.claim_role == "admin"',
    'action == Action::"call_tool"',
    'action == Action::"tools/call"',
    'resource == Tool::"files_write"',
    'resource in Backend::"files"',
    'resource.name == "files_write" && resource.backend == "files" && resource.original_name == "write"',
    'resource.readOnlyHint == false && resource.destructiveHint && resource.title == "Write"',
    'context.arg_path like "/tmp/*" && context.arg_n == 3 && context.arg_force && context.arg_tags.contains("x")',
  ])('lets policies check %s', (condition) => {
    const identity = caller({ groups: ['staff'], claims: { role: 'admin' } });
    const annotations = { readOnlyHint: false, destructiveHint: true, title: 'Write', other: 'x' };
    const args = { path: '/tmp/a', n: 3, force: true, tags: ['x', 'y'], object: {} };
    const decide = (policy: string) =>
      load([policy]).decide(identity, 'call_tool', { ...tool, annotations }, args).allowed;
    expect(decide(when(condition))).toBe(true);
    expect(decide(when(`!(${condition})`))).toBe(false);
  });

  it('includes prompts and resources', () => {
    const policies = [
      'permit(principal, action == Action::"prompts/get", resource == Prompt::"files_ask");',
      'permit(principal, action == Action::"resources/read", resource == Resource::"file:///a") when { resource.name like "file:*" };',
    ];
    const authorizer = load(policies);
    const prompt = { name: 'files_ask', backend: 'files', originalName: 'ask' };
    const resource = { name: 'file:///a', backend: 'files', originalName: 'file:///a' };
    expect(authorizer.decide(caller(), 'get_prompt', prompt, { a: 'b' }).allowed).toBe(true);
    expect(authorizer.decide(caller(), 'call_tool', prompt, {}).allowed).toBe(false);
    expect(authorizer.decide(caller(), 'read_resource', resource, undefined).allowed).toBe(true);
    expect(authorizer.decide(caller(), 'read_resource', prompt, undefined).allowed).toBe(false);
  });

  it('includes the groups of the configured claim', () => {
    const policy = 'permit(principal in Group::"staff", action, resource);';
    const identity = caller({ groups: ['others'], claims: { teams: ['staff', 3], team: 'staff' } });
    expect(allows(load([policy]), {}, identity)).toBe(false);
    expect(allows(load([policy], { groups_claim: 'teams' }), {}, identity)).toBe(true);
    expect(allows(load([policy], { groups_claim: 'team' }), {}, identity)).toBe(true);
    expect(allows(load([policy], { groups_claim: 'absent' }), {}, caller({ groups: ['staff'] }))).toBe(true);
  });

  it('adds the user’s entities to those of the request', () => {
    const entities_json = JSON.stringify([
      { uid: { type: 'Client', id: 'alice' }, attrs: { team: { __entity: { type: 'Team', id: 'red' } } } },
      { uid: { type: 'Team', id: 'red' }, parents: [{ type: 'Team', id: 'colours' }] },
      { uid: { type: 'Group', id: 'staff' }, parents: [{ type: 'Group', id: 'everybody' }] },
      { uid: { type: 'Group', id: 'nobody’s' }, parents: [{ type: 'Group', id: 'everybody' }] },
      { uid: { type: 'Tool', id: 'files_write' }, attrs: { cost: 3 }, parents: [{ type: 'Team', id: 'red' }] },
      { uid: { type: 'Backend', id: 'files' }, attrs: { zone: 'inner' } },
    ]);
    const identity = caller({ groups: ['staff'], claims: { role: 'admin' } });
    const conditions = [
      'principal.team in Team::"colours" && principal.claim_role == "admin"',
      'principal in Group::"everybody" && principal in Group::"staff"',
      'resource is Tool && resource.cost > 2 && resource in Team::"red" && resource in Backend::"files" && resource.name == "files_write"',
      'Backend::"files".zone == "inner"',
      'Group::"nobody’s" in Group::"everybody"',
    ];
    for (const condition of conditions)
      expect(allows(load([when(condition)], { entities_json }), {}, identity)).toBe(true);
  });
});

describe('failing policy', () => {
  it('denies the call if it is a forbid', () => {
    const authorizer = load([
      ALL,
      `@id("limit") @advice("name a path") ${when('context.arg_path like "/etc/*"', 'forbid')}`,
    ]);
    expect(authorizer.decide(caller(), 'call_tool', tool, {})).toEqual({
      allowed: false,
      wouldDeny: false,
      policies: [{ id: 'limit', advice: 'name a path' }],
    });
    expect(allows(authorizer, { path: '/tmp/a' })).toBe(true);
    expect(allows(authorizer, { path: '/etc/a' })).toBe(false);
    expect(allows(authorizer, { path: 3 })).toBe(false);
  });

  it('permits nothing if it is a permit, and does not affect other policies', () => {
    expect(allows(load([when('context.arg_n > 3')]))).toBe(false);
    expect(allows(load([when('context.arg_n > 3'), when('principal == Client::"alice"')]))).toBe(true);
  });

  it('counts each failure and logs one, without a value of the call', () => {
    const counted: string[] = [];
    const logged: string[] = [];
    const log: Log = { ...silent, warn: (...line) => logged.push(JSON.stringify(line)) };
    const metrics = { policyErred: (effect: string) => counted.push(effect) };
    const policies = [when('context.arg_n + 1 > 3'), `@id("f") ${when('context.arg_n > 3', 'forbid')}`];
    const authorizer = load(policies, {}, { log, metrics });
    for (const n of ['secret-1', 'secret-2']) allows(authorizer, { n });
    expect(counted).toEqual(['permit', 'forbid', 'permit', 'forbid']);
    expect(logged).toEqual([
      '["policies[0] errs and therefore grants nothing: an attribute is missing or has another type"]',
      '["policy \\"f\\" errs and therefore denies: an attribute is missing or has another type"]',
    ]);
  });
});

describe('hostile values', () => {
  const guarded = load([ALL, when('context has arg_x && context.arg_x like "secret*"', 'forbid')]);

  it.each([
    [{ __entity: { type: 'Client', id: 'root' } }],
    [{ __extn: { fn: 'ip', arg: '127.0.0.1' } }],
    [{ __proto__: null, a: 1 }],
    [1.5],
    [2 ** 60],
    [1e300],
    [['secret', null]],
    [[['secret']]],
    [Array.from({ length: 1_001 }, () => 'secret')],
    ['secret\ud800'],
    [{}],
  ])('cannot bypass a forbid as %j', (x) => {
    expect(allows(guarded, { x })).toBe(false);
  });

  it('count as absent if they are null', () => {
    expect(allows(guarded, { x: null })).toBe(true);
    expect(allows(load([when('!(context has arg_x)')]), { x: null })).toBe(true);
  });

  it('never become an entity, an extension value, or equal to one another', () => {
    const root = { __entity: { type: 'Client', id: 'root' } };
    expect(allows(load([when('context.arg_a == context.arg_b')]), { a: root, b: root })).toBe(false);
    expect(allows(load([when('context.arg_a == context.claim_a')]), { a: root }, caller({ claims: { a: 'x' } }))).toBe(
      false,
    );
    const claims = { role: root } as unknown as Identity['claims'];
    expect(allows(load([when('principal.claim_role == "x" || true')]), {}, caller({ claims }))).toBe(true);
    expect(allows(load([when('principal.claim_role like "*"')]), {}, caller({ claims }))).toBe(false);
  });

  it('cannot hide behind names of the object prototype', () => {
    const authorizer = load([
      when('context has arg___proto__ || context has arg_constructor || principal has claim_toString'),
    ]);
    expect(allows(authorizer, {})).toBe(false);
    expect(allows(authorizer, JSON.parse('{"__proto__": "x"}'))).toBe(true);
  });

  it.each([undefined, null, 'text', 3, ['a']])('count as no arguments if they are %j', (args) => {
    expect(allows(load([when('context has arg_0 || context has arg_length')]), args)).toBe(false);
  });

  it('deny calls under names that Cedar cannot represent, and no other calls', () => {
    const authorizer = load([ALL]);
    expect(allows(authorizer, {}, caller({ subject: 'a\ud800' }))).toBe(false);
    expect(authorizer.decide(caller(), 'call_tool', { ...tool, name: 'a\udc00' }, {}).allowed).toBe(false);
    expect(authorizer.visible(caller(), 'call_tool', { ...tool, name: 'a\udc00' })).toBe(false);
    expect(allows(authorizer)).toBe(true);
    expect(allows(authorizer, {}, caller({ groups: ['\ud800'] }))).toBe(true);
  });

  it('leave room for the deepest and longest accepted policies', () => {
    expect(allows(load([when(`context.arg_n${' + 1'.repeat(48)} == 50`)]), { n: 2 })).toBe(true);
    expect(allows(load([when(`${'context.arg_n == 1 || '.repeat(300)}context.arg_n == 2`)]), { n: 2 })).toBe(true);
  });
});

describe('lists', () => {
  it('ignore forbids that read arguments', () => {
    const authorizer = load([
      ALL,
      when('context.arg_path like "/etc/*"', 'forbid'),
      when('resource.name == "b"', 'forbid'),
    ]);
    expect(authorizer.readsArguments).toBe(true);
    expect(authorizer.visible(caller(), 'call_tool', tool)).toBe(true);
    expect(authorizer.visible(caller(), 'call_tool', { ...tool, name: 'b' })).toBe(false);
  });

  it('apply of permits that read arguments only the scope and the conditions without arguments', () => {
    const authorizer = load([
      `permit(principal in Group::"staff", action == Action::"call_tool", resource)
         when { context.arg_n > 3 && principal.claim_role == "admin" }
         unless { resource.name == "hidden" || context.arg_force };`,
    ]);
    const staff = caller({ groups: ['staff'], claims: { role: 'admin' } });
    const sees = (identity: Identity, name = 'shown') => authorizer.visible(identity, 'call_tool', { ...tool, name });
    expect(sees(staff)).toBe(true);
    expect(authorizer.decide(staff, 'call_tool', { ...tool, name: 'shown' }, {}).allowed).toBe(false);
    expect(sees(staff, 'hidden')).toBe(false);
    expect(sees(caller({ claims: { role: 'admin' } }))).toBe(false);
    expect(sees(caller({ groups: ['staff'], claims: { role: 'guest' } }))).toBe(false);
    expect(authorizer.visible(staff, 'get_prompt', tool)).toBe(false);
  });

  it('treat the whole context as arguments', () => {
    const authorizer = load([when('context == {arg_x: 1}')]);
    expect(authorizer.readsArguments).toBe(true);
    expect(authorizer.visible(caller(), 'call_tool', tool)).toBe(true);
    expect(allows(authorizer, { x: 1 })).toBe(true);
    expect(allows(authorizer, { x: 1, y: 2 })).toBe(false);
  });

  it('hide entries that a policy without arguments does not permit', () => {
    const authorizer = load(['permit(principal == Client::"bob", action, resource);']);
    expect(authorizer.readsArguments).toBe(false);
    expect(authorizer.visible(caller(), 'call_tool', tool)).toBe(false);
    expect(authorizer.visible(caller({ subject: 'bob' }), 'call_tool', tool)).toBe(true);
  });
});

describe('denial', () => {
  it('names the forbidding policies in their order, and none if nothing permits', () => {
    const policies = [
      ALL,
      `@id("b") @advice("ask") ${when('true', 'forbid')}`,
      when('true', 'forbid'),
      `@id("a") ${when('false', 'forbid')}`,
    ];
    expect(load(policies).decide(caller(), 'call_tool', tool, {}).policies).toEqual([
      { id: 'b', advice: 'ask' },
      { id: 'policies[2]' },
    ]);
    expect(load([when('false')]).decide(caller(), 'call_tool', tool, {}).policies).toEqual([]);
  });

  it('changes nothing but the record in audit mode', () => {
    const outcomes: string[] = [];
    const metrics = { decided: (outcome: string) => outcomes.push(outcome) };
    const audited = load(
      [`@id("no") ${when('resource.name == "files_write"', 'forbid')}`, ALL],
      { mode: 'audit' },
      { metrics },
    );
    expect(audited.decide(caller(), 'call_tool', tool, {})).toEqual({
      allowed: true,
      wouldDeny: true,
      policies: [{ id: 'no' }],
    });
    expect(audited.visible(caller(), 'call_tool', tool)).toBe(true);
    expect(audited.decide(caller(), 'call_tool', { ...tool, name: 'b' }, {})).toEqual({
      allowed: true,
      wouldDeny: false,
      policies: [{ id: 'policies[1]' }],
    });
    allows(load([], {}, { metrics }));
    expect(outcomes).toEqual(['would_deny', 'allowed', 'denied']);
  });
});

describe('failing engine', () => {
  it('answers 503, which is counted and logged without the request', () => {
    // The token's claims complete the cycle of parents between the two entities.
    const entities_json = JSON.stringify([
      { uid: { type: 'Group', id: 'g' }, parents: [{ type: 'Client', id: 'alice' }] },
    ]);
    const lines: unknown[] = [];
    let failures = 0;
    const log: Log = { ...silent, error: (...line) => lines.push(line) };
    const authorizer = load([ALL], { entities_json }, { log, metrics: { engineFailed: () => (failures += 1) } });
    const ask = () => authorizer.decide(caller({ groups: ['g'] }), 'call_tool', tool, {});
    expect(ask).toThrow(RequestError);
    const answer = { status: 503, code: 'policy_unavailable', text: 'Authorization is not available at the moment' };
    expect(ask).toThrow(expect.objectContaining({ answer }));
    expect(() => authorizer.visible(caller({ groups: ['g'] }), 'call_tool', tool)).toThrow(RequestError);
    expect(failures).toBe(3);
    expect(lines[0]).toEqual(['the policy engine failed', { policySet: 'server' }]);
    expect(allows(authorizer)).toBe(true);
  });
});

describe('warmUp', () => {
  it('counts no decision and logs no error of a policy', () => {
    const told: unknown[] = [];
    const tell = (...what: unknown[]) => void told.push(what);
    const metrics = { lookedUp: tell, decided: tell, policyErred: tell, engineFailed: tell };
    const authorizer = load([when('principal.claim_level > 3')], {}, { log: { ...silent, warn: tell }, metrics });
    told.length = 0;
    authorizer.warmUp('call_tool', tool);
    expect(told).toEqual([]);
    expect(allows(authorizer, {}, caller({ claims: { level: 'high' } }))).toBe(false);
    expect(told).not.toEqual([]);
  });

  it('leaves a failure of the engine to the callers’ requests', () => {
    const entities_json = JSON.stringify([{ uid: { type: 'Group', id: 'g' }, parents: [{ type: 'Client', id: '' }] }]);
    const policies = ['permit(principal in Group::"g", action, resource);'];
    const authorizer = load(policies, { entities_json }, { metrics: { engineFailed: () => undefined } });
    expect(() => authorizer.warmUp('call_tool', tool)).not.toThrow();
    expect(() => allows(authorizer, {}, caller({ subject: '', groups: ['g'] }))).toThrow(RequestError);
  });
});
