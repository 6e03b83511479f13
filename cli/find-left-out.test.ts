import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { locateState } from '#local/state-folder';
import { checkFolder, printProblem } from './check-folder.ts';

let folder: string;
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'vmcp-left-out-'));
});
afterEach(() => rmSync(folder, { recursive: true, force: true }));

const kind = (name: string, of: string, spec: string) => `apiVersion: vmcp.dev/v1alpha1
kind: ${of}
metadata:
  name: ${name}
spec:
${spec}`;
const SERVER = [
  kind('demo', 'VirtualMCPServer', '  config: { groupRef: tools }\n  incomingAuth: { type: anonymous }'),
  kind('tools', 'MCPGroup', '  description: all'),
].join('\n---\n');
const backend = (name: string, auth: string) =>
  kind(
    name,
    'MCPServer',
    `  groupRef: tools\n  remoteUrl: https://${name}.example/mcp\n  externalAuthConfigRef: { name: ${auth} }`,
  );
const auth = (name: string, more = '') =>
  kind(
    name,
    'MCPExternalAuthConfig',
    `  type: headerInjection\n  headerInjection:\n    headerName: X-Key\n    valueSecretRef: { name: keys, key: ${name} }${more}`,
  );
const SECRET = 'apiVersion: v1\nkind: Secret\nmetadata: { name: keys }\nstringData: { good: x }';

/** Returns the problems of these files as `file:line path: message`. */
async function problemsOf(files: Record<string, string>): Promise<string[]> {
  for (const [name, text] of Object.entries({ 'server.yaml': SERVER, ...files }))
    writeFileSync(join(folder, name), text);
  const context = { state: locateState(join(folder, 'state')), containerEngine: undefined, environment: {} };
  const { problems } = await checkFolder(folder, context as Parameters<typeof checkFolder>[1]);
  return problems.map(({ file, line, path, message }) => `${file.split('/').at(-1) ?? ''}:${line} ${path}: ${message}`);
}

describe('checkFolder', () => {
  it('reports each unknown workload at its own line', async () => {
    const tools = ['wether', 'elsewhere'].map((name) => `\n        - { workload: ${name}, filter: [x] }`).join('');
    const aggregation = `\n    groupRef: tools\n    aggregation:\n      tools:${tools}`;
    writeFileSync(join(folder, 'server.yaml'), SERVER.replace('{ groupRef: tools }', aggregation));
    writeFileSync(join(folder, 'weather.yaml'), backend('weather', 'none').replace(/\n.*externalAuth.*/, ''));
    const context = { state: locateState(join(folder, 'state')), containerEngine: undefined, environment: {} };
    const { warnings } = await checkFolder(folder, context as Parameters<typeof checkFolder>[1]);
    const said = (name: string, index: number, remedy: string) =>
      `VirtualMCPServer/demo: NotInGroup: config.aggregation.tools[${index}].workload: no MCPServer of group "tools" has the name "${name}": ${remedy}`;
    expect(warnings.filter(({ message }) => message.startsWith('NotInGroup')).map(printProblem)).toEqual([
      `${join(folder, 'server.yaml')}:10: ${said('wether', 0, 'write "weather"')}`,
      `${join(folder, 'server.yaml')}:11: ${said('elsewhere', 1, 'correct or remove it')}`,
    ]);
  });

  const WRONG = 'permit(principal, action resource);';
  const RIGHT = 'forbid(principal, action, resource) when { resource.name == "it\'s" };';
  const styles: [style: string, text: string][] = [
    ['a plain text', `- ${WRONG}`],
    ['single quotes', `- '${RIGHT.replace("'", "''")} ${WRONG}'`],
    ['double quotes', `- ${JSON.stringify(`${RIGHT}\n${WRONG}`)}`],
    ['a literal block', `- |\n  // é\n\n    ${RIGHT}\n    ${WRONG}`],
    ['a folded block', `- >- # folded\n  // é\n\n  ${RIGHT}\n  ${RIGHT}\n    ${WRONG}`],
    ['a plain text of several lines', `- ${RIGHT}\n  ${RIGHT}\n\n  ${WRONG}`],
    ['single quotes over several lines', `- '${RIGHT.replace("'", "''")}\n\n  ${WRONG}'`],
    [
      'double quotes over several lines',
      `- "${JSON.stringify(RIGHT).slice(1, -1)}\\n// \\U0001F600 \\x41\\n\\\n  ${WRONG}"`,
    ],
    ['the second entry', `- ${JSON.stringify(RIGHT)}\n- ${WRONG}`],
  ];
  const written = (policies: string, of: 'server' | 'backend') => {
    const block = `authzConfig:\n  type: inline\n  inline:\n    policies:\n${policies.replaceAll(/^/gm, '      ')}`;
    const indented = block.replaceAll(/^/gm, '  ');
    if (of === 'server')
      return SERVER.replace('{ type: anonymous }', `\n    type: anonymous\n${indented.replaceAll(/^/gm, '  ')}`);
    return `${SERVER}\n---\n${kind('one', 'MCPServer', `  groupRef: tools\n  remoteUrl: https://one.example/mcp\n${indented}`)}`;
  };
  const said = async (text: string) => {
    writeFileSync(join(folder, 'server.yaml'), text);
    const context = { state: locateState(join(folder, 'state')), containerEngine: undefined, environment: {} };
    const { problems } = await checkFolder(folder, context as Parameters<typeof checkFolder>[1]);
    return problems.map(printProblem);
  };

  it.each(styles.flatMap(([style, text]) => [[style, 'server', text] as const, [style, 'backend', text] as const]))(
    'reports line and column of a syntax error in a policy: %s of a %s',
    async (_style, of, policies) => {
      const text = written(policies, of);
      const before = text.slice(0, text.indexOf('action resource') + 'action '.length).split('\n');
      const place = `server.yaml:${before.length}:${(before.at(-1)?.length ?? 0) + 1}: `;
      const [first, ...more] = await said(text);
      expect(first).toContain(place);
      expect(first).toMatch(
        /InvalidPolicy: .*authzConfig: policies\[[01]\]: line \d+, column \d+ of its text: unexpected token/,
      );
      expect(more).toEqual([]);
    },
  );

  it.each([
    ['YAML', `authz.json: |\n    policies:\n      - ${RIGHT}\n      - |\n        ${RIGHT}\n        ${WRONG}`],
    ['JSON', `authz.json: '${JSON.stringify({ policies: [WRONG] })}'`],
    ['cedarv1 document', `authz.json: '${JSON.stringify({ type: 'cedarv1', cedar: { policies: [WRONG] } })}'`],
  ])('reports line and column of a syntax error in the %s of a ConfigMap', async (_form, data) => {
    const configMap = `apiVersion: v1\nkind: ConfigMap\nmetadata: { name: policies }\ndata:\n  ${data}`;
    writeFileSync(join(folder, 'policies.yaml'), configMap);
    const field = 'authzConfig: { type: configMap, configMap: { name: policies } }';
    const before = configMap.slice(0, configMap.indexOf('action resource') + 'action '.length).split('\n');
    const [first] = await said(SERVER.replace('{ type: anonymous }', `\n    type: anonymous\n    ${field}`));
    expect(first).toContain(`policies.yaml:${before.length}:${(before.at(-1)?.length ?? 0) + 1}: `);
    expect(first).toContain(
      'VirtualMCPServer/demo: InvalidPolicy: incomingAuth.authzConfig.configMap: ConfigMap "policies"',
    );
  });

  it('reports line and column of a syntax error in a policy that an alias repeats', async () => {
    const annotations = `  annotations:\n    first: &first '${WRONG}'\n`;
    const text = written('- *first', 'server').replace('spec:\n', `${annotations}spec:\n`);
    const [first] = await said(text);
    const line = text.slice(0, text.indexOf('&first')).split('\n').length;
    expect(first).toContain(`server.yaml:${line}:${"    first: &first '".length + WRONG.indexOf('resource') + 1}: `);
  });

  it('reports the line of a policy that reads an attribute which no request has', async () => {
    const text = written(
      `- ${RIGHT}\n- |\n  ${RIGHT}\n  permit(principal, action, resource) when { principal.role == "x" };`,
      'server',
    );
    const [first] = await said(text);
    const before = text.slice(0, text.indexOf('- |\n') + 4).split('\n');
    expect(first).toContain(`server.yaml:${before.length}:`);
    expect(first).toContain('policies[1]#2: attribute `role`');
  });
});

describe('checkFolder with an upstream provider out of service', () => {
  const provider = (name: string) =>
    `    - name: ${name}\n      type: oidc\n      oidcConfig: { issuerUrl: 'https://${name}.example', clientId: c, clientSecretRef: { name: keys, key: ${name} } }`;
  const server = (...providers: string[]) =>
    kind(
      'demo',
      'VirtualMCPServer',
      [
        '  config: { groupRef: tools }',
        '  incomingAuth:',
        '    type: oidc',
        '    resourceUrl: http://127.0.0.1:4483/mcp',
        "    oidcConfig: { type: inline, inline: { issuer: 'http://127.0.0.1:4483' } }",
        '  authServerConfig:',
        "    issuer: 'http://127.0.0.1:4483'",
        '    upstreamProviders:',
        ...providers.map(provider),
      ].join('\n'),
    );

  it('names each provider that is out of service, at the list of providers', async () => {
    const texts = [server('good', 'gone', 'lost'), kind('tools', 'MCPGroup', '  description: all'), SECRET];
    const said = (name: string) =>
      new RegExp(`^server.yaml:13 VirtualMCPServer/demo: SecretKeyNotFound: .*"${name}" .*logins that need it fail.$`);
    expect(await problemsOf({ 'server.yaml': texts.join('\n---\n') })).toEqual([
      expect.stringMatching(said('gone')),
      expect.stringMatching(said('lost')),
    ]);
  });
});

describe('checkFolder with a backend that is not served', () => {
  it('reports a missing key of a Secret once, at the credential', async () => {
    const files = { 'backends.yaml': backend('one', 'gone'), 'auth.yaml': auth('gone'), 'secret.yaml': SECRET };
    expect(await problemsOf(files)).toEqual([
      expect.stringMatching(/^auth\.yaml:9 MCPExternalAuthConfig\/gone: SecretKeyNotFound: .*"gone"/),
    ]);
  });

  it.each([
    ["''", /^auth\.yaml:9 MCPExternalAuthConfig\/good: .* is empty: write its value/],
    ['"a\\nb"', /^auth\.yaml:9 MCPExternalAuthConfig\/good: .* has a line break or another control/],
  ])('reports at the credential that the value of a header is %s', async (value, problem) => {
    const secret = `apiVersion: v1\nkind: Secret\nmetadata: { name: keys }\nstringData: { good: ${value} }`;
    const files = { 'backends.yaml': backend('one', 'good'), 'auth.yaml': auth('good'), 'secret.yaml': secret };
    expect(await problemsOf(files)).toEqual([expect.stringMatching(problem)]);
  });

  it('reports a credential of another backend at the credential, beside the other problems of the file', async () => {
    const wrong = `${auth('good', '\n  allowedServers: [other]')}\n---\n${auth('typo').replace('headerName', 'headrName')}`;
    const files = { 'backends.yaml': `${backend('one', 'good')}\n---\n${backend('two', 'typo')}`, 'auth.yaml': wrong };
    const problems = await problemsOf({ ...files, 'secret.yaml': SECRET });
    expect(problems).toContainEqual(
      expect.stringMatching(
        /^auth\.yaml:2? ?.*MCPExternalAuthConfig\/good: is not for this server: .* \(so demo leaves one out\)$/,
      ),
    );
    expect(problems.filter((problem) => problem.includes('headrName'))).toHaveLength(1);
    expect(problems.every((problem) => problem.startsWith('auth.yaml:'))).toBe(true);
  });

  it('reports a missing secret of the backend once, with its line', async () => {
    const secrets = '  secrets:\n    - { name: keys, key: gone, targetEnvName: KEY }';
    const text = `apiVersion: vmcp.dev/v1alpha1\nkind: MCPServer\nmetadata: { name: one }\nspec:\n  groupRef: tools\n  command: [one]\n${secrets}`;
    expect(await problemsOf({ 'backends.yaml': text, 'secret.yaml': SECRET })).toEqual([
      expect.stringMatching(/^backends\.yaml:7 MCPServer\/one: SecretKeyNotFound: secrets: .*"gone"/),
    ]);
  });

  it('reports a fault of the backend at the backend', async () => {
    const [one, ...more] = await problemsOf({ 'backends.yaml': backend('one', 'nowhere') });
    expect(one).toMatch(/^backends\.yaml:8 MCPServer\/one: MCPExternalAuthConfig "nowhere" does not exist/);
    expect(more).toEqual([]);
  });
});
