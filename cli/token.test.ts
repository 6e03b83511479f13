import { describe, expect, it } from '@jest/globals';
import { readFolderContent } from '#local/manifest-folder';
import { CLIENT_ANNOTATION, fetchDevelopmentToken, loginOf, USERS_ANNOTATION } from '#cli/token';

function folder(issuer: string, annotated = true) {
  const annotations = annotated ? `annotations: {${CLIENT_ANNOTATION}: cli, ${USERS_ANNOTATION}: users}` : 'labels: {}';
  const text = `apiVersion: vmcp.dev/v1alpha1
kind: VirtualMCPServer
metadata:
  name: demo
  ${annotations}
spec:
  config: {groupRef: g}
  incomingAuth:
    type: oidc
    resourceUrl: http://127.0.0.1:4483/mcp
    oidcConfig: {type: inline, inline: {issuer: "${issuer}"}}
---
apiVersion: v1
kind: Secret
metadata: {name: users}
stringData: {alice: pass}
`;
  const folderContent = readFolderContent([{ file: 'a.yaml', text }]);
  return { folderContent, manifest: folderContent.manifests[0]! };
}

const context = { typed: (command: string) => `vmcp ${command}` };

describe('loginOf and fetchDevelopmentToken', () => {
  it('take client and password from the annotations, and the endpoint as the audience', () => {
    const { manifest, folderContent } = folder('http://127.0.0.1:4480');
    expect(loginOf('alice', manifest, folderContent, '', context)).toEqual({
      issuer: 'http://127.0.0.1:4480',
      client: 'cli',
      password: 'pass',
      resource: 'http://127.0.0.1:4483/mcp',
    });
  });

  it('never sends a password to another machine', () => {
    const { manifest, folderContent } = folder('https://login.example.test');
    expect(() => loginOf('alice', manifest, folderContent, '', context)).toThrow('not on this machine');
    const { manifest: tricky, folderContent: same } = folder('https://127.0.0.1.example.test');
    expect(() => loginOf('alice', tricky, same, '', context)).toThrow('not on this machine');
  });

  it('reject a server without development users, and an unknown user', () => {
    const { manifest, folderContent } = folder('http://127.0.0.1:4480', false);
    expect(() => loginOf('alice', manifest, folderContent, '', context)).toThrow(USERS_ANNOTATION);
    const named = folder('http://127.0.0.1:4480');
    const refused = expect.objectContaining({ exitCode: 6, message: expect.stringContaining('it has: alice') });
    for (const user of ['eve', 'constructor']) {
      expect(() => loginOf(user, named.manifest, named.folderContent, '', context)).toThrow(refused);
    }
  });

  it('explain an invalid manifest', () => {
    const { manifest, folderContent } = folder('http://127.0.0.1:4480');
    const broken = { ...manifest, spec: { config: { groupRef: ['g'] } } };
    expect(() => loginOf('alice', broken, folderContent, '', context)).toThrow(
      'VirtualMCPServer "demo" is not valid as it is written now: "vmcp status" says why',
    );
  });

  it('report an identity provider that does not answer', async () => {
    const login = { issuer: 'http://127.0.0.1:1', client: 'cli', password: 'secret word', resource: 'r' };
    const problem = await fetchDevelopmentToken('alice', login).catch((error: unknown) => error);
    expect(String(problem)).toContain('does not answer at http://127.0.0.1:1');
    expect(String(problem)).not.toContain('secret word');
  });
});
