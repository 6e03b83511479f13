import { describe, expect, it } from '@jest/globals';
import { validatePolicySet } from './validate.ts';

const when = (condition: string) => `permit(principal, action, resource) when { ${condition} };`;

function problemsOf(policies: string[], entities: unknown = []): readonly string[] {
  const entitiesJson = typeof entities === 'string' ? entities : JSON.stringify(entities);
  const result = validatePolicySet({ policies, entitiesJson });
  return result.ok ? [] : result.problems;
}

describe('validatePolicySet', () => {
  it('accepts an empty set, and several policies in one text', () => {
    expect(validatePolicySet({ policies: [] })).toMatchObject({ ok: true, warnings: [] });
    const result = validatePolicySet({ policies: [`@id("a") ${when('true')}\n// second\n${when('true')}`] });
    expect(result.ok && result.set.policies.map(({ key, id }) => [key, id])).toEqual([
      ['policy0', 'a'],
      ['policy1', 'policies[0]#2'],
    ]);
  });

  it('reads @id and @advice', () => {
    const result = validatePolicySet({ policies: [`@id("w") @advice("ask the owner") ${when('true')}`] });
    expect(result.ok && result.set.policies[0]).toMatchObject({ id: 'w', advice: 'ask the owner', effect: 'permit' });
  });

  it('reports line and column of a syntax error', () => {
    expect(problemsOf(['permit(principal, action resource);'])).toEqual([
      expect.stringMatching(/^policies\[0\]: line 1, column 26 of its text: unexpected token `resource`/),
    ]);
    expect(problemsOf([`// é 𝒳\n${when('true')} /* */ permit(principal, action resource);`])).toEqual([
      expect.stringMatching(/^policies\[0\]: line 2, column \d+ of its text: /),
    ]);
  });

  it('suggests the prefix of a claim or argument', () => {
    const meant = (condition: string) => problemsOf([when(condition)]).join();
    expect(meant('principal.role == "x"')).toContain('(did you mean `claim_role`?)');
    expect(meant('principal.role == "x" && principal.claim_email like "*"')).toContain('(did you mean `claim_role`?)');
    expect(meant('context.path == "x"')).toContain('(did you mean `arg_path` or `claim_path`?)');
    expect(meant('resource.role == "x"')).not.toContain('did you mean');
    expect(meant('principal.Claim_role == "x"')).toContain('(did you mean `claim_role`?)');
    expect(meant('principal.claims.role == "x"')).toContain('(did you mean `claim_<name>`?)');
    expect(meant('context.args.path == "x"')).toContain('(did you mean `arg_<name>`?)');
    expect(meant('principal.getTag("role") == "x"')).toMatch(
      /tag `"role"` .*`Client` \(did you mean `claim_role`\?\)$/,
    );
  });

  it('suggests the path of a misplaced claim, argument or resource attribute', () => {
    const meant = (condition: string) => problemsOf([when(condition)])[0];
    expect(meant('principal.arg_path == "x"')).toContain('(did you mean `context.arg_path`?)');
    expect(meant('resource.claim_role == "x"')).toContain('(did you mean `principal.claim_role`?)');
    expect(meant('resource.nme == "x"')).toContain('(did you mean `name`?)');
  });

  it('lists the entity types if none is similar to the one in a policy', () => {
    const [problem] = problemsOf(['permit(principal is User, action, resource);']);
    expect(problem).toContain('`User` (requests have Client, Group, Backend, Tool, Prompt, Resource)');
    expect(problemsOf(['permit(principal, action, resource == tool::"a");'])[0]).toContain('did you mean `Tool`?');
  });

  it("keeps Cedar's suggestion of an attribute that a user entity has", () => {
    const entities = [{ uid: { type: 'Client', id: 'a' }, attrs: { team: 'red' }, parents: [] }];
    const [problem] = problemsOf([when('principal.teem == "red"')], entities);
    expect(problem).toContain('did you mean `team`?');
  });

  it('warns of a test for an attribute that no request has', () => {
    const policies = [
      'forbid(principal, action, resource) when { principal has role && principal has claim_role };',
      when('!(context has path)'),
      when('principal has team || context has arg_path'),
      'forbid(principal, action, resource) unless { resource has readonlyHint || resource has owner };',
      when('!principal.hasTag("role") || !resource.hasTag("kind")'),
    ];
    const entities = [
      { uid: { type: 'Client', id: 'a' }, attrs: { team: 'red' }, parents: [] },
      { uid: { type: 'Tool', id: 'a' }, attrs: { owner: 'red' }, parents: [], tags: { kind: 'risky' } },
    ];
    const result = validatePolicySet({ policies, entitiesJson: JSON.stringify(entities) });
    expect(result.ok && result.warnings.filter((warning) => warning.includes('never true'))).toEqual([
      'policies[0]: `principal has role` is never true (did you mean `claim_role`?)',
      'policies[1]: `context has path` is never true (did you mean `arg_path` or `claim_path`?)',
      'policies[3]: `resource has readonlyHint` is never true (did you mean `readOnlyHint`?)',
      'policies[4]: `principal.hasTag("role")` is never true (did you mean `claim_role`?)',
    ]);
  });

  it('names the text that Cedar cannot parse', () => {
    expect(problemsOf([when('true'), 'permit(principal, action);'])).toEqual([
      expect.stringMatching(/^policies\[1\]: /),
    ]);
  });

  it.each([
    [
      'permit(principal == ?principal, action, resource);',
      'policies[0] is a template: write the principal or resource in place of ?principal or ?resource',
    ],
    ['// nothing here', 'policies[0] holds no policy: write one or remove the entry'],
    ['', 'policies[0] holds no policy: write one or remove the entry'],
    [when('context.foo == 1'), 'policies[0]: attribute `foo` in context not found'],
    [
      `@id("x") ${when('principal in Team::"a"')}`,
      'policy "x": unrecognized entity type `Team` (requests have Client, Group, Backend, Tool, Prompt, Resource)',
    ],
    [
      when('action == Action::"call"'),
      'policies[0]: unrecognized action `Action::"call"` (did you mean `Action::"call_tool"`?)',
    ],
    [when('context.arg_x.y == 1'), 'policies[0]: unexpected type: expected an entity or record but saw String'],
    [
      when('context.arg_n == 9007199254740993'),
      'policies[0] compares with a number beyond ±9007199254740991: use a smaller one',
    ],
  ])('rejects %s', (policy, problem) => {
    expect(problemsOf([policy])).toEqual([expect.stringContaining(problem)]);
  });

  it('returns the same messages in the same order each time', () => {
    const once = problemsOf([when('resource.sise > 1 && resource.colour == 1')]);
    expect(once.length).toBeGreaterThan(2);
    for (let times = 0; times < 5; times++) {
      expect(problemsOf([when('resource.sise > 1 && resource.colour == 1')])).toEqual(once);
    }
  });

  it.each([
    ['operators', Array<string>(12).fill(when(Array<string>(400).fill('true').join(' || ')))],
    ['policies', Array<string>(20).fill('permit(principal,action,resource);'.repeat(200))],
    ['characters', Array<string>(10).fill(when(`resource.name == "${'a'.repeat(14_000)}"`))],
  ])('rejects more %s in one set than can be validated quickly', (what, policies) => {
    const startedAt = process.cpuUsage();
    expect(problemsOf(policies)).toEqual([
      expect.stringMatching(/^policies have \d+ \w+ together, at most \d+ are read/),
    ]);
    expect([what, process.cpuUsage(startedAt).user < 1_000_000]).toEqual([what, true]);
  });

  it('lists the problems of all policies in order', () => {
    expect(problemsOf([when('1 > "a"'), when('true'), `@id("last") ${when('resource.colour == "red"')}`])).toEqual([
      'policies[0]: unexpected type: expected Long but saw String',
      expect.stringMatching(/^policy "last": attribute `colour` on entity type `(Tool|Prompt|Resource)` not found/),
      expect.stringMatching(/^policy "last"/),
      expect.stringMatching(/^policy "last"/),
    ]);
  });

  it('warns of a policy that can never apply', () => {
    const result = validatePolicySet({
      policies: ['forbid(principal, action == Action::"call_tool", resource is Prompt);', when('!(context has arg_x)')],
    });
    expect(result).toMatchObject({
      ok: true,
      warnings: ['policies[0]: policy is impossible: the policy expression evaluates to false for all valid requests'],
    });
  });

  it('accepts the MCP methods as actions, in scopes and in conditions', () => {
    const policies = [
      'permit(principal, action == Action::"tools/call", resource);',
      'permit(principal, action in [Action::"prompts/get", Action::"resources/read"], resource);',
      when('action == Action::"tools/call"'),
    ];
    const result = validatePolicySet({ policies });
    expect(result.ok && JSON.stringify(result.set.policies)).not.toContain('/');
  });
});

describe('type inference in validatePolicySet', () => {
  it.each([
    'context.arg_x == "a" && context.arg_n > 3 && context.arg_b && !context.arg_c',
    'principal.claim_groups.contains("a") && context.claim_groups.containsAny([context.arg_x])',
    'context.arg_x == context.arg_y && context.arg_y == principal.claim_z && context.claim_z > 1',
    'context.arg_levels.contains(3) && context.arg_flags.contains(true)',
    'context.arg_list.isEmpty() && [context.arg_a, context.arg_b].contains(resource.name)',
    'context.arg_b == resource.readOnlyHint && (if context.arg_c then context.arg_n else 1) + 1 == 2',
    'context has arg_x && context.arg_x like "a*"',
    '!(context has arg_x) || context.arg_x == 4',
    'context["arg_two words"] == "a"',
    'context == {arg_x: 1}',
    'datetime("2024-01-01") < datetime("2025-01-01") && context.arg_x <= context.arg_y',
    'context has arg_x',
  ])('finds the types with which %s validates, with or without a has', (condition) => {
    expect(problemsOf([when(condition)])).toEqual([]);
  });

  it('reports both policies that use one attribute with two types', () => {
    expect(problemsOf([`@id("limit") ${when('context.arg_n > 3')}`, when('context.arg_n like "a*"')])).toEqual([
      'arg_n is used as Long in policy "limit" and as String in policies[1]: an attribute has one type in all policies, change one of the two',
      'policies[1]: unexpected type: expected String but saw Long',
    ]);
  });

  it('gives a claim of the principal and of the context the same type', () => {
    expect(problemsOf([when('principal.claim_x == "a" && context.claim_x > 1')])).toEqual([
      expect.stringMatching(/^claim_x is used as String in policies\[0\] and as Long in policies\[0\]: /),
      expect.stringMatching(/^policies\[0\]: /),
    ]);
  });

  it('checks the branch for an absent attribute', () => {
    expect(problemsOf([when('if context has arg_x then true else 1 > "a"')])).toEqual([
      'policies[0]: unexpected type: expected Long but saw String',
    ]);
  });

  it('leaves the decision about an unreachable use to Cedar', () => {
    expect(problemsOf([when('context.arg_n > 3'), when('false && context.arg_n like "a*"')])).toEqual([]);
  });
});

describe('the depth limit of validatePolicySet', () => {
  it('accepts a chain of several hundred alternatives', () => {
    expect(problemsOf([when(Array.from({ length: 300 }, (_, i) => `context.arg_x == "v${i}"`).join(' || '))])).toEqual(
      [],
    );
  });

  it.each([
    [
      'brackets',
      when(`${'('.repeat(49)}true${')'.repeat(49)}`),
      'policies[0] is nested deeper than 48 levels: split it',
    ],
    ['brackets by the ten thousand', when('['.repeat(10_000)), 'policies[0] is nested deeper than 48 levels: split it'],
    [
      'conditionals',
      when(`${'if true then true else '.repeat(50)}true`),
      'policies[0] is nested deeper than 48 levels: split it',
    ],
    ['attributes', when(`context${'.a'.repeat(60)} == 1`), 'policies[0] is nested deeper than 50 levels: split it'],
    ['sums', when(`1${' + 1'.repeat(60)} == 1`), 'policies[0] is nested deeper than 50 levels: split it'],
    ['operators', when(`true${' || true'.repeat(1_000)}`), 'policies[0] has more than 1000 operators: split it'],
    [
      'conditions',
      `permit(principal, action, resource) ${'when { true }'.repeat(65)};`,
      'policies[0] has more than 64 conditions: split it',
    ],
  ])('rejects too many %s before Cedar reads them', (_, policy, problem) => {
    expect(problemsOf([policy])).toEqual([problem]);
    expect(problemsOf([when('true')])).toEqual([]);
  });

  it('counts each policy of a text separately, and ignores strings and comments', () => {
    const some = when(`true${' || true'.repeat(600)}`);
    expect(problemsOf([`${some}${some} // ${'('.repeat(100)}`])).toEqual([]);
    expect(problemsOf([when(`context.arg_x == "${'('.repeat(100)}\\""`)])).toEqual([]);
  });
});

describe('entitiesJson', () => {
  const client = (attrs: object, parents: unknown[] = []) => [{ uid: { type: 'Client', id: 'a' }, attrs, parents }];
  const tool = (attrs: object, id = 'a') => ({ uid: { type: 'Tool', id }, attrs, parents: [] });

  it("provides policies with the attributes, parents and tags of the user's entities", () => {
    const entities = [
      {
        uid: { __entity: { type: 'Client', id: 'a' } },
        attrs: {
          team: { __entity: { type: 'Acme::Team', id: 't' } },
          desk: { floor: 3, rooms: ['x'] },
          home: { __extn: { fn: 'ip', arg: '192.0.2.1' } },
          none: [],
        },
        parents: [{ type: 'Acme::Team', id: 't' }],
        tags: { cost: 'low' },
      },
    ];
    const conditions = [
      'principal in Acme::Team::"t" && principal.team == Acme::Team::"t"',
      'principal.desk.rooms.contains("x") && principal.desk.floor > 2 && principal.none.contains("x")',
      'principal.home.isLoopback() && principal.hasTag("cost") && principal.getTag("cost") == "low"',
    ];
    expect(problemsOf(conditions.map(when), entities)).toEqual([]);
  });

  it.each<[string, (at: number) => [type: string, id: number | string], RegExp]>([
    ['a chain that Cedar’s stack has no room for', (at) => ['Group', at + 1], /parents of those, together/],
    ['a chain of types', (at) => [`T${at + 1}`, 'a'], /has \d+ types of entities/],
    ['a circle', (at) => ['Group', (at + 1) % 3000], /parents of those, together/],
  ])('rejects %s, and continues with the others', (_what, parentOf, problem) => {
    const entities = Array.from({ length: 3000 }, (_, at) => {
      const [type, id] = parentOf(at);
      const uid = type === 'Group' ? { type, id: `${at}` } : { type: `T${at}`, id: 'b' };
      return { uid, attrs: {}, parents: [{ type, id: `${id}` }] };
    });
    expect(problemsOf([], entities)).toEqual([expect.stringMatching(problem)]);
    expect(problemsOf([when('principal in Group::"a"')])).toEqual([]);
  });

  it.each<[unknown, string]>([
    ['{', 'entitiesJson is no JSON: write a list of entities such as [{"uid": …, "attrs": {}, "parents": []}]'],
    ['{}', 'entitiesJson: Invalid input: expected array, received object'],
    [[{ uid: 'Client::"a"' }], 'entitiesJson[0].uid: must be {"type": "…", "id": "…"}'],
    [client({ x: 1.5 }), 'entitiesJson[0].attrs.x: must be a string, whole number, boolean, list, record or entity'],
    [client({ x: null }), 'entitiesJson[0].attrs.x: must be a string, whole number, boolean, list, record or entity'],
    [
      client({ claim_x: 1 }),
      'entitiesJson[0]: Client::"a" sets claim_x, which each request sets by itself: use another name',
    ],
    [
      [tool({ name: 'x' })],
      'entitiesJson[0]: Tool::"a" sets name, which each request sets by itself: use another name',
    ],
    [
      [tool({ readOnlyHint: true })],
      'entitiesJson[0]: Tool::"a" sets readOnlyHint, which each request sets by itself: use another name',
    ],
    [
      [{ uid: { type: 'Action', id: 'call_tool' } }],
      'entitiesJson[0]: Action::"call_tool" is an action, and actions are fixed: remove it',
    ],
    [[tool({}), tool({})], 'entitiesJson[1]: Tool::"a" stands there twice: merge the two'],
    [
      [tool({ t: 1 }), tool({ t: 'x' }, 'b')],
      'entitiesJson[1]: Tool::"b" gives t another type than other entities of type Tool do: use one type',
    ],
    [[tool({ t: [1, 'x'] })], 'entitiesJson[0]: Tool::"a" mixes types in the list of t: use one type'],
    [
      [{ uid: { type: 'Tool', id: 'a' }, tags: { a: 1, b: 'x' } }],
      'entitiesJson[0]: Tool::"a" has tags of different types: use one type for all tags of Tool',
    ],
    [`[${'['.repeat(40)}${']'.repeat(40)}]`, 'entitiesJson is nested deeper than 32 levels: flatten it'],
  ])('rejects %j', (entities, problem) => {
    expect(problemsOf([], entities)).toEqual([problem]);
  });

  it("reports Cedar's refusals: a circle of parents, an invalid name", () => {
    const group = (id: string, parent: string) => ({
      uid: { type: 'Group', id },
      parents: [{ type: 'Group', id: parent }],
    });
    expect(problemsOf([], [group('a', 'b'), group('b', 'a')])).toEqual([expect.stringContaining('cycle')]);
    expect(problemsOf([], [{ uid: { type: 'No type', id: 'a' } }])).toEqual([expect.stringMatching(/^entitiesJson: /)]);
  });
});
